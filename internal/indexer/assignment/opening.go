package assignment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/queue"
)

// errElsewhere means that another indexer has the pages of the shard.
var errElsewhere = errors.New("another indexer has the shard's pages")

// openStore makes this indexer, which owns the shard, its primary if it should be, and opens its
// page store.
func (s *Shard) openStore(ctx context.Context) (*pages.Store, error) {
	h, revision, err := readFresh(ctx, s.kv, s.id)
	if err != nil {
		return nil, err
	}
	x := s.assignments
	path, made := PagesFile(x.o.Dir, s.id), newFile(x.o.Dir, s.id)
	here, err := look(path)
	if err != nil {
		return nil, err
	}
	next, err := look(made)
	if err != nil && !errors.Is(err, pages.ErrFormat) { // it is incomplete
		return nil, err
	}
	me := x.o.Instance
	switch {
	case revision == 0 && here.identity != "":
		err = s.claim(ctx, Record{Instance: me, Store: here.identity}, 0)
	case revision == 0:
		err = s.begin(ctx, Record{Instance: me, Fresh: true}, 0)
	case next.identity != "" && next.identity == h.Store:
		s.revision, s.record = revision, h
		err = s.adopt()
	case here.identity == h.Store && (h.Instance == me || x.o.Embedded) || here.counts(h):
		err = s.stay(ctx, h, revision)
	case h.HandedOver != nil:
		err = s.restore(ctx, h, revision)
	case h.Instance == me || x.o.Embedded || x.allotment.lost(s.id) == h.Instance:
		s.log.Error("the page store of this shard is lost: the shard starts empty, and its pages are crawled again", "home", h.Instance, "store", h.Store)
		err = s.begin(ctx, Record{Instance: me, Refill: true}, revision)
		if err == nil {
			x.o.Rebuilt()
		}
	default:
		return nil, errElsewhere
	}
	if err != nil {
		return nil, err
	}
	s.dropCopy(ctx)
	return s.open(path)
}

// claim writes the record in place of that with the given revision.
func (s *Shard) claim(ctx context.Context, h Record, revision uint64) error {
	next, err := write(ctx, s.kv, s.id, h, revision)
	if err != nil {
		return err
	}
	s.record, s.revision = h, next
	s.assignments.allotment.note(s.id, h, next)
	return nil
}

// stay keeps the shard with the file that is here.
func (s *Shard) stay(ctx context.Context, h Record, revision uint64) error {
	switch {
	case h.HandedOver != nil:
		s.log.Warn("the shard's pages were not transferred; they stay here", "by", h.HandedOver.To)
		s.tried = time.Now()
		s.assignments.o.NotMoved()
	case h.Instance != s.assignments.o.Instance:
		s.log.Info("the shard's page store was transferred here", "from", h.Instance)
	default:
		s.record, s.revision = h, revision
		return nil
	}
	h.Instance, h.HandedOver = s.assignments.o.Instance, nil
	return s.claim(ctx, h, revision)
}

// begin begins with an empty store.
func (s *Shard) begin(ctx context.Context, h Record, revision uint64) (err error) {
	if h.Store, err = pages.Create(newFile(s.assignments.o.Dir, s.id)); err != nil {
		return err
	}
	if err := s.claim(ctx, h, revision); err != nil {
		return err
	}
	return s.adopt()
}

// restore restores the copy that another indexer has made.
func (s *Shard) restore(ctx context.Context, h Record, revision uint64) error {
	x, began := s.assignments, time.Now()
	snaps, err := x.o.Queue.OpenSnapshots(ctx, queue.SnapshotConfig{Bucket: x.o.Crawl.Move(s.id), MaxBytes: moveSpace(0)})
	if err != nil {
		return err
	}
	identity, st, err := pages.Restore(newFile(x.o.Dir, s.id), func(w io.Writer) error { return snaps.Get(ctx, h.HandedOver.Object, w) })
	if err == nil && (st.Pages != h.HandedOver.Pages || st.LastSeq != h.HandedOver.LastSeq) {
		err = fmt.Errorf("the copy has %d pages up to %d, not %d up to %d", st.Pages, st.LastSeq, h.HandedOver.Pages, h.HandedOver.LastSeq)
	}
	if err == nil {
		err = x.o.Step("restored")
	}
	if errors.Is(err, queue.ErrNoSnapshot) && (h.Instance == x.o.Instance || x.allotment.lost(s.id) == h.Instance) {
		// There is neither file nor copy, so the pages are lost.
		s.log.Error("the page store of this shard and its copy are lost: the shard starts empty, and its pages are crawled again", "home", h.Instance, "err", err)
		x.o.Rebuilt()
		return s.begin(ctx, Record{Instance: x.o.Instance, Refill: true}, revision)
	}
	if err != nil {
		return err
	}
	if err := s.claim(ctx, h.movedTo(x.o.Instance, identity), revision); err != nil {
		return err
	}
	if err := x.o.Step("claimed"); err != nil {
		return err
	}
	x.o.Moved("in", time.Since(began))
	s.log.Info("the shard's pages were moved here", "from", h.Instance, "pages", st.Pages, "bytes", st.FileBytes, "took", time.Since(began).Round(time.Millisecond))
	return s.adopt()
}

// adopt puts the new file in its place. The crawl needs the old file no longer, but perhaps
// somebody does.
func (s *Shard) adopt() error {
	path := PagesFile(s.assignments.o.Dir, s.id)
	if old, err := look(path); err == nil && old.identity != "" && !s.record.superseded(old.identity) {
		if err := s.quarantine(path, old); err != nil {
			return err
		}
	}
	return pages.Rename(newFile(s.assignments.o.Dir, s.id), path)
}

func (s *Shard) quarantine(path string, old stamp) error {
	aside := path + ".aside-" + old.identity[:8]
	if err := pages.Rename(path, aside); err != nil {
		return err
	}
	s.log.Warn("an old page store of this shard is no longer used and was renamed; remove it when you no longer need it", "file", aside)
	return nil
}

// open opens the store of a shard of which we are the primary.
func (s *Shard) open(path string) (*pages.Store, error) {
	store, err := pages.Open(path, pages.Options{Mine: s.assignments.o.Mine(s.id), Fault: s.assignments.o.Fault})
	if err != nil {
		return nil, err
	}
	s.here = stamp{identity: store.Identity(), record: s.assignments.o.Instance}
	if was, merr := store.Mark(markAssignment); merr != nil || was != s.assignments.o.Instance {
		if err := store.SetMark(markAssignment, s.assignments.o.Instance); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return store, nil
}
