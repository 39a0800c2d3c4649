package frontier

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// explainRequest is the question "explain".
type explainRequest struct {
	URL string `json:"url"`
}

// answerExplain answers for a URL if its shard is ours; otherwise it says nothing and the owner will.
func (f *Frontier) answerExplain(req []byte, send func(any) error) error {
	var q explainRequest
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	u, err := canon.Parse(q.URL)
	if err != nil {
		return fmt.Errorf("explain %s: %w", q.URL, err)
	}
	f.mu.Lock()
	s := f.shards[crawl.ShardOf(u.Host(), f.j.spec.Shards)]
	f.mu.Unlock()
	if s == nil {
		return nil
	}
	x, err := s.explainLive(q.URL, u)
	if err != nil || x == nil {
		return err
	}
	return send(x)
}

// explainLive takes the lock, and knows what is in flight. Nothing is sent under the lock: the asker may be slow.
func (s *shard) explainLive(raw string, u canon.URL) (*crawl.Explanation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tx == nil {
		return nil, nil
	}
	x, err := s.explain(raw, u, time.Now())
	if err != nil {
		return nil, err
	}
	if x.State == crawl.Queued.String() && s.isInFlight(u) {
		x.State = crawl.InFlight.String()
	}
	return &x, nil
}

// answerHosts sends what is known of every host, some hosts at a time: no lock is held while the asker reads.
func (f *Frontier) answerHosts(send func(any) error) error {
	for _, s := range f.open() {
		s.mu.Lock()
		names := make([]canon.Host, 0, len(s.hosts))
		for name := range s.hosts {
			names = append(names, name)
		}
		s.mu.Unlock()
		slices.Sort(names)
		for some := range slices.Chunk(names, 64) {
			var infos []crawl.HostInfo
			now := time.Now()
			s.mu.Lock()
			for _, name := range some {
				if h := s.hosts[name]; h != nil && s.tx != nil {
					infos = append(infos, s.hostInfo(h, now))
				}
			}
			s.mu.Unlock()
			for i := range infos {
				if err := send(infos[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// isInFlight reports whether u is in an outstanding visit.
func (s *shard) isInFlight(u canon.URL) bool {
	h := s.hosts[u.Host()]
	if h == nil || h.visit == nil {
		return false
	}
	for _, v := range h.visit.list {
		if v.url == u {
			return true
		}
	}
	return false
}

func (s *shard) eachHost(now time.Time, each func(crawl.HostInfo) error) error {
	for _, h := range s.sortedHosts() {
		if err := each(s.hostInfo(h, now)); err != nil {
			return err
		}
	}
	return nil
}
