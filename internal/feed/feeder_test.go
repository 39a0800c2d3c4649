package feed_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/directory"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// errKilled is what happens at a step at which a process is killed.
var errKilled = errors.New("killed")

// world is the page stores of a crawl that does not run, and a sink that follows them.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string // of the crawl
	sink  string // folder of the sink
	spec  crawl.Spec
	visit uint64
	o     feed.Options
	kills int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 33)), dir: t.TempDir(), sink: filepath.Join(t.TempDir(), "out"),
		spec: crawl.Spec{Name: "docs-1", Shards: 3, Agent: "curtsy"}}
	w.o = feed.Options{Name: "out", Dead: filepath.Join(w.dir, "feed-out.dead.jsonl")}
	return w
}

func host(i int) canon.Host { return canon.Host(fmt.Sprintf("h%d.example", i)) }

// change stores, changes and deletes random pages.
func (w *world) change() {
	w.t.Helper()
	stores := map[int]*pages.Store{}
	for k := range w.spec.Shards {
		mine := func(h canon.Host) bool { return crawl.ShardOf(h, w.spec.Shards) == k }
		s, err := pages.Open(filepath.Join(w.dir, fmt.Sprintf("pages-%d.db", k)), pages.Options{Mine: mine})
		if err != nil {
			w.t.Fatal(err)
		}
		defer s.Close()
		stores[k] = s
	}
	for range w.rng.IntN(30) {
		h := host(w.rng.IntN(5))
		s := stores[crawl.ShardOf(h, w.spec.Shards)]
		w.visit++
		p := crawl.Page{URL: canon.URL(fmt.Sprintf("https://%s/%d", h, w.rng.IntN(12))), Visit: crawl.VisitID{Epoch: 1, N: w.visit}, Status: 200,
			ContentType: "text/html", Charset: "utf-8", FetchedAt: time.Now()}
		switch w.rng.IntN(12) {
		case 0:
			p.Deleted = crawl.ReasonHTTP4xx
		case 1:
			p.Directives = crawl.NoIndex
		case 2:
			p.UnavailableAfter = time.Now().Add(time.Duration(w.rng.IntN(5)) * time.Hour)
		case 3: // it becomes an alias of a page of any shard, or is none any more
			word := crawl.Page{URL: p.URL, Visit: p.Visit, AliasOf: canon.URL(fmt.Sprintf("https://%s/%d", host(w.rng.IntN(5)), w.rng.IntN(12)))}
			if w.rng.IntN(3) == 0 || word.AliasOf == p.URL {
				word.AliasOf = ""
			}
			for _, s := range stores { // as if it had been delivered to both shards
				if err := s.Alias([]crawl.Page{word}); err != nil {
					w.t.Fatal(err)
				}
			}
			continue
		}
		if p.Deleted == "" {
			p.Body = fmt.Appendf(nil, "<title>t%d</title><p>text %d", w.rng.IntN(3), w.rng.IntN(4))
			p.Size, p.SHA256 = int64(len(p.Body)), sha256.Sum256(p.Body)
			p.Depth = w.rng.IntN(2)
		}
		if _, err := s.Put([]pages.Page{{Page: p, Title: "t"}}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// feed runs a feeder until it has sent everything, or until it is killed at a random step.
func (w *world) feed(kill bool) error {
	w.t.Helper()
	x, err := indexer.OpenFeeds(w.dir, w.spec)
	if err != nil {
		w.t.Fatal(err)
	}
	c := asker.Stopped(w.spec, x.Close, x.Handlers(w.spec.Agent))
	defer c.Close()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var mu sync.Mutex // guards left and dead: each shard calls step
	left, dead := w.rng.IntN(20), false
	step := func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if left--; kill && left < 0 || dead {
			dead = true
			cancel() // nothing that follows happens
			return errKilled
		}
		return nil
	}
	o, sink := w.o, directory.Open(w.sink)
	o.Fault, sink.Fault = step, step
	f, err := feed.New(c, w.spec, sink, o)
	if err != nil {
		w.t.Fatal(err)
	}
	if err = f.Run(ctx); dead {
		w.kills++
	}
	return err
}

// rows are the pages that an export shows, by ID, without their dates.
func (w *world) rows() map[string]map[string]any {
	w.t.Helper()
	x, err := indexer.OpenDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	x.Hide(w.spec.Forgotten)
	c := asker.Stopped(w.spec, x.Close, x.Handlers(w.spec.Agent))
	defer c.Close()
	all := map[string]map[string]any{}
	_, err = c.ExportPages(w.t.Context(), crawl.ExportQuery{For: w.o.For}, func(row *crawl.PageRow) error {
		text, err := json.Marshal(row)
		if err != nil {
			return err
		}
		all[export.DocumentID(row.URL)] = plain(w.t, text)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// plain is a row without what an export and a feed have differently: a page that was fetched again
// without a change keeps its date in the feed.
func plain(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var row map[string]any
	if err := json.Unmarshal(text, &row); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"fetched_at", "id", "version"} {
		delete(row, key)
	}
	return row
}

// same checks that the sink has exactly what an export shows.
func (w *world) same(after string) {
	w.t.Helper()
	folded, err := directory.Fold(w.sink)
	if err != nil {
		w.t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for id, line := range folded {
		got[id] = plain(w.t, line)
	}
	want := w.rows()
	for id := range maps.Keys(want) {
		if !reflect.DeepEqual(got[id], want[id]) {
			w.t.Errorf("after %s the sink has\n%v\nand an export\n%v", after, got[id], want[id])
		}
	}
	for id, row := range got {
		if want[id] == nil {
			w.t.Errorf("after %s the sink has a page too many: %v", after, row)
		}
	}
}

// runs are the seeds of a random test: FROM=1 SEEDS=500 go test chooses others.
func runs(fallback int) (from, seeds int) {
	from, seeds = 1, fallback
	if n, err := strconv.Atoi(os.Getenv("FROM")); err == nil {
		from = n
	}
	if n, err := strconv.Atoi(os.Getenv("SEEDS")); err == nil {
		seeds = n
	}
	return from, seeds
}

// TestRandomKills changes pages at random, and kills the feeder at random steps. Whenever a feeder
// ends by itself, the sink has exactly what an export shows: nothing more, nothing less, and
// nothing older.
func TestRandomKills(t *testing.T) {
	from, seeds := runs(15)
	for seed := from; seed < from+seeds; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) { randomKills(t, uint64(seed)) })
		})
	}
}

