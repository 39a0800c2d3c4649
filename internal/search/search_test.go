package search

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

var visits uint64

// page makes a page of a visit that is newer than all before.
func page(u, lang, title, body string) pages.Page {
	visits++
	html := []byte("<html lang=" + lang + "><title>" + title + "</title><body>" + body)
	p := pages.Page{Title: title, Lang: lang}
	p.URL, p.Visit = canon.URL(u), crawl.VisitID{Epoch: 1, N: visits}
	p.Status, p.ContentType, p.Charset, p.Size, p.SHA256 = 200, "text/html", "utf-8", int64(len(html)), sha256.Sum256(html)
	p.Body = html
	return p
}

// fixture is a store and its index in a temporary folder of the test.
type fixture struct {
	*Index
	t     testing.TB
	store *pages.Store
	dir   string
	now   time.Time
	log   *slog.Logger
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureIn(t, t.TempDir())
}

func newFixtureIn(t testing.TB, dir string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: dir, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
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
	if f.Index, err = Open(f.path(), f.store, Options{Now: func() time.Time { return f.now }, Log: f.log}); err != nil {
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
	return ask(f.t, crawl.SearchRequest{Query: q}, f.Index).Hits
}

// local are shards that are asked directly, without a network.
type local []*Index

func each[T any](l local, ask func(*Index) ([]T, error)) (all []T, err error) {
	for _, x := range l {
		// The JSON of a plan has all that the plan has.
		part, e := ask(x)
		raw, e2 := json.Marshal(part)
		var back []T
		if err = errors.Join(err, e, e2, json.Unmarshal(raw, &back)); err != nil {
			return all, err
		}
		all = append(all, back...)
	}
	return all, nil
}

func single[T any](v T, err error) ([]T, error) { return []T{v}, err }

func sent(p *Plan) *Plan {
	raw, err := json.Marshal(p)
	var back Plan
	if err = errors.Join(err, json.Unmarshal(raw, &back)); err != nil {
		panic(err)
	}
	return &back
}

func (l local) Terms(ctx context.Context, p *Plan) ([]Terms, error) {
	return each(l, func(x *Index) ([]Terms, error) { return single(x.Terms(ctx, sent(p))) })
}

func (l local) Similar(ctx context.Context, words []string) ([]Similar, error) {
	return each(l, func(x *Index) ([]Similar, error) { return x.Similar(ctx, words) })
}

func (l local) Words(ctx context.Context, url string) ([]PageWords, error) {
	return each(l, func(x *Index) ([]PageWords, error) { return x.Words(ctx, url) })
}

func (l local) Rank(ctx context.Context, p *Plan, o RankOptions) ([]Ranked, error) {
	return each(l, func(x *Index) ([]Ranked, error) { return single(x.Rank(ctx, sent(p), o)) })
}

func (l local) Show(ctx context.Context, p *Plan, urls []string) ([]crawl.Hit, error) {
	return each(l, func(x *Index) ([]crawl.Hit, error) { return x.Show(ctx, sent(p), urls) })
}

// ask asks several indexes together.
func ask(t testing.TB, r crawl.SearchRequest, all ...*Index) crawl.SearchAnswer {
	t.Helper()
	a, err := Run(t.Context(), r, fieldsOfTests, nil, local(all))
	if err != nil {
		t.Fatalf("search %q: %v", r.Query, err)
	}
	return a
}

// urls returns the paths of the hits, best first.
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
		`"running loop"`:            nil, // in quotes, words are not reduced to their stems
		`"running loops"`:           {"/asyncio"},
		"pg_stat_activity":          {"/stats"},
		"activity":                  {"/stats"},
		"stat":                      {"/stats"},
		`"pg_stat_activity to see"`: {"/stats"},
		"stat_pg":                   {"/stats"}, // not in this order: any of its words
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
		// No page has the word, so it is taken as the beginning of words
		"asyn": {"/asyncio", "/threads"},
		// No page has both words, so one is enough
		"asyncio nowhere":          {"/asyncio", "/threads"},
		"lang:de straße":           {"/haus"},
		"lang:en cafe":             nil,
		"site:example.org asyncio": nil,
		"site:docs.example run":    {"/stats", "/asyncio", "/threads"},
		"site:other.example 東京":    {"/ja"},
		"type:html baum":           {"/haus"},
		"type:text/plain baum":     nil,
		// Only an excluded word: it is searched for itself
		"-asyncio":        {"/asyncio", "/threads"},
		"":                nil,
		"   \t ":          nil,
		"---":             nil,
		`"`:               nil,
		`""`:              nil,
		"* ( ) ^ : + {":   nil,
		"AND asyncio NOT": {"/asyncio", "/threads"},
		`asyncio"`:        {"/asyncio", "/threads"},
		"nothinglikethis": nil,
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
	// nosnippet takes effect before the index has read it.
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
	if n := f.live(); n != 1 {
		t.Errorf("%d pages in the index, want 1", n)
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
	if n := f.live(); n != 0 {
		t.Errorf("%d pages in the index after Expire", n)
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
	if n := f.live(); n != 1 {
		t.Errorf("%d pages in the index, want 1", n)
	}
}

// dump returns the answers of an index to many queries; equal indexes have equal dumps.
func (f *fixture) dump() map[string][]crawl.Hit {
	out := make(map[string][]crawl.Hit)
	for i := range 40 {
		q := fmt.Sprintf("word%d", i)
		out[q] = f.search(q)
	}
	return out
}

// Pages are added and deleted, and the index lags, is stopped or is lost: once it has caught up, it
// gives the same answers as a new one.
func TestFollowedIndexEqualsNewOne(t *testing.T) {
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
			tamper(t, p, keyFormat, []byte("old"))
		},
		"store": func(p string) {
			tamper(t, p, keyStore, []byte("other"))
		},
		"ahead": func(p string) {
			tamper(t, p, keyCursor, []byte{0, 0, 0, 0, 0, 0, 3, 231})
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
			a, err := Run(t.Context(), crawl.SearchRequest{Query: "kiwi"}, nil, nil, local{ro})
			damaged := name == "garbage" || name == "cut" || name == "empty"
			if damaged && (err == nil || !strings.Contains(err.Error(), "curtsy reindex --dir "+filepath.Dir(f.path()))) {
				t.Errorf("no advice: %v", err)
			} else if !damaged && (err != nil || a.Behind != 1) || len(a.Hits) != 0 {
				t.Errorf("read-only on a useless file: %+v, %v; want no hits, behind 1", a, err)
			}
			ro.Close()
			f.Index = nil
			var log strings.Builder
			f.log = slog.New(slog.NewTextHandler(&log, nil))
			f.reopen()
			f.follow()
			if n := len(f.search("kiwi")); n != 1 {
				t.Errorf("%d hits after filling again", n)
			}
			level := "level=INFO"
			if damaged {
				level = "level=WARN"
			}
			if text := log.String(); !strings.Contains(text, level) || !strings.Contains(text, "rebuilding it from the page store") || !strings.Contains(text, f.path()) {
				t.Errorf("the log is %q", text)
			}
		})
	}
}

