package indexer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/queue"
)

// A shard's files in the directory of an indexer:
//
//	pages-<shard>.db      the page store
//	pages-<shard>.db.new  one being made: it becomes the other once the home record names it
//	search-<shard>.db     the search index
//
// What may be interrupted at any line is told by the record and by the identities of the first two.

func pagesFile(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("pages-%d.db", shard))
}

func newFile(dir string, shard int) string { return pagesFile(dir, shard) + ".new" }

func searchFile(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("search-%d.db", shard))
}

// markHome is where a store keeps the instance that held it last: a copy left behind when a file was moved by hand has another than
// the record.
const markHome = "home"

// stamp tells one page store file from another; the zero stamp is no file.
type stamp struct {
	identity, home string
	pages          int64
}

// counts reports whether the file is the one the record names.
func (s stamp) counts(h home) bool {
	return s.identity != "" && s.identity == h.Store && (s.home == "" || s.home == h.Instance)
}

// look reads the stamp of a page store nobody has open.
func look(path string) (s stamp, err error) {
	store, err := pages.OpenReadOnly(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.identity, s.pages = store.Identity(), store.Stats().Pages
	s.home, err = store.Mark(markHome)
	return s, errors.Join(err, store.Close())
}

// errElsewhere: the shard's pages are with another indexer.
var errElsewhere = errors.New("the shard's pages are with another indexer")

// settle makes this indexer, which owns the shard, its home, if it is to be that, and opens its page store.
func (s *seat) settle(ctx context.Context) (*pages.Store, error) {
	h, revision, err := freshHome(ctx, s.kv, s.id)
	if err != nil {
		return nil, err
	}
	x := s.x
	path, made := pagesFile(x.o.Dir, s.id), newFile(x.o.Dir, s.id)
	here, err := look(path)
	if err != nil {
		return nil, err
	}
	next, err := look(made)
	if err != nil && !errors.Is(err, pages.ErrFormat) { // half made
		return nil, err
	}
	me := x.o.Instance
	switch {
	case revision == 0 && here.identity != "":
		err = s.claim(ctx, home{Instance: me, Store: here.identity}, 0)
	case revision == 0:
		err = s.begin(ctx, home{Instance: me, Fresh: true}, 0)
	case next.identity != "" && next.identity == h.Store:
		s.revision, s.home = revision, h
		err = s.adopt()
	case here.identity == h.Store && (h.Instance == me || x.o.Embedded) || here.counts(h):
		err = s.stay(ctx, h, revision)
	case h.Parked != nil:
		err = s.restore(ctx, h, revision)
	case h.Instance == me || x.o.Embedded || x.places.lost(s.id) == h.Instance:
		s.log.Error("the page store of this shard is lost: it begins empty, and its pages are crawled again", "home", h.Instance, "store", h.Store)
		err = s.begin(ctx, home{Instance: me, Refill: true}, revision)
		if err == nil {
			x.met.rebuilds.Inc()
		}
	default:
		return nil, errElsewhere
	}
	if err != nil {
		return nil, err
	}
	x.dropMove(ctx, s.id, s.log)
	return s.open(path)
}

// claim writes the record, whose revision is given.
func (s *seat) claim(ctx context.Context, h home, revision uint64) error {
	next, err := writeHome(ctx, s.kv, s.id, h, revision)
	if err != nil {
		return err
	}
	s.home, s.revision = h, next
	s.x.places.note(s.id, h, next)
	return nil
}

// stay takes the shard with the file that is here.
func (s *seat) stay(ctx context.Context, h home, revision uint64) error {
	switch {
	case h.Parked != nil:
		s.log.Warn("the shard's pages were not fetched; they stay here", "by", h.Parked.To)
		s.tried = time.Now()
		s.x.met.notMoved.Inc()
	case h.Instance != s.x.o.Instance:
		s.log.Info("the shard's page store was brought here", "from", h.Instance)
	default:
		s.home, s.revision = h, revision
		return nil
	}
	h.Instance, h.Parked = s.x.o.Instance, nil
	return s.claim(ctx, h, revision)
}

// begin starts with an empty store.
func (s *seat) begin(ctx context.Context, h home, revision uint64) (err error) {
	if h.Store, err = pages.Create(newFile(s.x.o.Dir, s.id)); err != nil {
		return err
	}
	if err := s.claim(ctx, h, revision); err != nil {
		return err
	}
	return s.adopt()
}

// restore fetches the store that another indexer has parked.
func (s *seat) restore(ctx context.Context, h home, revision uint64) error {
	x, began := s.x, time.Now()
	snaps, err := x.q.OpenSnapshots(ctx, queue.SnapshotConfig{Bucket: x.names.Move(s.id), MaxBytes: moveRoom(0)})
	if err != nil {
		return err
	}
	identity, st, err := pages.Restore(newFile(x.o.Dir, s.id), func(w io.Writer) error { return snaps.Get(ctx, h.Parked.Object, w) })
	if err == nil && (st.Pages != h.Parked.Pages || st.LastSeq != h.Parked.LastSeq) {
		err = fmt.Errorf("the copy has %d pages up to %d, not %d up to %d", st.Pages, st.LastSeq, h.Parked.Pages, h.Parked.LastSeq)
	}
	if err == nil {
		err = x.step("restored")
	}
	if errors.Is(err, queue.ErrNoSnapshot) && (h.Instance == x.o.Instance || x.places.lost(s.id) == h.Instance) {
		// Neither file nor copy: only now are the pages lost.
		s.log.Error("the page store of this shard and its copy are lost: it begins empty, and its pages are crawled again", "home", h.Instance, "err", err)
		x.met.rebuilds.Inc()
		return s.begin(ctx, home{Instance: x.o.Instance, Refill: true}, revision)
	}
	if err != nil {
		return err
	}
	if err := s.claim(ctx, h.movedTo(x.o.Instance, identity), revision); err != nil {
		return err
	}
	if err := x.step("claimed"); err != nil {
		return err
	}
	x.met.moved("in", time.Since(began))
	s.log.Info("the shard's pages have moved here", "from", h.Instance, "pages", st.Pages, "bytes", st.FileBytes, "took", time.Since(began).Round(time.Millisecond))
	return s.adopt()
}

// adopt puts the new file in its place. What is there is of no use to the crawl any more, but perhaps to somebody.
func (s *seat) adopt() error {
	path := pagesFile(s.x.o.Dir, s.id)
	if old, err := look(path); err == nil && old.identity != "" && !s.home.superseded(old.identity) {
		if err := s.putAside(path, old); err != nil {
			return err
		}
	}
	return pages.Rename(newFile(s.x.o.Dir, s.id), path)
}

func (s *seat) putAside(path string, old stamp) error {
	aside := path + ".aside-" + old.identity[:8]
	if err := pages.Rename(path, aside); err != nil {
		return err
	}
	s.log.Warn("a page store of this shard that does not count any more is put aside; remove it when you need nothing of it", "file", aside)
	return nil
}

// open opens the store of the shard we are the home of.
func (s *seat) open(path string) (*pages.Store, error) {
	store, err := pages.Open(path, pages.Options{Mine: s.x.mine(s.id)})
	if err != nil {
		return nil, err
	}
	s.here = stamp{identity: store.Identity(), home: s.x.o.Instance}
	if was, merr := store.Mark(markHome); merr != nil || was != s.x.o.Instance {
		if err := store.SetMark(markHome, s.x.o.Instance); err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return store, nil
}

// dropMove removes what a move left in the object store.
func (x *Indexer) dropMove(ctx context.Context, id int, log *slog.Logger) {
	if x.o.Embedded {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.o.Term)
	defer cancel()
	err := x.q.JS.DeleteObjectStore(ctx, x.names.Move(id))
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) && ctx.Err() == nil {
		log.Warn("the copy of the moved pages stays in the object store until the shard is opened next", "bucket", x.names.Move(id), "err", err)
	}
}
