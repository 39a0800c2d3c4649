package indexer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
)

// again does what the frontier does after StoreLost: all pages of the shard come again, from newer
// visits.
func (f *feeder) again(visit uint64) {
	f.mu.Lock()
	var all []string
	for u := range f.last {
		all = append(all, u)
	}
	f.mu.Unlock()
	for _, u := range all {
		f.hand(u, visit)
	}
}

// fill publishes n pages, waits until they are stored, and returns them.
func (w *world) fill(n int) *feeder {
	f := &feeder{w: w, stop: func() {}, last: map[string]string{}}
	for i := range n {
		f.hand(fmt.Sprintf("https://h%d.example/%d", i%9, i), 1)
	}
	w.idle()
	return f
}

// record reads the record of a shard.
func (w *world) record(shard int) assignment.Record {
	w.t.Helper()
	kv, err := w.q.OpenBucket(w.t.Context(), "test-CRAWL", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	h, _, err := assignment.Read(w.t.Context(), kv, shard)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func empty(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		if err := os.RemoveAll(f); err != nil {
			t.Fatal(err)
		}
	}
}

// An indexer whose directory was emptied begins its shards with empty stores, whether it is the
// only indexer or not. The frontier is notified once for each, however often the indexer is killed
// meanwhile.
func TestDirectoryEmptied(t *testing.T) {
	for _, c := range []struct {
		name     string
		embedded bool
		kill     string
		told     int
	}{{"alone", true, "", 1}, {"one of several", false, "", 1}, {"killed before telling", false, "refill", 1}, {"killed after telling", false, "refilled", 2}} {
		t.Run(c.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				a := w.peer("one", "", Options{Embedded: c.embedded}, nil)
				f := w.fill(20)
				a.kill()
				was := w.record(0)
				empty(t, a.dir)
				if c.kill != "" {
					a = w.peer("one", a.dir, Options{}, once(c.kill))
					<-a.killed
					a.ended()
				}
				f.hand("https://h0.example/waiting", 1)
				a = w.peer("one", a.dir, Options{Embedded: c.embedded}, nil)
				eventually(t, "begun anew", func() bool { h := w.record(0); return h.Store != was.Store && !h.Refill })
				now := w.record(0)
				if now.Instance != "one" {
					t.Errorf("home %+v", now)
				}
				if got := w.lost(0); len(got) != c.told || slices.ContainsFunc(got, func(id string) bool { return id != now.Store }) {
					t.Errorf("StoreLost %v, store %s", got, now.Store)
				}
				f.again(2)
				w.complete(f, a)
			})
		})
	}
}

// moveAway is the command that an error about a file recommends to the operator.
var moveAway = regexp.MustCompile(`\(mv (\S+) (\S+)\) and start the crawl again`)

// An indexer whose page store is no page store ends, and reading the directory fails. The error
// names the command to type. After that command the crawl continues and the pages are fetched
// again.
func TestPageStoreSpoiled(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"emptied":          func(path string) error { return os.Truncate(path, 0) },
		"cut short":        func(path string) error { return os.Truncate(path, 5000) },
		"something else":   func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("no store "), 4096), 0o600) },
		"a search's index": func(path string) error { return os.Rename(assignment.SearchFile(filepath.Dir(path), 0), path) },
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				o := Options{Embedded: true, Search: true}
				a := w.peer("one", "", o, nil)
				f := w.fill(5)
				a.stop()
				path := assignment.PagesFile(a.dir, 0)
				if err := spoil(path); err != nil {
					t.Fatal(err)
				}
				again := w.peer("one", a.dir, o, nil)
				<-again.done
				r, readErr := OpenDir(a.dir)
				if readErr == nil {
					r.Close()
				}
				for _, err := range []error{again.err, readErr} {
					if !errors.Is(err, pages.ErrFormat) || !moveAway.MatchString(fmt.Sprint(err)) {
						t.Fatalf("%v: it does not say what to type", err)
					}
				}
				typed := moveAway.FindStringSubmatch(again.err.Error())
				if typed[1] != path {
					t.Errorf("%v: it is about another file", again.err)
				}
				if err := os.Rename(typed[1], typed[2]); err != nil {
					t.Fatal(err)
				}
				a = w.peer("one", a.dir, o, nil)
				eventually(t, "begun anew", func() bool { return len(w.lost(0)) == 1 })
				f.again(2)
				w.complete(f, a)
				w.settled(a.Indexer)
				if hits := searched(w, "aardvark").Hits; len(hits) != 5 {
					t.Errorf("search finds %d pages, want 5", len(hits))
				}
			})
		})
	}
}

