package indexer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

func markedPage(u string, visit uint64) *pages.Page {
	return &pages.Page{Page: crawl.Page{URL: canon.URL(u), Visit: crawl.VisitID{Epoch: 1, N: visit}}}
}

// The next process finds what a process leaves when it dies: the pages that it was reading, and
// none that it had read.
func TestMarksAreFound(t *testing.T) {
	dir := t.TempDir()
	m := openMarks(dir, 0, testLog(), nil)
	long := "http://a.example/" + strings.Repeat("x", 2000)
	died, over := make(chan string, 2), make(chan struct{})
	t.Cleanup(func() { close(over) })
	for _, u := range []string{"http://a.example/1", long} {
		go func() {
			_ = m.read(markedPage(u, 7), func() {
				died <- u
				<-over // as long as the process lives
			})
		}()
		<-died
	}
	for i := range 100 {
		if err := m.read(markedPage(fmt.Sprint("http://a.example/harmless", i), 1), func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if other := openMarks(dir, 0, testLog(), nil); other.file != nil {
		t.Error("two processes have the same marks")
	}
	m.close()     // as the system does when a process dies
	for range 2 { // found again as long as nothing came of them
		n := openMarks(dir, 0, testLog(), nil)
		if len(n.known) != 2 || n.known[marked{canon.URL(long), crawl.VisitID{Epoch: 1, N: 7}}] != slotReading {
			t.Fatalf("found %v", n.known)
		}
		n.close()
	}
	n := openMarks(dir, 0, testLog(), nil)
	defer n.close()
	n.try = func(*pages.Page) error { return nil }
	newer := marked{"http://a.example/1", crawl.VisitID{Epoch: 1, N: 8}}
	if s := n.state(newer); s != slotReading {
		t.Errorf("a newer copy of a suspect is not tried: %d", s)
	}
	newer.url = "http://a.example/2"
	if s := n.state(newer); s != slotFree {
		t.Errorf("another page is suspected: %d", s)
	}
	n.try = nil
	ran := false
	if err := n.read(markedPage("http://a.example/1", 7), func() { ran = true }); !errors.Is(err, errUnreadable) || ran {
		t.Errorf("a suspect was read where there are no trials: %v", err)
	}
	if err := n.read(markedPage("http://a.example/1", 8), func() { ran = true }); err != nil || !ran {
		t.Errorf("a newer copy was not read: %v", err)
	}
	n.close()
	o := openMarks(dir, 0, testLog(), nil)
	defer o.close()
	if all, _ := o.condemned(); len(all) != 1 || all[0].url != "http://a.example/1" {
		t.Errorf("condemned: %v", all)
	}
}

// A damaged file, or one that cannot be written, prevents no reading.
func TestMarksOfNoUse(t *testing.T) {
	dir := t.TempDir()
	noise := []byte(strings.Repeat("\x01\xff\xff", 200_000))
	if err := os.WriteFile(filepath.Join(dir, marksName), noise, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*marks{openMarks(dir, 0, nil, nil), openMarks(filepath.Join(dir, "missing"), 0, nil, nil), nil} {
		ran := false
		if err := m.read(markedPage("http://a.example/", 1), func() { ran = true }); err != nil || !ran {
			t.Errorf("%v", err)
		}
		if m != nil {
			m.close()
		}
	}
}

// More pages than can be remembered: the file does not grow.
func TestMarksAreBounded(t *testing.T) {
	m := openMarks(t.TempDir(), 0, nil, nil)
	defer m.close()
	for i := range knownSlots + 20 {
		_ = m.condemn(marked{canon.URL(fmt.Sprint("http://a.example/", i)), crawl.VisitID{Epoch: 1, N: 1}}, "test")
	}
	st, err := m.file.Stat()
	if err != nil || st.Size() > (readerSlots+knownSlots)*slotSize || len(m.known) != knownSlots || len(m.slots) != knownSlots {
		t.Errorf("%d bytes, %d pages, %v", st.Size(), len(m.known), err)
	}
}

// A panic while a page is read is the outcome of that page: it is quarantined, counted and
// reported, and the other pages are stored.
func TestPanicIsThePagesOutcome(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		SetTestHook(func(u canon.URL) {
			if strings.Contains(string(u), "panics") {
				panic("a test's")
			}
		})
		defer SetTestHook(nil)
		w := newWorld(t, 1)
		reg := prometheus.NewRegistry()
		x, stop := w.start(Options{Dir: t.TempDir(), Registry: reg})
		w.hand(page("http://a.example/1", 1, "one"), page("http://a.example/panics", 1, "two"), page("http://a.example/2", 1, "three"))
		if st := w.settled(x); st.Pages != 2 {
			t.Errorf("%d pages", st.Pages)
		}
		told := w.events(0, func(ev *crawl.Event) (all []string) {
			for _, u := range ev.Unreadable {
				all = append(all, fmt.Sprint(u.URL, " ", u.Visit.N))
			}
			return all
		})
		if len(told) != 1 || told[0] != "http://a.example/panics 1" {
			t.Errorf("the frontier is told of %q", told)
		}
		if n := testutil.ToFloat64(x.metrics.unreadable); n != 1 {
			t.Errorf("counted %v", n)
		}
		stop()
	})
}

// A page whose unavailable_after passes before it arrives is not stored, and the frontier is
// notified: once, and not about a page that it knew about.
func TestExpiredOnTheWay(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, stop := w.start(Options{Dir: t.TempDir()})
		late := page("http://a.example/late", 3, "x")
		late.UnavailableAfter = time.Now().Add(-time.Second)
		known := page("http://a.example/noindex", 3, "x")
		known.Directives, known.UnavailableAfter = crawl.NoIndex, late.UnavailableAfter
		later := page("http://a.example/later", 3, "x")
		later.UnavailableAfter = time.Now().Add(time.Hour)
		w.hand(late, known, later)
		w.settled(x)
		w.hand(late) // delivered again
		if st := w.settled(x); st.Pages != 1 {
			t.Errorf("%d pages", st.Pages)
		}
		told := w.events(0, func(ev *crawl.Event) (all []string) {
			for _, u := range ev.Removed {
				all = append(all, fmt.Sprint(u.URL, " ", u.Visit.N))
			}
			return all
		})
		if len(told) != 1 || told[0] != "http://a.example/late 3" {
			t.Errorf("the frontier is told of %q", told)
		}
		stop()
	})
}

