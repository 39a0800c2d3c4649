package indexer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func TestMain(m *testing.M) {
	if os.Getenv(harmfulEnv) != "" {
		SetTestHook(doHarm)
	}
	Trial()
	goleak.VerifyTestMain(m)
}

const within = time.Minute

// world is a broker with the streams of a crawl.
type world struct {
	t    *testing.T
	srv  *embedded.Server
	q    *queue.Conn
	work *queue.Work
	logs []*queue.Log
	spec crawl.Spec
	// taker takes pages over in this process; nil: they go through NATS.
	taker *Indexer
}

func testLog() *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return slog.New(slog.DiscardHandler)
}

func newWorld(t *testing.T, shards int) *world {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 1 << 30, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	w := &world{t: t, srv: srv, q: q, spec: crawl.Spec{Name: "test", Shards: shards, Search: true}}
	names := crawl.Names("test")
	var subjects []string
	for i := range shards {
		subjects = append(subjects, names.PagesSubject(i))
		l, err := q.OpenLog(t.Context(), queue.LogConfig{Stream: names.EventsStream(i), Subject: names.EventsSubject(i), MaxBytes: 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		w.logs = append(w.logs, l)
	}
	if w.work, err = q.OpenWork(t.Context(), queue.WorkConfig{Stream: names.PagesStream(), Subjects: subjects, MaxBytes: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	return w
}

// start runs an indexer. stop ends it, and fails the test if Run failed.
func (w *world) start(o Options) (x *Indexer, stop func()) {
	w.t.Helper()
	if o.Instance == "" {
		o.Instance = "one"
	}
	o.Log = testLog()
	if o.Pace == 0 {
		o.Pace = 5 * time.Millisecond
	}
	if o.Term == 0 {
		o.Term = time.Second
	}
	x, err := New(w.q, w.spec, o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				w.t.Errorf("Run = %v", err)
			}
		case <-time.After(within):
			w.t.Error("Run does not end")
		}
	}
	w.t.Cleanup(stop)
	return x, stop
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

func page(u string, visit uint64, body string) crawl.Page {
	html := []byte("<html lang=en><title>Title of " + u + "</title><body>" + body)
	return crawl.Page{
		URL: canon.URL(u), Visit: crawl.VisitID{Epoch: 1, N: visit}, Status: 200, FetchedAt: time.Now(), ContentType: "text/html",
		Charset: "utf-8", Size: int64(len(html)), SHA256: sha256.Sum256(html), Encoding: crawl.EncodingS2, Body: s2.Encode(nil, html),
	}
}

// hand publishes pages, one message for each shard.
func (w *world) hand(all ...crawl.Page) {
	w.t.Helper()
	by := map[int][]crawl.Page{}
	for _, p := range all {
		i := crawl.ShardOf(p.URL.Host(), w.spec.Shards)
		by[i] = append(by[i], p)
	}
	for i, ps := range by {
		send := func(msg []byte) error { return w.work.Send(w.t.Context(), crawl.Names("test").PagesSubject(i), msg) }
		if w.taker != nil {
			send = func(msg []byte) error { return w.taker.TakePages(w.t.Context(), i, msg) }
		}
		if err := send(crawl.AppendPages(nil, ps)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// settled waits until everything that was published is stored and indexed.
func (w *world) settled(x *Indexer) crawl.IndexerStatus {
	w.t.Helper()
	var st crawl.IndexerStatus
	eventually(w.t, "stored and indexed", func() bool {
		st = x.Status()
		return st.Pending == 0 && st.Behind == 0 && len(st.Shards) == x.spec.Shards
	})
	return st
}

// asked collects the answers to a question.
func asked[T any](w *world, question string, req any) (all []T) {
	w.t.Helper()
	eventually(w.t, "an answer of all shards", func() bool {
		all = nil
		err := ask.Gather(w.t.Context(), w.q.NC, "test", question, req, w.spec.Shards, func(raw json.RawMessage) error {
			var v T
			if err := json.Unmarshal(raw, &v); err != nil {
				return fmt.Errorf("%s: %w", raw, err)
			}
			all = append(all, v)
			return nil
		})
		if err != nil && !errors.Is(err, ask.ErrIncomplete) { // a shard may have no owner yet
			w.t.Fatalf("%s: %v", question, err)
		}
		return err == nil
	})
	return all
}

// searched sends a query to the whole crawl.
func searched(w *world, query string) crawl.SearchAnswer {
	w.t.Helper()
	c := asker.Crawl{Spec: w.spec, Queue: w.q}
	c.Spec.Name = "test"
	var a crawl.SearchAnswer
	eventually(w.t, "an answer of all shards", func() bool {
		var err error
		a, err = c.Search(w.t.Context(), crawl.SearchRequest{Query: query, Limit: 1000})
		if err != nil && !errors.Is(err, ask.ErrIncomplete) { // a shard may have no owner yet
			w.t.Fatalf("search %q: %v", query, err)
		}
		return err == nil
	})
	return a
}

func TestStoresIndexesAnswers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		dir := t.TempDir()
		reg := prometheus.NewRegistry()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true, Registry: reg})
		var batch []crawl.Page
		for i := range 40 {
			p := page(fmt.Sprintf("https://h%d.example/p%d", i%7, i), 1, fmt.Sprintf("<p>walrus number%d", i))
			p.FoundOn = "https://h0.example/"
			batch = append(batch, p)
		}
		secret := page("https://h0.example/secret", 1, "<p>walrus hidden-text")
		secret.Directives = crawl.NoSnippet
		noindex := page("https://h0.example/noindex", 1, "<p>walrus")
		noindex.Directives = crawl.NoIndex
		past := page("https://h0.example/past", 1, "<p>walrus")
		past.UnavailableAfter = time.Now().Add(-time.Hour)
		w.hand(append(batch, secret, noindex, past)...)
		st := w.settled(x)
		if st.Pages != 41 || len(st.Shards) != 4 || st.Bytes < 41*60 {
			t.Errorf("Status = %+v", st)
		}
		live := asked[crawl.PageInfo](w, "pages", nil)
		if len(live) != 41 {
			t.Errorf("pages: %d", len(live))
		}
		hits := searched(w, "walrus number7").Hits
		if len(hits) == 0 || !slices.ContainsFunc(hits, func(h crawl.Hit) bool { return h.URL == "https://h0.example/p7" }) {
			t.Errorf("search: %+v", hits)
		}
		one := asked[Record](w, "page", questions.PageRequest{URL: "https://h0.example/p7"})
		if len(one) != 1 || !strings.Contains(one[0].HTML, "number7") || one[0].Title != "Title of https://h0.example/p7" {
			t.Errorf("page: %+v", one)
		}
		exported := asked[Record](w, "export", crawl.ExportQuery{What: "pages", Format: "jsonl"})
		// What was left out, which comes last.
		exported = slices.DeleteFunc(exported, func(r Record) bool { return r.URL == "" })
		if len(exported) != 41 {
			t.Errorf("export: %d records", len(exported))
		}
		if got := asked[crawl.IndexerStatus](w, "indexer-status", nil); len(got) != 1 || got[0].Pages != 41 {
			t.Errorf("indexer-status: %+v", got)
		}
		if n := testutil.ToFloat64(x.metrics.pagesStored); n != 41 {
			t.Errorf("curtsy_indexer_pages_stored_total = %v", n)
		}
		if n := testutil.ToFloat64(x.metrics.questions.WithLabelValues("rank", "answered")); n < 1 {
			t.Errorf("after a search, curtsy_indexer_search_questions_total of rank = %v", n)
		}
		if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
			t.Errorf("metrics: %v %v", problems, err)
		}
		stop()
		checkFiles(t, dir, live)
	})
}

