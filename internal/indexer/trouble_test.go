package indexer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/queue"
)

// A store that fails for a moment costs nothing but time.
func TestStoreFailsForAMoment(t *testing.T) {
	s := &shard{x: &Indexer{o: Options{Patience: time.Minute}}, log: testLog()}
	calls := 0
	s.put = func(b []pages.Page) (pages.Result, error) {
		if calls++; calls < 3 {
			return pages.Result{}, errors.New("no space left on device")
		}
		return pages.Result{Stored: len(b)}, nil
	}
	if res, err := s.keep(t.Context(), make([]pages.Page, 2)); err != nil || res.Stored != 2 || calls != 3 {
		t.Errorf("keep = %+v, %v after %d calls", res, err, calls)
	}
}

// One that goes on failing is not waited for again and again within one delivery.
func TestStoreFailsForLong(t *testing.T) {
	s := &shard{x: &Indexer{o: Options{Patience: 50 * time.Millisecond}}, log: testLog()}
	s.put = func([]pages.Page) (pages.Result, error) { return pages.Result{}, errors.New("no space left on device") }
	began := time.Now()
	for range 10 {
		if _, err := s.keep(t.Context(), make([]pages.Page, 1)); err == nil {
			t.Fatal("no error")
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("10 messages waited %v", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s = &shard{x: &Indexer{o: Options{Patience: time.Hour}}, log: testLog(), put: s.put}
	if _, err := s.keep(ctx, nil); err == nil {
		t.Error("keep outlives its context")
	}
}

// A page given up is reported to its shard's frontier.
func TestGiveUpIsReported(t *testing.T) {
	w := newWorld(t, 1)
	x, _ := w.start(Options{Dir: t.TempDir(), Embedded: true})
	eventually(t, "held", func() bool { return len(x.ids()) == 1 })
	s := x.held()[0]
	data := crawl.AppendPages(nil, []crawl.Page{page("https://a.example/1", 1, ""), page("https://a.example/2", 1, "")})
	s.giveUp(t.Context(), queue.Message{Data: data, Deliveries: 5}, errors.New("no"))
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var failed []string
	w.logs[0].Follow(ctx, queue.Position{}, func(batch []queue.Entry) error {
		for _, e := range batch {
			ev, err := crawl.DecodeEvent(e.Data)
			if err != nil {
				t.Error(err)
			}
			failed = append(failed, ev.StoreFailed...)
		}
		cancel()
		return nil
	})
	if len(failed) != 2 || failed[0] != "https://a.example/1" {
		t.Errorf("StoreFailed = %v", failed)
	}
}

// The files as a killed process leaves them answer like those of one that ended in order.
func TestOpenDirAfterKill(t *testing.T) {
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
			continue // shared memory does not outlive a machine; after a kill it may or may not be there
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
	a, err := r.Search("numbat", 10)
	if err != nil || len(a.Hits) != 3 || a.Behind != 0 {
		t.Errorf("Search = %+v, %v", a, err)
	}
	r.Close()
	// With search lost it says so, and reindex mends it.
	for _, i := range []string{"0", "1"} {
		os.Remove(filepath.Join(left, "search-"+i+".db"))
		os.Remove(filepath.Join(left, "search-"+i+".db-wal"))
	}
	if r, err = OpenDir(left); err != nil {
		t.Fatal(err)
	}
	if a, err := r.Search("numbat", 10); err != nil || len(a.Hits) != 0 || a.Behind != 3 {
		t.Errorf("Search without an index = %+v, %v", a, err)
	}
	r.Close()
	var done int64
	if err := Reindex(t.Context(), left, nil, func(n, _ int64) { done = n }); err != nil || done != 3 {
		t.Errorf("Reindex = %v after %d pages", err, done)
	}
	if r, err = OpenDir(left); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if a, err := r.Search("numbat", 10); err != nil || len(a.Hits) != 3 || a.Behind != 0 {
		t.Errorf("Search after reindex = %+v, %v", a, err)
	}
}

func TestOpenDirOfNothing(t *testing.T) {
	r, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if a, err := r.Search("x", 1); err != nil || a.Hits == nil || len(a.Hits) != 0 {
		t.Errorf("Search = %+v, %v", a, err)
	}
	if _, err := OpenDir(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenDir of no directory: %v", err)
	}
}
