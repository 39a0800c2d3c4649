package feedtest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
	"github.com/curtsy/curtsy/internal/siterules"
)

// store is a sink in memory that fails often, before or after it has stored something.
type store struct {
	mu       sync.Mutex // guards what is below
	writes   int
	versions map[string]int64
}

func (s *store) Prepare(context.Context, []siterules.FieldInfo) error { return nil }
func (s *store) Sweep(context.Context, string, int, int64) error      { return nil }
func (s *store) Close() error                                         { return nil }
func (s *store) Write(_ context.Context, b feed.Batch) ([]feed.Refused, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for i, c := range b.Changes {
		if s.writes%3 == 0 && i == s.writes%5 {
			return nil, errors.New("killed")
		}
		if c.Row.Removed != "" {
			delete(s.versions, c.ID)
		} else {
			s.versions[c.ID] = c.Version
		}
	}
	return nil, nil
}

// A writer that is killed delivers everything in the end, and has sent some of it again.
func TestRun(t *testing.T) {
	s := &store{versions: map[string]int64{}}
	h := feedtest.Random(1, 2, 400)
	again, err := feedtest.Writer{Seed: 2, Open: func() (feed.Sink, error) { return s, nil }}.Run(t.Context(), h)
	want := h.Want()
	if err != nil || again < 5 || len(want) < 20 || len(s.versions) != len(want) {
		t.Fatalf("%v; sent again %d; %d pages, want %d", err, again, len(s.versions), len(want))
	}
	for id, c := range want {
		if s.versions[id] != c.Version {
			t.Errorf("%s has version %d, want %d", c.Row.URL, s.versions[id], c.Version)
		}
	}
}