// checkFiles asks the files what the running indexer was asked.
func checkFiles(t *testing.T, dir string, live []crawl.PageInfo) {
	t.Helper()
	r, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var stored []crawl.PageInfo
	questions.Pages.Each(t.Context(), stoppedCrawl(r), nil, func(p crawl.PageInfo) error { stored = append(stored, p); return nil })
	byURL := func(a, b crawl.PageInfo) int { return strings.Compare(a.URL, b.URL) }
	slices.SortFunc(live, byURL)
	slices.SortFunc(stored, byURL)
	if a, b := fmt.Sprint(asJSON(live)), fmt.Sprint(asJSON(stored)); a != b {
		t.Errorf("pages differ:\nlive    %s\nat rest %s", a, b)
	}
	a, err := stoppedCrawl(r).Search(t.Context(), crawl.SearchRequest{Query: "walrus hidden", Limit: 100})
	if err != nil || a.Behind != 0 || len(a.Hits) == 0 {
		t.Errorf("Search = %+v, %v", a, err)
	}
	for _, h := range a.Hits {
		if (h.Snippet == nil) != strings.HasSuffix(h.URL, "secret") {
			t.Errorf("snippet of %s: %v", h.URL, h.Snippet)
		}
	}
	for _, format := range []string{"jsonl", "text", "html"} {
		var b strings.Builder
		if _, err := stoppedCrawl(r).Export(t.Context(), crawl.ExportQuery{What: "pages", Format: format}, &b); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); strings.Contains(s, "hidden-text") || !strings.Contains(s, "number39") {
			t.Errorf("export %s: nosnippet text in it, or other text not: %.200s", format, s)
		}
	}
	if rec, ok, err := pageStopped(r, "https://H0.example:443/p7"); !ok || err != nil || !strings.Contains(rec.HTML, "number7") {
		t.Errorf("Page = %v, %v", ok, err)
	}
}