func randomKills(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	w.change()
	for range 12 {
		switch w.rng.IntN(12) {
		case 0: // the store of a shard is lost, and its pages are crawled again
			if err := os.Remove(filepath.Join(w.dir, fmt.Sprintf("pages-%d.db", w.rng.IntN(w.spec.Shards)))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // generations differ by a second at least
		case 1: // an operator forgets something, or takes that back
			entry, undo := fmt.Sprintf("https://%s/%d", host(w.rng.IntN(5)), w.rng.IntN(12)), false
			if n := len(w.spec.Forgotten); n > 0 && w.rng.IntN(2) == 0 {
				entry, undo = w.spec.Forgotten[w.rng.IntN(n)], true
			}
			var err error
			if w.spec, _, err = w.spec.Forget(entry, undo); err != nil {
				t.Fatal(err)
			}
		case 2: // other settings: everything is sent again
			w.o.Content = []string{"text", ""}[w.rng.IntN(2)]
			w.o.For = [][]string{nil, {"search"}}[w.rng.IntN(2)]
		}
		time.Sleep(time.Duration(w.rng.IntN(90)) * time.Minute)
		w.change()
		if err := w.feed(true); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if w.rng.IntN(3) == 0 {
			if err := w.feed(false); err != nil {
				t.Fatal(err)
			}
			w.same("a run without a kill")
		}
	}
	if err := w.feed(false); err != nil {
		t.Fatal(err)
	}
	w.same("the last run")
	t.Logf("%d kills", w.kills)
}

// What was forgotten and is not any more is sent again, also what only named it: the page was sent
// without the name.
func TestForgetIsTakenBack(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		main, named := canon.URL("https://h0.example/"), canon.URL("https://h1.example/")
		for k := range w.spec.Shards {
			s, err := pages.Open(filepath.Join(w.dir, fmt.Sprintf("pages-%d.db", k)), pages.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for u, found := range map[canon.URL]canon.URL{main: "", named: main} {
				p := crawl.Page{URL: u, FoundOn: found, Visit: crawl.VisitID{Epoch: 1, N: 1}, Status: 200, ContentType: "text/html", Body: []byte("<p>x"), Size: 4}
				if crawl.ShardOf(u.Host(), w.spec.Shards) != k {
					continue
				}
				if _, err := s.Put([]pages.Page{{Page: p}}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for _, forgotten := range [][]string{nil, {string(main)}, nil} {
			w.spec.Forgotten = forgotten
			if err := w.feed(false); err != nil {
				t.Fatal(err)
			}
			w.same(fmt.Sprintf("forgetting %q", forgotten))
		}
	})
}
