package indexer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// A page that is given up is reported to the frontier of its shard.
func TestGiveUpIsReported(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, _ := w.start(Options{Dir: t.TempDir(), Embedded: true})
		eventually(t, "held", func() bool { return len(x.ids()) == 1 })
		s := x.ownShards()[0]
		s.put = func([]pages.Page) (pages.Result, error) { return pages.Result{}, errors.New("no") }
		data := crawl.AppendPages(nil, []crawl.Page{page("https://a.example/1", 1, ""), page("https://a.example/2", 1, "")})
		if err := s.giveUp(t.Context(), queue.Message{Data: data, Deliveries: 5}, errors.New("no")); err != nil {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.giveUp(ended, queue.Message{Data: data, Deliveries: 5}, errors.New("no")); err == nil {
			t.Error("given up although it was only cut short")
		}
		failed := w.events(0, func(ev *crawl.Event) []string { return ev.StoreFailed })
		if len(failed) != 2 || failed[0] != "https://a.example/1" {
			t.Errorf("StoreFailed = %v", failed)
		}
	})
}

// The files that a killed process leaves give the same answers as those of one that ended normally.
func TestOpenDirAfterKill(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		dir, left := t.TempDir(), t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true})
		for _, u := range []string{"https://a.example/", "https://b.example/", "https://c.example/"} {
			w.hand(page(u, 1, "<p>numbat"))
		}
		w.settled(x)
		if _, err := OpenDir(dir); !errors.Is(err, pages.ErrInUse) {
			t.Errorf("OpenDir beside a running indexer: %v", err)
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".db-shm" {
				// Shared memory does not outlive a machine. After a kill it may be there.
				continue
			}
			src, err := os.Open(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(src)
			src.Close()
			os.WriteFile(filepath.Join(left, e.Name()), b, 0o644)
		}
		stop()
		r, err := OpenDir(left)
		if err != nil {
			t.Fatal(err)
		}
		a, err := stoppedCrawl(r).Search(t.Context(), crawl.SearchRequest{Query: "numbat", Limit: 10})
		if err != nil || len(a.Hits) != 3 || a.Behind != 0 {
			t.Errorf("Search = %+v, %v", a, err)
		}
		r.Close()
		// Without its search index it says so, and reindex repairs it.
		for _, i := range []string{"0", "1"} {
			os.Remove(filepath.Join(left, "search-"+i+".db"))
			os.Remove(filepath.Join(left, "search-"+i+".db-wal"))
		}
		if r, err = OpenDir(left); err != nil {
			t.Fatal(err)
		}
		if a, err := stoppedCrawl(r).Search(t.Context(), crawl.SearchRequest{Query: "numbat", Limit: 10}); err != nil || len(a.Hits) != 0 || a.Behind != 3 {
			t.Errorf("Search without an index = %+v, %v", a, err)
		}
		r.Close()
		var done int64
		if err := Reindex(t.Context(), left, new(crawl.Spec), nil, func(n, _ int64) { done = n }); err != nil || done != 3 {
			t.Errorf("Reindex = %v after %d pages", err, done)
		}
		if r, err = OpenDir(left); err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if a, err := stoppedCrawl(r).Search(t.Context(), crawl.SearchRequest{Query: "numbat", Limit: 10}); err != nil || len(a.Hits) != 3 || a.Behind != 0 {
			t.Errorf("Search after reindex = %+v, %v", a, err)
		}
	})
}

// A search index that cannot be read costs only the hits of its shard, and the answer says how to
// repair it.
func TestOneIndexDamaged(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true})
		on := map[int]int{}
		for _, u := range []string{"https://a.example/", "https://b.example/", "https://c.example/", "https://d.example/"} {
			w.hand(page(u, 1, "<p>numbat"))
			on[crawl.ShardOf(canon.URL(u).Host(), 2)]++
		}
		w.settled(x)
		stop()
		if on[0] == 0 || on[1] == 0 {
			t.Fatalf("pages by shard: %v", on)
		}
		for n, damaged := range [][]int{{}, {0}, {0, 1}} {
			for _, k := range damaged {
				if err := os.Truncate(assignment.SearchFile(dir, k), 1000); err != nil {
					t.Fatal(err)
				}
			}
			r, err := OpenDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			a, err := asker.Stopped(crawl.Spec{Shards: 2}, r.Close, r.Handlers("")).Search(t.Context(), crawl.SearchRequest{Query: "numbat"})
			if want := []int{4, on[1], 0}[n]; len(a.Hits) != want || errors.Is(err, ask.ErrIncomplete) != (n == 1) || a.Incomplete != (n == 1) {
				t.Errorf("%v damaged: %d hits, want %d; %v", damaged, len(a.Hits), want, err)
			}
			if says := "curtsy reindex --dir " + dir; n > 0 && (err == nil || !strings.Contains(err.Error(), says)) || n == 0 && err != nil {
				t.Errorf("%v damaged: %v, want %q", damaged, err, says)
			}
			r.Close()
		}
	})
}

func TestOpenDirOfNothing(t *testing.T) {
	r, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if a, err := stoppedCrawl(r).Search(t.Context(), crawl.SearchRequest{Query: "x", Limit: 1}); err != nil || a.Hits == nil || len(a.Hits) != 0 {
		t.Errorf("Search = %+v, %v", a, err)
	}
	if _, err := OpenDir(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenDir of no directory: %v", err)
	}
}

// While the store cannot be written at all, for any reason, no page is the cause: it is tried again
// until ctx ends.
func TestBrokenStoreBlamesNoPage(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		store, err := pages.Open(filepath.Join(t.TempDir(), "pages-0.db"), pages.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &shard{part: part{store: store}, log: testLog(), handling: make(chan struct{}, 1)}
		broken := errors.New("input/output error")
		if err := s.persist(t.Context(), func() error { return broken }); !errors.Is(err, broken) {
			t.Errorf("with a store that can be written: %v", err)
		}
		store.Close()
		ctx, cancel := context.WithCancel(t.Context())
		tries := 0
		err = s.persist(ctx, func() error {
			if tries++; tries == 3 {
				if stuck := s.stuck.Load(); stuck == nil || !errors.Is(*stuck, broken) {
					t.Error("nobody is told")
				}
				cancel()
			}
			return broken
		})
		if !errors.Is(err, broken) || tries != 3 || s.stuck.Load() != nil {
			t.Errorf("persist = %v after %d tries", err, tries)
		}
	})
}