// stoppedCrawl asks a Reader.
func stoppedCrawl(r *Reader) *asker.Crawl {
	return asker.Stopped(crawl.Spec{}, r.Close, r.Handlers(""))
}

// pageStopped asks a Reader for one page.
func pageStopped(r *Reader, url string) (rec Record, ok bool, err error) {
	err = r.Handlers("").Ask(context.Background(), "page", questions.PageRequest{URL: url}, func(v any) error { rec, ok = v.(Record); return nil })
	return rec, ok, err
}

func asJSON(v any) string { b, _ := json.Marshal(v); return string(b) }

// A recrawl that finds noindex removes the page from store and search. An older copy does not bring
// it back.
func TestNoindexOnRecrawl(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, _ := w.start(Options{Dir: t.TempDir(), Search: true, Embedded: true})
		w.hand(page("https://a.example/", 1, "<p>ocelot"))
		w.settled(x)
		p := page("https://a.example/", 3, "")
		p.Directives, p.Body = crawl.NoIndex, nil
		w.hand(p)
		w.hand(page("https://a.example/", 2, "<p>ocelot late"), page("https://b.example/", 1, "<p>lynx"))
		st := w.settled(x)
		if st.Pages != 1 {
			t.Errorf("%d pages", st.Pages)
		}
		if a := searched(w, "ocelot"); len(a.Hits) != 0 {
			t.Errorf("search: %+v", a)
		}
	})
}

// A page longer than a message is cut when it is sent, even one that becomes six times as long in
// JSON. From the files it is whole.
func TestLongPages(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Embedded: true})
		w.hand(page("https://a.example/controls", 1, strings.Repeat("\x01", 2<<20)), page("https://a.example/words", 1, strings.Repeat("word ", 1<<20)))
		noarchive := page("https://a.example/noarchive", 1, "<p>copied")
		noarchive.Directives = crawl.NoArchive
		w.hand(noarchive)
		w.settled(x)
		// The page that may not be copied is a line of JSON Lines and no document. The number of
		// such pages comes last.
		for format, want := range map[string]int{"jsonl": 3 + 1, "html": 2 + 1, "text": 2 + 1} {
			n := 0
			err := ask.Gather(t.Context(), w.q.NC, "test", "export", crawl.ExportQuery{What: "pages", Format: format}, 1, func(json.RawMessage) error { n++; return nil })
			if err != nil || n != want {
				t.Errorf("export %s: %d pages, %v", format, n, err)
			}
		}
		if r := asked[Record](w, "page", questions.PageRequest{URL: "https://a.example/words"}); len(r) != 1 || !r[0].Cut || len(r[0].HTML) < 800<<10 {
			t.Errorf("page: %d records", len(r))
		}
		if r := asked[Record](w, "page", questions.PageRequest{URL: "https://a.example/noarchive"}); len(r) != 1 || r[0].HTML != "" || r[0].Withheld != "noarchive" {
			t.Errorf("noarchive: %+v", r)
		}
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if rec, ok, err := pageStopped(r, "https://a.example/words"); !ok || err != nil || rec.Cut || len(rec.HTML) < 5<<20 {
			t.Errorf("from the files: %v, %v, %d bytes", ok, err, len(rec.HTML))
		}
	})
}

// Links of stored pages, but not of those with nofollow.
func TestExportLinks(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, _ := w.start(Options{Dir: t.TempDir(), Embedded: true})
		nofollow := page("https://a.example/no", 1, `<a href="/never">x</a>`)
		nofollow.Directives = crawl.NoFollow
		w.hand(page("https://a.example/d/", 1, `<a href="e">x</a> <a href="//b.example">y</a>`), nofollow)
		w.settled(x)
		got := asked[crawl.LinkRow](w, "export", crawl.ExportQuery{What: "links", Format: "jsonl"})
		want := []crawl.LinkRow{{From: "https://a.example/d/", To: "https://a.example/d/e"}, {From: "https://a.example/d/", To: "https://b.example/"}}
		if !slices.Equal(got, want) {
			t.Errorf("links: %v", got)
		}
		if err := ask.Gather(t.Context(), w.q.NC, "test", "export", crawl.ExportQuery{What: "cats"}, 1, func(json.RawMessage) error { return nil }); err == nil {
			t.Error("an export of cats is no error")
		}
	})
}

