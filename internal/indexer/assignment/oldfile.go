package assignment

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
)

// lookAtOldFile checks the files of a shard that this indexer does not own: it removes what has
// moved away, and reports what does not count.
func (s *Shard) lookAtOldFile(ctx context.Context) {
	h := s.assignments.allotment.recordOf(s.id)
	path := PagesFile(s.assignments.o.Dir, s.id)
	if h.revision == 0 || h.revision == s.tidied {
		return
	}
	s.tidied = h.revision
	here, err := look(path)
	if err != nil {
		s.log.Warn("the page store here cannot be read", "err", err)
		return
	}
	switch {
	case here.identity == "":
	case h.superseded(here.identity):
		if err := errors.Join(search.Remove(SearchFile(s.assignments.o.Dir, s.id)), pages.Remove(path)); err != nil {
			s.log.Error("the page store was moved, but its old file cannot be removed", "file", path, "err", err)
			break
		}
		s.log.Info("another indexer has the shard's pages now; they are removed here", "home", h.Instance)
		here = stamp{}
	case here.identity == h.Store: // it counts, or would count if it were not a copy
	case h.Fresh && h.Instance != s.assignments.o.Instance && here.pages > 0:
		if err := s.reportLost(ctx, path, here); err != nil {
			s.log.Warn("the page store here is no longer used, but the frontier does not know yet that its pages are lost", "file", path, "err", err)
			s.tidied = 0
		}
		return
	default:
		s.log.Warn("the page store here is no longer used, because the shard was started again elsewhere; remove the file when you no longer need it",
			"file", path, "home", h.Instance)
	}
	s.here = here
	// A file that was being made when we were interrupted, and that the record does not name even
	// long after.
	made := newFile(s.assignments.o.Dir, s.id)
	if info, err := os.Stat(made); err == nil && h.Instance != s.assignments.o.Instance && time.Since(info.ModTime()) > time.Hour {
		_ = pages.Remove(made)
	}
}

// reportLost has the pages in a store crawled again. The store does not count, because the record
// was lost together with the state of NATS, and an indexer without a file claimed the shard. The
// store is renamed, so that this happens once.
func (s *Shard) reportLost(ctx context.Context, path string, here stamp) error {
	h, _, err := readFresh(ctx, s.kv, s.id)
	if err != nil || !h.Fresh || h.HandedOver != nil || h.Store == here.identity || h.superseded(here.identity) {
		return err
	}
	s.log.Error("the record of where this shard's pages are was lost, and the shard was started again empty elsewhere: its pages are crawled again", "home", h.Instance)
	if err := s.assignments.o.Publish(ctx, s.id, &crawl.Event{StoreLost: here.identity}); err != nil {
		return err
	}
	s.here = stamp{}
	return s.quarantine(path, here)
}
