package frontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
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
	id := crawl.ShardOf(u.Host(), f.spec().Shards)
	held := f.open()
	i := slices.IndexFunc(held, func(s *shard) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	s := held[i]
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

// answerHosts sends what is known of every host.
func (f *Frontier) answerHosts(send func(any) error) error {
	return f.someHosts(func(s *shard, h *host, now time.Time) []any { return []any{s.hostInfo(h, now)} }, send)
}

// someHosts sends what say says of every host, some hosts at a time: no lock is held while the asker reads.
func (f *Frontier) someHosts(say func(*shard, *host, time.Time) []any, send func(any) error) error {
	for _, s := range f.open() {
		s.mu.Lock()
		names := make([]canon.Host, 0, len(s.hosts))
		for name := range s.hosts {
			names = append(names, name)
		}
		s.mu.Unlock()
		slices.Sort(names)
		for some := range slices.Chunk(names, 64) {
			var infos []any
			now := time.Now()
			s.mu.Lock()
			for _, name := range some {
				if h := s.hosts[name]; h != nil && s.tx != nil {
					infos = append(infos, say(s, h, now)...)
				}
			}
			s.mu.Unlock()
			for _, info := range infos {
				if err := send(info); err != nil {
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

// serveQuestions answers status, hosts, mirrors and explain for the shards held.
func (f *Frontier) serveQuestions(ctx context.Context) (stop func(), err error) {
	svc, err := ask.NewService(f.q.NC, f.names, "frontier", f.opt.Instance, "1.0.0")
	if err != nil {
		return nil, err
	}
	held := func() []int {
		var ids []int
		for _, s := range f.open() {
			ids = append(ids, s.id)
		}
		return ids
	}
	err = errors.Join(
		svc.Handle("status", held, func(_ context.Context, _ []byte, send func(any) error) error {
			var parts []crawl.Status
			now := time.Now()
			f.each(func(s *shard) error { parts = append(parts, s.status(now, f.since)); return nil })
			full := f.full()
			for _, p := range parts {
				if full != nil {
					p.State, p.Trouble = "paused", full.Error()
				}
				if err := send(p); err != nil {
					return err
				}
			}
			return nil
		}),
		svc.Handle("hosts", held, func(_ context.Context, _ []byte, send func(any) error) error {
			return f.answerHosts(send)
		}),
		svc.Handle("mirrors", held, func(_ context.Context, _ []byte, send func(any) error) error {
			return f.answerMirrors(send)
		}),
		svc.Handle("updates", held, func(_ context.Context, _ []byte, send func(any) error) error {
			return f.answerUpdates(send)
		}),
		svc.Handle("explain", held, func(_ context.Context, req []byte, send func(any) error) error {
			return f.answerExplain(req, send)
		}),
	)
	if err != nil {
		svc.Stop()
		return nil, err
	}
	return func() { svc.Stop() }, nil
}

// each calls do for every open shard under its lock.
func (f *Frontier) each(do func(*shard) error) error {
	for _, s := range f.open() {
		s.mu.Lock()
		var err error
		if s.tx != nil {
			err = do(s)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
