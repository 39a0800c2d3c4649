package search

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

var visits uint64

// page makes a page of a newer visit than any before.
func page(u, lang, title, body string) pages.Page {
	visits++
	html := []byte("<html lang=" + lang + "><title>" + title + "</title><body>" + body)
	p := pages.Page{Title: title, Lang: lang}
	p.URL, p.Visit = canon.URL(u), crawl.VisitID{Epoch: 1, N: visits}
	p.Status, p.ContentType, p.Charset, p.Size, p.SHA256 = 200, "text/html", "utf-8", int64(len(html)), sha256.Sum256(html)
	p.Body = html
	return p
}

// fixture is a store and its index in a folder of the test's.
type fixture struct {
	*Index
	t     testing.TB
	store *pages.Store
	dir   string
	now   time.Time
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	var err error
	if f.store, err = pages.Open(filepath.Join(f.dir, "pages-0.db"), pages.Options{}); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	t.Cleanup(func() { f.Close(); f.store.Close() })
	return f
}

func (f *fixture) path() string { return filepath.Join(f.dir, "search-0.db") }

func (f *fixture) reopen() {
	f.t.Helper()
	if f.Index != nil {
		f.Close()
	}
	var err error
	if f.Index, err = Open(f.path(), f.store, Options{Now: func() time.Time { return f.now }}); err != nil {
		f.t.Fatal(err)
	}
}

// add stores pages and indexes them.
func (f *fixture) add(batch ...pages.Page) {
	f.t.Helper()
	if _, err := f.store.Put(batch); err != nil {
		f.t.Fatal(err)
	}
	f.follow()
}

