package frontier

import (
	"encoding/json"
	"fmt"
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tx == nil {
		return nil
	}
	x, err := s.explain(q.URL, u, time.Now())
	if err != nil {
		return err
	}
	if x.State == crawl.Queued.String() && s.isInFlight(u) {
		x.State = crawl.InFlight.String()
	}
	return send(x)
}

// isInFlight reports whether u is in an outstanding visit.
func (s *shard) isInFlight(u canon.URL) bool {
	h := s.hosts[u.Host()]
	if h == nil || h.visit == nil {
		return false
	}
	for _, v := range h.visit.list {
		if v == u {
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
