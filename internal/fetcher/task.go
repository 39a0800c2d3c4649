package fetcher

import (
	"context"

	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/pkg/canon"
)

// task is a visit under way as its fetcher sees it: it is the visit's outlet.
type task struct {
	f       *Fetcher
	scratch *visit.Scratch // the visit's, unless another one has taken its place
	yielded bool           // so it is; guarded by jams.mu
}

// AppendEvent appends an event to a shard's log and returns when it is stored.
func (s *task) AppendEvent(ctx context.Context, shard int, event []byte) error {
	return s.f.appendEvent(ctx, shard, event)
}

// SendPages hands pages to a shard's indexer and returns when they are stored, and whether they
// had to wait for room.
func (s *task) SendPages(ctx context.Context, shard int, pages []byte) (waited bool, err error) {
	return s.f.backpressure.guard(s, shard, func() error { return s.f.sendPages(ctx, shard, pages) })
}

// Stalled reports whether pages of a shard find no room now.
func (s *task) Stalled(shard int) bool { return s.f.backpressure.stalled(shard) }

// RobotsText asks a shard's owner for the text of a robots.txt.
func (s *task) RobotsText(ctx context.Context, shard int, digest []byte) ([]byte, error) {
	return s.f.askRobots(ctx, shard, digest)
}

// Forgotten reports whether nothing may be asked for under a URL any more, as of now: a visit keeps
// the spec it began with in all else. A robots.txt is forgotten with the whole of its origin only:
// a prefix that happens to begin as it does must not close the rest.
func (s *task) Forgotten(u canon.URL) bool {
	if u.PathQuery() == "/robots.txt" {
		u = u.Root()
	}
	return s.f.cfg.Load().Forgotten.Has(u)
}

// leave gives a visit's hand back, unless another one has taken its place.
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