// An error in one file of a message means nothing for the others: they come again if they could not
// be stored.
func TestOneDropIsNotAll(t *testing.T) {
	store, err := pages.Open(filepath.Join(t.TempDir(), "pages-0.db"), pages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	met, _ := newMetrics(nil, nil)
	passing := errors.New("for a while")
	s := &shard{part: part{id: 0, store: store}, log: testLog(), handling: make(chan struct{}, 1), reader: pageReader{log: testLog()},
		x: &Indexer{spec: crawl.Spec{Shards: 1}, o: Options{Pace: 1}, metrics: met}}
	s.ruling = newRuling(s)
	s.put = func([]pages.Page) (pages.Result, error) { return pages.Result{}, passing }
	bad := crawl.Page{Kind: crawl.KindData, URL: "http://a.example/data.txt", Origin: canon.URL("http://a.example/").Origin(), Visit: crawl.VisitID{Epoch: 1, N: 1},
		Encoding: crawl.EncodingS2, Body: []byte("\xff\xff\xff\xff")}
	msg := queue.Message{Data: crawl.AppendPages(nil, []crawl.Page{bad, page("http://a.example/", 1, "x")}), Deliveries: 1}
	if err := s.handle(t.Context(), []queue.Message{msg}); !errors.Is(err, passing) || errors.Is(err, queue.ErrDrop) {
		t.Errorf("handle = %v: the page would be lost", err)
	}
	s.put = store.Put
	if err := s.handle(t.Context(), []queue.Message{msg}); err != nil || store.Stats().Pages != 1 {
		t.Errorf("handle = %v, %d pages", err, store.Stats().Pages)
	}
}

// Storing, indexing and exporting a page has limited costs, whatever is in it.
func TestNoPageCostsAnIndexerMuch(t *testing.T) {
	if testaid.RaceDetector {
		t.Skip("they are made to take time, and nothing of it runs beside anything else")
	}
	const size = 1 << 20
	store := func(p crawl.Page) func() {
		r := &pageReader{log: testLog()}
		return func() { r.read(p, time.Now()) }
	}
	html := func(b testaid.Bomb) crawl.Page {
		return page("http://a.example/"+strings.ReplaceAll(b.Name, " ", "-"), 1, string(b.Body)+`<script type="application/ld+json">{"@type":"Dataset"}</script>`)
	}
	check := func(what string, prepare func(p *pages.Page) func()) {
		testaid.CheckCost(t, what, size, testaid.HTMLBombs, func(b testaid.Bomb) func() { return prepare(&pages.Page{Page: html(b)}) })
	}
	check("storing", func(p *pages.Page) func() { return store(p.Page) })
	check("indexing", func(p *pages.Page) func() { return func() { search.Try(p) } })
	for _, what := range []string{"text", "html"} {
		check("exporting as "+what, func(p *pages.Page) func() {
			return func() {
				var e exporter
				e.record(part{}, p, what, false)
			}
		})
	}
	check("exporting the links", func(p *pages.Page) func() {
		return func() {
			var e exporter
			_ = e.links(part{}, p, func(any) error { return nil })
		}
	})
	meta := func(b testaid.Bomb) crawl.Page {
		p := page("http://a.example/data.json", 1, "")
		p.Kind, p.ContentType, p.Encoding, p.Body = crawl.KindMeta, "application/json", crawl.EncodingNone, b.Body
		return p
	}
	testaid.CheckCost(t, "storing", size-1<<10, testaid.JSONBombs, func(b testaid.Bomb) func() { return store(meta(b)) })
	testaid.CheckCost(t, "the claims", size-1<<10, testaid.JSONBombs, func(b testaid.Bomb) func() {
		stored := pages.Page{Page: meta(b), Claims: []byte{}}
		return func() { _, _ = claimsOf(&stored, 1<<30) }
	})
}
