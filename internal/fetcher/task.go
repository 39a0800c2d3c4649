package fetcher

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/pkg/canon"
)

// task is a running visit as its fetcher sees it. It is the sink of the visit.
type task struct {
	f       *Fetcher
	scratch *visit.Scratch   // the visit's, unless another scratch has replaced it
	cfg     *requests.Config // of this visit alone; nil: that of the fetcher
	yielded bool             // another scratch has replaced it; guarded by backpressure.mu
}

// AppendEvent appends an event to a shard's log and returns when it is stored.
func (s *task) AppendEvent(ctx context.Context, shard int, event []byte) error {
	return s.f.appendEvent(ctx, shard, event)
}

// SendPages hands pages to a shard's indexer and returns when they are stored. waited reports that
// they had to wait because the page queue was full.
func (s *task) SendPages(ctx context.Context, shard int, pages []byte) (waited bool, err error) {
	return s.f.backpressure.guard(s, shard, func() error { return s.f.sendPages(ctx, shard, pages) })
}

// Stalled reports whether the page queue of a shard is full.
func (s *task) Stalled(shard int) bool { return s.f.backpressure.stalled(shard) }

// RobotsText asks a shard's owner for the text of a robots.txt.
func (s *task) RobotsText(ctx context.Context, shard int, digest []byte) ([]byte, error) {
	return s.f.askRobots(ctx, shard, digest)
}

// DispatchPlan asks a shard's owner for a part of the plan of a dispatch.
func (s *task) DispatchPlan(ctx context.Context, shard int, q crawl.DispatchQuery) (crawl.DispatchPlan, error) {
	return s.f.askDispatch(ctx, shard, q)
}

// Forgotten reports whether a URL must not be requested any more, as of now. In everything else a
// visit keeps the spec that it began with. A robots.txt is only forgotten with the whole of its
// origin: a prefix that happens to match it must not close the rest.
func (s *task) Forgotten(u canon.URL) bool {
	if u.PathQuery() == "/robots.txt" {
		u = u.Root()
	}
	return s.f.cfg.Load().Forgotten.Has(u)
}

// leave returns a visit's slot, unless another scratch has taken its place.
func (s *task) leave() {
	j := &s.f.backpressure
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.yielded {
		j.yielded--
		return
	}
	s.f.slots.put(s.scratch)
}
