package indexer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Reader answers from the files of a crawl that does not run, however it ended, the questions that
// an Indexer answers over NATS. Its methods may be called from many goroutines.
type Reader struct {
	dir       string
	all       []part
	marks     *marks
	forgotten atomic.Pointer[crawl.Forgotten]
	hidden    atomic.Pointer[[]string] // Spec.Forgotten
	rules     atomic.Pointer[siterules.Rules]
	archived  archive.Sizes
	types     typeCounts
}

// OpenDir opens the page stores and search indexes below dir for reading. For a directory without
// stores it returns a Reader without pages. While a crawl runs there, the error wraps
// pages.ErrInUse and names the process.
func OpenDir(dir string) (*Reader, error) {
	r, err := openStores(dir, func(id int) (*pages.Store, error) { return pages.OpenReadOnly(assignment.PagesFile(dir, id)) })
	if err != nil {
		return nil, err
	}
	for _, p := range r.all {
		index, err := search.OpenReadOnly(assignment.SearchFile(dir, p.id), p.store, search.Options{Hidden: r.hides, HiddenHost: r.hidesHost, Read: r.marks.read, Content: p.content})
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		p.index.Store(index)
	}
	return r, nil
}

// OpenFeeds opens the page stores below dir for feeds, which write their positions into them.
// Nobody can search in them. Pages that have expired since the crawl ran are deleted. The caller
// must have locked the directory.
func OpenFeeds(dir string, spec crawl.Spec) (*Reader, error) {
	r, err := openStores(dir, func(id int) (*pages.Store, error) {
		return pages.Open(assignment.PagesFile(dir, id), pages.Options{Mine: func(h canon.Host) bool { return crawl.ShardOf(h, spec.Shards) == id }})
	})
	if err != nil {
		return nil, err
	}
	r.Follow(&spec)
	for _, p := range r.all {
		for n := expireBatch; n == expireBatch; {
			if n, err = p.store.Expire(time.Now(), expireBatch); err != nil {
				return nil, errors.Join(err, r.Close())
			}
		}
	}
	return r, nil
}

// openStores opens the page store of every shard below dir.
func openStores(dir string, open func(id int) (*pages.Store, error)) (*Reader, error) {
	ids, err := shardsIn(dir)
	if err != nil {
		return nil, err
	}
	r := &Reader{dir: dir}
	stores := make([]*pages.Store, 0, len(ids))
	for _, id := range ids {
		store, err := open(id)
		if err != nil {
			for _, s := range stores {
				err = errors.Join(err, s.Close())
			}
			return nil, err
		}
		stores = append(stores, store)
	}
	// This happens only now. Before, a crawl that is just ending may be reading pages, and it would
	// look as if it had died of them.
	r.marks = openMarks(dir, 0, nil, ownProcess(noSites))
	for i, id := range ids {
		r.all = append(r.all, part{id, stores[i], new(atomic.Pointer[search.Index]), new(atomic.Bool), r.marks, r.hides, contentBy(r.rules.Load)})
	}
	return r, nil
}

// Follow makes the Reader show pages as a spec wants it: without what is forgotten (Hide), and as
// its site rules say. Rules that this version cannot read count for nothing.
func (r *Reader) Follow(spec *crawl.Spec) {
	r.Hide(spec.Forgotten)
	if rules, err := siterules.Of(spec); err == nil {
		r.rules.Store(rules)
	}
}

// Hide makes the Reader leave out what crawl.Spec.Forgotten names. What was forgotten while the
// crawl does not run is deleted when it runs next, and must not be shown until then.
func (r *Reader) Hide(forgotten []string) {
	f := crawl.NewForgotten(forgotten)
	r.forgotten.Store(&f)
	r.hidden.Store(&forgotten)
}

func (r *Reader) forgottenEntries() []string {
	if entries := r.hidden.Load(); entries != nil {
		return *entries
	}
	return nil
}

func (r *Reader) hides(u canon.URL) bool {
	f := r.forgotten.Load()
	return f != nil && f.Has(u)
}

func (r *Reader) hidesHost(h canon.Host) (all, some bool) {
	return hostForgotten(r.forgotten.Load(), h)
}

// shardsIn returns the shards whose page stores are in dir.
func shardsIn(dir string) (ids []int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open pages: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), "pages-")
		name, ok2 := strings.CutSuffix(name, ".db")
		if id, err := strconv.Atoi(name); ok && ok2 && err == nil && id >= 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// Handlers answer from the files the questions that an Indexer answers over NATS. Of data.txt files
// they use what is meant for the robot with that product token.
func (r *Reader) Handlers(token string) ask.Handlers {
	return answers{parts: func() []part { return r.all }, status: r.Status, token: func() string { return token }, forgotten: r.forgottenEntries, searching: true}.handlers()
}

// Status returns what is stored and how far search is behind.
func (r *Reader) Status() crawl.IndexerStatus {
	st := crawl.IndexerStatus{Shards: []int{}}
	st.DiskFree, st.DiskTotal = space(r.dir)
	var stores []*pages.Store
	var indexes []*search.Index
	for _, p := range r.all {
		stores = append(stores, p.store)
		if index := p.index.Load(); index != nil {
			indexes = append(indexes, index)
		}
		stats := p.store.Stats()
		st.Shards = append(st.Shards, p.id)
		st.Pages += stats.Pages
		st.Bytes += stats.Bytes
		st.Datasets = append(st.Datasets, p.store.Datasets().Version())
		st.Behind += p.behind(true)
	}
	st.WARCFiles, st.WARCBytes = r.archived.Of(stores)
	st.Types, st.Langs = r.types.Of(indexes)
	return st
}

// Close closes the files.
func (r *Reader) Close() error {
	var errs []error
	for _, p := range r.all {
		if index := p.index.Load(); index != nil {
			errs = append(errs, index.Close())
		}
		errs = append(errs, p.store.Close())
	}
	r.all = nil
	r.marks.close()
	return errors.Join(errs...)
}