// The next indexer stores what was published while none ran. What was stored before is neither lost
// nor doubled.
func TestRestart(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		dir := t.TempDir()
		for round := range 3 {
			for i := range 20 {
				w.hand(page(fmt.Sprintf("https://h%d.example/%d-%d", i%5, round, i), uint64(round+1), "<p>ibex"))
			}
			x, stop := w.start(Options{Dir: dir, Search: true})
			if st := w.settled(x); st.Pages != int64(20*(round+1)) {
				t.Errorf("round %d: %d pages", round, st.Pages)
			}
			stop()
		}
	})
}

// Two indexers share a new crawl. Each shard stays with the indexer that has its file, and a file
// that is moved takes its shard with it.
func TestHomes(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 8)
		dirs := map[string]string{"one": t.TempDir(), "two": t.TempDir()}
		a, stopA := w.start(Options{Dir: dirs["one"], Instance: "one"})
		b, stopB := w.start(Options{Dir: dirs["two"], Instance: "two"})
		var batch []crawl.Page
		for i := range 50 {
			batch = append(batch, page(fmt.Sprintf("https://h%d.example/", i), 1, "<p>yak"))
		}
		w.hand(batch...)
		eventually(t, "all shards held", func() bool { return len(a.ids())+len(b.ids()) == 8 })
		if len(a.ids()) < 2 || len(b.ids()) < 2 {
			t.Errorf("shards %v and %v: not shared", a.ids(), b.ids())
		}
		eventually(t, "all stored", func() bool { return a.Status().Pages+b.Status().Pages == 50 })
		if n := len(asked[crawl.PageInfo](w, "pages", nil)); n != 50 {
			t.Errorf("%d pages from both", n)
		}
		ofA := a.ids()
		stopA()
		time.Sleep(3 * time.Second / 2) // longer than 1.5 terms
		if slices.ContainsFunc(b.ids(), func(i int) bool { return slices.Contains(ofA, i) }) {
			t.Errorf("two took shards of one: %v", b.ids())
		}
		stopB()
		for _, i := range ofA {
			if err := os.Rename(assignment.PagesFile(dirs["one"], i), assignment.PagesFile(dirs["two"], i)); err != nil {
				t.Fatal(err)
			}
		}
		b, _ = w.start(Options{Dir: dirs["two"], Instance: "two"})
		eventually(t, "moved", func() bool { return len(b.ids()) == 8 && b.Status().Pages == 50 })
	})
}

// A message of a later schema stops the service, because dropping it would lose pages.
func TestNewerMessageStops(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, err := New(w.q, w.spec, Options{Dir: t.TempDir(), Instance: "one", Pace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		w.work.Send(t.Context(), "test.pages.0", []byte{0x08, 99}) // version 99
		w.work.Send(t.Context(), "test.pages.0", []byte("\xff\xff\xff"))
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		if err := x.Run(ctx); !errors.Is(err, crawl.ErrVersion) {
			t.Errorf("Run = %v", err)
		}
		if n, _ := w.work.Pending(t.Context(), "test.pages.0"); n < 1 {
			t.Error("the message of a later schema is gone")
		}
	})
}

func TestMalformedMessageIsDropped(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.work.Send(t.Context(), "test.pages.0", []byte("\xff\xff\xff"))
		w.hand(page("https://a.example/", 1, "<p>kea"))
		x, _ := w.start(Options{Dir: t.TempDir()})
		if st := w.settled(x); st.Pages != 1 {
			t.Errorf("%d pages", st.Pages)
		}
	})
}

func TestNewChecksItsOptions(t *testing.T) {
	spec := crawl.Spec{Name: "x", Shards: 2}
	for name, o := range map[string]Options{"no dir": {Instance: "a"}, "no name": {Dir: "a"}} {
		if _, err := New(nil, spec, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := New(nil, crawl.Spec{Name: "x"}, Options{Dir: "a", Instance: "a"}); err == nil {
		t.Error("no shards: accepted")
	}
}