// A file that was left by a killed process can be read where it is, and by the next writer.
func TestReadAfterKill(t *testing.T) {
	f := newFixture(t)
	f.add(page("https://a.example/", "en", "Emu", "<p>emu"))
	left := filepath.Join(t.TempDir(), "search-0.db")
	raw, err := os.ReadFile(f.path()) // while it is open: what a kill leaves
	if err == nil {
		err = os.WriteFile(left, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		x, err := OpenReadOnly(left, f.store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if a := ask(t, crawl.SearchRequest{Query: "emu"}, x); len(a.Hits) != 1 || a.Behind != 0 {
			t.Errorf("%+v", a)
		}
		x.Close()
	}
	x, err := Open(left, f.store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if a := ask(t, crawl.SearchRequest{Query: "emu"}, x); len(a.Hits) != 1 {
		t.Errorf("by the next writer: %+v", a)
	}
}

// tamper changes the metadata of a closed file.
func tamper(t *testing.T, path string, key, value []byte) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketAbout).Put(key, value) }); err != nil {
		t.Fatal(err)
	}
}

// live returns how many pages the index has.
func (f *fixture) live() (n uint64) {
	f.t.Helper()
	terms, err := f.Terms(f.t.Context(), &Plan{})
	if err != nil {
		f.t.Fatal(err)
	}
	return terms.Stats.Pages
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
	synctest.Test(t, func(t *testing.T) {
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
	})
}

// A page whose title has half of the query and whose address has the other half is about the query.
func TestTitleAndPathTogether(t *testing.T) {
	f := newFixture(t)
	f.add(page("http://a.example/library/asyncio-policy.html", "en", "Policies", "asyncio event loop, an event loop policy, the asyncio event loop"),
		page("http://a.example/library/asyncio-eventloop.html", "en", "Event Loop", "Creating and running it. See also the asyncio event loop reference; it is long. "+strings.Repeat("Callbacks and futures are scheduled there. ", 20)))
	hits := f.search("asyncio event loop")
	if len(hits) != 2 || hits[0].URL != "http://a.example/library/asyncio-eventloop.html" {
		t.Errorf("hits %+v, want the event loop's own page first", hits)
	}
}