func (f *fixture) follow() {
	f.t.Helper()
	for {
		n, err := f.Step(context.Background())
		if err != nil {
			f.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func (f *fixture) search(q string) []crawl.Hit {
	f.t.Helper()
	a, err := f.Search(context.Background(), q, 10)
	if err != nil {
		f.t.Fatalf("search %q: %v", q, err)
	}
	return a.Hits
}

// urls are the paths of the hits, best first.
func (f *fixture) urls(q string) (found []string) {
	f.t.Helper()
	for _, h := range f.search(q) {
		found = append(found, canon.URL(h.URL).Path())
	}
	return found
}

func TestQueries(t *testing.T) {
	f := newFixture(t)
	f.add(
		page("https://docs.example/asyncio", "en", "asyncio — Asynchronous I/O", "<p>asyncio is a library to write concurrent code; running loops, Python 3.11.7"),
		page("https://docs.example/threads", "en", "Threads", "<p>Use ThreadPoolExecutor and getElementById. It runs tasks, unlike asyncio. The task queue never empties."),
		page("https://docs.example/stats", "en", "Statistics views", "<h2>The view</h2><p>Look at pg_stat_activity to see what runs; GitHub hosts JavaScript"),
		page("https://other.example/haus", "de", "Häuser", "<p>Die Häuser in der Straße sind groß. Ein Café und viele Bäume."),
		page("https://www.other.example/ja", "ja", "日本語", "<p>東京都に住んでいます。データベース"),
		page("https://fr.example/fr", "fr", "Chevaux", "<p>Les chevaux de l'école sont nationaux"),
	)
	for q, want := range map[string][]string{
		"asyncio":                   {"/asyncio", "/threads"},
		"ASYNCIO":                   {"/asyncio", "/threads"},
		"asyncio -threads":          {"/asyncio"},
		"asyncio -pool":             {"/asyncio"},
		"run":                       {"/stats", "/asyncio", "/threads"},
		`"task queue"`:              {"/threads"},
		`"queue task"`:              nil,
		`"running loop"`:            {"/asyncio"},
		"pg_stat_activity":          {"/stats"},
		"activity":                  {"/stats"},
		"stat":                      {"/stats"},
		`"pg_stat_activity to see"`: {"/stats"},
		"stat_pg":                   {"/stats"}, // not in a row: any of its words
		"3.11.7":                    {"/asyncio"},
		"3.11":                      {"/asyncio"},
		"threadpoolexecutor":        {"/threads"},
		"ThreadPoolExecutor":        {"/threads"},
		"executor":                  {"/threads"},
		"getelementbyid":            {"/threads"},
		"elementById":               {"/threads"},
		"github":                    {"/stats"},
		"haus":                      {"/haus"},
		"HÄUSERN":                   {"/haus"},
		"strasse cafe":              {"/haus"},
		"café":                      {"/haus"},
		"baum":                      {"/haus"},
		"東京":                        {"/ja"},
		"東京都":                       {"/ja"},
		"京":                         {"/ja"},
		"データベース":                    {"/ja"},
		"cheval":                    {"/fr"},
		"école":                     {"/fr"},
		"ecole":                     {"/fr"},
		"title:threads":             {"/threads"},
		"title:asyncio":             {"/asyncio"},
		"async*":                    {"/asyncio", "/threads"},
		"asyn":                      {"/asyncio", "/threads"}, // nothing has the word: beginnings
		"asyncio nowhere":           {"/asyncio", "/threads"}, // nothing has both: any
		"lang:de straße":            {"/haus"},
		"lang:en cafe":              nil,
		"site:example.org asyncio":  nil,
		"site:docs.example run":     {"/stats", "/asyncio", "/threads"},
		"site:other.example 東京":     {"/ja"},
		"type:html baum":            {"/haus"},
		"type:text/plain baum":      nil,
		"-asyncio":                  nil,
		"":                          nil,
		"   \t ":                    nil,
		"---":                       nil,
		`"`:                         nil,
		`""`:                        nil,
		"* ( ) ^ : + {":             nil,
		"AND asyncio NOT":           {"/asyncio", "/threads"},
		`asyncio"`:                  {"/asyncio", "/threads"},
		"nothinglikethis":           nil,
	} {
		got := f.urls(q)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", q, got, want)
		}
	}
	if got := f.urls("asyncio"); got[0] != "/asyncio" {
		t.Errorf("asyncio: first is %s, want the page named so", got[0])
	}
	hits := f.search("asyncio")
	if !(hits[0].Score > hits[1].Score && hits[1].Score > 0) {
		t.Errorf("scores %v, %v: want positive, greatest first", hits[0].Score, hits[1].Score)
	}
}

func TestSnippets(t *testing.T) {
	f := newFixture(t)
	filler := strings.Repeat("<p>Nothing of interest stands in this paragraph. ", 50)
	long := page("https://a.example/long", "en", "Long", filler+"<p>Here the zebra meets a <b>giraffe</b> at dawn."+filler+"<p>zebra"+filler)
	secret := page("https://a.example/secret", "en", "Secret zebra", "<p>the hidden zebra giraffe text")
	secret.Directives = crawl.NoSnippet
	f.add(long, secret, page("https://a.example/title", "en", "Okapi", "<p>An animal. "+filler))
	for _, h := range f.search("giraffe zebra") {
		switch {
		case strings.HasSuffix(h.URL, "secret"):
			if h.Snippet != nil {
				t.Errorf("nosnippet page has a snippet: %q", *h.Snippet)
			}
		case h.Snippet == nil || !strings.Contains(*h.Snippet, "the zebra meets a giraffe at dawn"):
			t.Errorf("snippet of %s: %v", h.URL, h.Snippet)
		case len(*h.Snippet) > snippetBytes+20 || !strings.HasPrefix(*h.Snippet, "… ") || !strings.HasSuffix(*h.Snippet, " …"):
			t.Errorf("snippet %q", *h.Snippet)
		}
	}
	if n := len(f.search("giraffe zebra")); n != 2 {
		t.Errorf("%d hits, want 2", n)
	}
	if h := f.search("okapi"); len(h) != 1 || h[0].Snippet == nil || !strings.HasPrefix(*h[0].Snippet, "An animal.") {
		t.Errorf("a hit by title shows the beginning: %+v", h)
	}
	f.add(page("https://a.example/repeats", "en", "The zorilla", "<h1>The zorilla</h1><p>"+filler+"<p>A zorilla smells"))
	if h := f.search("zorilla"); len(h) != 1 || h[0].Snippet == nil || !strings.HasSuffix(*h[0].Snippet, "A zorilla smells") {
		t.Errorf("the title's own words come before others: %+v", h)
	}
	// nosnippet takes effect before the index has seen it.
	long.Visit.N, long.Directives = visits+1, crawl.NoSnippet
	if _, err := f.store.Put([]pages.Page{long}); err != nil {
		t.Fatal(err)
	}
	for _, h := range f.search("giraffe") {
		if h.Snippet != nil {
			t.Errorf("snippet after nosnippet: %q", *h.Snippet)
		}
	}
}

func TestRemovedPagesAreNotShown(t *testing.T) {
	f := newFixture(t)
	p := page("https://a.example/", "en", "Quagga", "<p>quagga")
	f.add(p, page("https://b.example/", "en", "Quagga", "<p>quagga"))
	p.Visit.N, p.Directives, p.Body = visits+1, crawl.NoIndex, nil
	if _, err := f.store.Put([]pages.Page{p}); err != nil {
		t.Fatal(err)
	}
	if n := len(f.search("quagga")); n != 1 {
		t.Errorf("%d hits before the index follows, want 1", n)
	}
	f.follow()
	if n := len(f.search("quagga")); n != 1 {
		t.Errorf("%d hits, want 1", n)
	}
	var rows int
	f.w.QueryRow("SELECT count(*) FROM docs").Scan(&rows)
	if rows != 1 {
		t.Errorf("%d rows, want 1", rows)
	}
	if got := len(*f.langs.Load()); got != 1 {
		t.Errorf("%d languages", got)
	}
}

func TestUnavailableAfter(t *testing.T) {
	f := newFixture(t)
	p := page("https://a.example/", "en", "Dodo", "<p>dodo")
	p.UnavailableAfter = f.now.Add(time.Hour)
	past := page("https://a.example/past", "en", "Dodo", "<p>dodo")
	past.UnavailableAfter = f.now.Add(-time.Hour)
	f.add(p, past)
	if got := f.urls("dodo"); len(got) != 1 || got[0] != "/" {
		t.Errorf("hits %v, want /", got)
	}
	f.now = f.now.Add(time.Hour)
	if got := f.urls("dodo"); len(got) != 0 {
		t.Errorf("hits %v after the date", got)
	}
	f.store.Expire(f.now, 100)
	f.follow()
	var rows int
	f.w.QueryRow("SELECT count(*) FROM docs").Scan(&rows)
	if rows != 0 {
		t.Errorf("%d rows after Expire", rows)
	}
}

func TestChangedPageReplaces(t *testing.T) {
	f := newFixture(t)
	p := page("https://a.example/", "en", "Old", "<p>tapir")
	f.add(p)
	f.add(page("https://a.example/", "de", "Neu", "<p>Nashorn"))
	if got := f.urls("tapir"); got != nil {
		t.Errorf("old words find %v", got)
	}
	if got := f.urls("nashorn"); len(got) != 1 {
		t.Errorf("new words find %v", got)
	}
	if l := *f.langs.Load(); !slices.Equal(l, []string{"de"}) {
		t.Errorf("languages %v", l)
	}
}

// dump is what an index answers to many queries: equal dumps, equal indexes.
func (f *fixture) dump() map[string][]crawl.Hit {
	out := make(map[string][]crawl.Hit)
	for i := range 40 {
		q := fmt.Sprintf("word%d", i)
		out[q] = f.search(q)
	}
	return out
}

// However pages come and go and the index lags, is stopped or lost: once it has caught up it
// answers as one made anew.
func TestFollowsLikeAFreshOne(t *testing.T) {
	f := newFixture(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		var batch []pages.Page
		for range rng.IntN(12) {
			u := fmt.Sprintf("https://h.example/%d", rng.IntN(30))
			var body strings.Builder
			for range 20 {
				fmt.Fprintf(&body, "word%d ", rng.IntN(40))
			}
			p := page(u, "en", fmt.Sprintf("word%d", rng.IntN(40)), body.String())
			if rng.IntN(5) == 0 {
				p.Deleted = crawl.ReasonHTTP4xx
			}
			batch = append(batch, p)
		}
		if _, err := f.store.Put(batch); err != nil {
			t.Fatal(err)
		}
		switch rng.IntN(4) {
		case 0:
			f.follow()
		case 1:
			f.reopen()
		}
	}
	f.follow()
	followed := f.dump()
	f.Close()
	f.Index = nil
	if err := Remove(f.path()); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if f.Behind() == 0 {
		t.Error("a lost index is not behind")
	}
	f.follow()
	fresh := f.dump()
	for q, hits := range fresh {
		got := followed[q]
		for _, h := range [][]crawl.Hit{hits, got} {
			for i := range h {
				h[i].Score = float64(int64(h[i].Score*1e6)) / 1e6
			}
		}
		if !reflect.DeepEqual(got, hits) {
			t.Errorf("%s:\nfollowed %+v\n   fresh %+v", q, got, hits)
		}
	}
}

func TestStaleFilesAreFilledAgain(t *testing.T) {
	for name, damage := range map[string]func(path string){
		"garbage": func(p string) { os.WriteFile(p, []byte(strings.Repeat("garbage ", 4096)), 0o644) },
		"cut":     func(p string) { os.Truncate(p, 1000) },
		"empty":   func(p string) { os.Truncate(p, 0) },
		"format": func(p string) {
			db, _ := openWriter(p)
			db.Exec("UPDATE about SET value = 'old' WHERE key = 'format'")
			db.Close()
		},
		"store": func(p string) {
			db, _ := openWriter(p)
			db.Exec("UPDATE about SET value = 'other' WHERE key = 'store'")
			db.Close()
		},
		"ahead": func(p string) {
			db, _ := openWriter(p)
			db.Exec("UPDATE about SET value = '999' WHERE key = 'cursor'")
			db.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.add(page("https://a.example/", "en", "Kiwi", "<p>kiwi"))
			f.Close()
			damage(f.path())
			ro, err := OpenReadOnly(f.path(), f.store, Options{})
			if err != nil {
				t.Fatal(err)
			}
			a, err := ro.Search(context.Background(), "kiwi", 1)
			if broken := name == "garbage" || name == "cut"; broken && (err == nil || !strings.Contains(err.Error(), "curtsy reindex --dir "+filepath.Dir(f.path()))) {
				t.Errorf("no advice: %v", err)
			} else if !broken && err != nil || len(a.Hits) != 0 || a.Behind != 1 {
				t.Errorf("read-only on a useless file: %+v, %v; want no hits, behind 1", a, err)
			}
			ro.Close()
			f.Index = nil
			f.reopen()
			f.follow()
			if n := len(f.search("kiwi")); n != 1 {
				t.Errorf("%d hits after filling again", n)
			}
		})
	}
}

// A killed process leaves file and log as they are. They must be readable where they lie, in a
// folder nobody may write, and by the next writer.
func TestReadAfterKill(t *testing.T) {
	f := newFixture(t)
	f.add(page("https://a.example/", "en", "Emu", "<p>emu"))
	left := t.TempDir()
	for _, suffix := range []string{"", "-wal"} { // while it is open: what a kill leaves
		copyTestFile(t, f.path()+suffix, filepath.Join(left, "search-0.db"+suffix))
	}
	if info, err := os.Stat(filepath.Join(left, "search-0.db-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("no log to recover: %v", err)
	}
	check := func(how string) {
		t.Helper()
		x, err := OpenReadOnly(filepath.Join(left, "search-0.db"), f.store, Options{})
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		defer x.Close()
		a, err := x.Search(context.Background(), "emu", 1)
		if err != nil || len(a.Hits) != 1 || a.Behind != 0 {
			t.Errorf("%s: %+v, %v", how, a, err)
		}
	}
	check("as left")
	check("again")
	os.Chmod(left, 0o555)
	check("in a read-only folder")
	os.Chmod(left, 0o755)
	// Nothing stops root from writing there, so stop the file SQLite wants to make beside its
	// log in another way.
	os.Remove(filepath.Join(left, "search-0.db-shm"))
	os.Mkdir(filepath.Join(left, "search-0.db-shm"), 0o755)
	check("where SQLite cannot make its files")
	os.Remove(filepath.Join(left, "search-0.db-shm"))
	x, err := Open(filepath.Join(left, "search-0.db"), f.store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if a, err := x.Search(context.Background(), "emu", 1); err != nil || len(a.Hits) != 1 {
		t.Errorf("by the next writer: %+v, %v", a, err)
	}
}

func copyTestFile(t *testing.T, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b, err := io.ReadAll(src)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAwkwardPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%20e")
	os.Mkdir(dir, 0o755)
	store, err := pages.Open(filepath.Join(dir, "pages-0.db"), pages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	x, err := Open(filepath.Join(dir, "search-0.db"), store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := os.Stat(filepath.Join(dir, "search-0.db")); err != nil {
		t.Error(err)
	}
}

func TestRunFollowsAndStops(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	if _, err := f.store.Put([]pages.Page{page("https://a.example/", "en", "Ibis", "<p>ibis")}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); f.Behind() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the index does not follow")
		}
	}
	if n := len(f.search("ibis")); n != 1 {
		t.Errorf("%d hits", n)
	}
	start := time.Now()
	cancel()
	if err := <-done; err != nil || time.Since(start) > 30*time.Second {
		t.Errorf("Run = %v after %v", err, time.Since(start))
	}
}

func TestMerge(t *testing.T) {
	hit := func(u string, s float64) crawl.Hit { return crawl.Hit{URL: u, Score: s} }
	got := Merge([]crawl.SearchAnswer{{Hits: []crawl.Hit{hit("a", 3), hit("b", 1)}}, {Hits: []crawl.Hit{hit("c", 2), hit("a", 3)}}, {}}, 2)
	if len(got) != 2 || got[0].URL != "a" || got[1].URL != "c" {
		t.Errorf("Merge = %+v", got)
	}
	if got := Merge(nil, 5); got == nil || len(got) != 0 {
		t.Errorf("Merge(nil) = %#v, want an empty list", got)
	}
}

// A page that says what it is about half in its title and half in its address is about that.
func TestTitleAndPathTogether(t *testing.T) {
	f := newFixture(t)
	f.add(page("http://a.example/library/asyncio-policy.html", "en", "Policies", "asyncio event loop, an event loop policy, the asyncio event loop"),
		page("http://a.example/library/asyncio-eventloop.html", "en", "Event Loop", "Creating and running it. See also the asyncio event loop reference; it is long. "+strings.Repeat("Callbacks and futures are scheduled there. ", 20)))
	a, err := f.Search(t.Context(), "asyncio event loop", 5)
	if err != nil || len(a.Hits) != 2 || a.Hits[0].URL != "http://a.example/library/asyncio-eventloop.html" {
		t.Errorf("hits %+v (%v), want the event loop's own page first", a.Hits, err)
	}
}