// A primary that is away for RebuildAfter is replaced by the indexer to which the shard is
// assigned, and pages in the queue are stored there. When the old one comes back its file does not
// count. The file stays while the shard is elsewhere, and is renamed when the shard is assigned to
// it again.
func TestHomeAwayForLong(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		o := Options{RebuildAfter: 2 * time.Second}
		a := w.peer("one", "", o, nil)
		w.holders(2, a)
		f := w.fill(30)
		a.kill()
		began := time.Now()
		f.hand("https://h0.example/waiting", 1)
		f.hand("https://h1.example/waiting", 1)
		b := w.peer("two", "", o, nil)
		w.holders(2, b)
		if took := time.Since(began); took < o.RebuildAfter {
			t.Errorf("begun anew after %v", took)
		}
		w.idle()
		for shard := range 2 {
			eventually(t, "frontier told", func() bool { return !w.record(shard).Refill })
			if got := w.lost(shard); len(got) != 1 || got[0] != w.record(shard).Store {
				t.Errorf("shard %d: StoreLost %v", shard, got)
			}
		}
		if n := len(asked[any](w, "pages", nil)); n != 2 {
			t.Errorf("%d pages before they come again", n)
		}
		f.again(2)
		w.idle()
		olds := 0
		a = w.peer("one", a.dir, o, nil)
		w.holders(1, a, b)
		for shard := range 2 {
			aside, _ := filepath.Glob(assignment.PagesFile(a.dir, shard) + ".aside-*")
			held := slices.Contains(a.ids(), shard)
			if held != (len(aside) == 1) {
				t.Errorf("shard %d, held %v: put aside %v", shard, held, aside)
			}
			if !held && !exists(assignment.PagesFile(a.dir, shard)) {
				t.Errorf("shard %d: the file that does not count is gone", shard)
			}
			olds += len(aside)
			for _, f := range append(aside, assignment.PagesFile(a.dir, shard)) {
				if !held || f != assignment.PagesFile(a.dir, shard) {
					os.Remove(f)
				}
			}
		}
		w.complete(f, a, b)
	})
}

// With RebuildAfter 0 no store is ever begun again, and neither is one whose primary is back in
// time.
func TestHomeAwayForAWhile(t *testing.T) {
	for name, after := range map[string]time.Duration{"never": 0, "back in time": time.Minute} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				o := Options{RebuildAfter: after}
				a := w.peer("one", "", o, nil)
				w.holders(1, a)
				f := w.fill(10)
				was := w.record(0)
				a.kill()
				f.hand("https://h0.example/waiting", 1)
				b := w.peer(winner("one"), "", o, nil)
				time.Sleep(4 * peerTerm)
				if len(b.ids()) > 0 || w.record(0).Store != was.Store {
					t.Errorf("the shard was taken: %+v", w.record(0))
				}
				a = w.peer("one", a.dir, o, nil)
				w.complete(f, a, b)
				if got := w.lost(0); len(got) != 0 {
					t.Errorf("StoreLost %v", got)
				}
			})
		})
	}
}

// known reports whether an indexer knows where the pages of shard 0 are.
func known(h *assignment.Assignments) bool {
	_, ok := h.Known(0)
	return ok
}

// A shard whose primary and whose copy in transit are both lost begins empty after the time for
// which a primary may be away.
func TestParkedAndLost(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		o := Options{RebuildAfter: 2 * time.Second}
		a := w.peer("one", "", o, once("parked"))
		w.holders(1, a)
		f := w.fill(10)
		b := w.peer(winner("one"), "", o, once("restored"))
		<-a.killed
		<-b.killed
		a.ended()
		b.ended()
		if err := w.q.JS.DeleteObjectStore(t.Context(), "test-MOVE-0"); err != nil {
			t.Fatal(err)
		}
		c := w.peer("another", "", o, nil)
		w.holders(1, c)
		eventually(t, "frontier told", func() bool { return !w.record(0).Refill })
		if got := w.lost(0); len(got) != 1 || got[0] != w.record(0).Store {
			t.Errorf("StoreLost %v", got)
		}
		f.again(2)
		w.complete(f, c)
	})
}

// The record is lost together with the state of NATS. The indexer with the file becomes the primary
// again. If another one without a file was faster, the pages in the file are crawled again, once.
func TestHomeRecordLost(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				a := w.peer("one", "", Options{}, nil)
				w.holders(1, a)
				f := w.fill(20)
				was := w.record(0)
				a.stop()
				kv, err := w.q.OpenBucket(t.Context(), "test-CRAWL", 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := kv.Purge(t.Context(), crawl.AssignmentKey(0)); err != nil {
					t.Fatal(err)
				}
				name := winner("one")
				if !late {
					a = w.peer("one", a.dir, Options{}, nil)
					b := w.peer(name, "", Options{}, nil)
					w.holders(0, a, b)
					w.complete(f, a, b)
					if got := w.lost(0); len(got) != 0 {
						t.Errorf("StoreLost %v", got)
					}
					return
				}
				b := w.peer(name, "", Options{}, nil)
				w.holders(1, b)
				for range 2 {
					a = w.peer("one", a.dir, Options{}, nil)
					eventually(t, "put aside", func() bool { return !exists(assignment.PagesFile(a.dir, 0)) && known(a.assignments) })
					a.stop()
				}
				if got := w.lost(0); len(got) != 1 || got[0] != was.Store {
					t.Errorf("StoreLost %v, the store was %s", got, was.Store)
				}
				f.again(2)
				w.complete(f, b)
			})
		})
	}
}
