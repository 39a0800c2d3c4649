//go:build external

package deploytest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/internal/web/search"
)

// browser is a Chromium with one open page.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// What the page did that it must not do: violations of its policy, errors. Guarded by mu.
	wrong []string
}

// browsers is locked by the test that uses browsers now. Browsers need the CPU while other tests
// wait: several at once would starve the daemons that other tests observe.
var browsers sync.Mutex

// browsing waits until no other test uses a browser.
func browsing(t *testing.T) {
	browsers.Lock()
	t.Cleanup(browsers.Unlock)
}

// startBrowser starts a Chromium of a width, in a test that has called browsing.
func startBrowser(t *testing.T, width int64, scripts bool) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: apt-get install chromium")
	}
	// Only loopback can be reached, whatever a page requests.
	ctx, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	ctx, closePage := chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		closePage()
		stop()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range b.wrong {
			t.Error("in the browser: ", w)
		}
	})
	err = chromedp.Listen(ctx, func(e any) {
		switch e := e.(type) {
		case *log.EventEntryAdded:
			// The browser requests an icon by itself.
			if e.Entry.Level != log.EntryLevelVerbose && !strings.Contains(e.Entry.URL+e.Entry.Text, "favicon.ico") {
				b.note(e.Entry.Text + " " + e.Entry.URL)
			}
		case *runtime.EventExceptionThrown:
			b.note("an exception: " + e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.note("console." + string(e.Type))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var view []chromedp.EmulateViewportOption
	if width < 600 {
		view = append(view, chromedp.EmulateMobile)
	}
	b.do(chromedp.EmulateViewport(width, 800, view...))
	call(b, log.Enable, struct{}{})
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
	return b
}

// call makes the browser carry out a command of its protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// scheme makes the page light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

func (b *browser) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, s)
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// get returns the result of an action.
func get[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// text returns the text of the first element that a selector finds.
func (b *browser) text(selector chromedp.CSS) string {
	b.t.Helper()
	return get(b, chromedp.Text(selector))
}

// eval runs a script on the page and returns its result. It also works while scripts of the page
// are off.
func eval[T any](b *browser, js string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](js))
}

// follow clicks and waits for the next page.
func (b *browser) follow(selector chromedp.CSS) {
	b.t.Helper()
	if _, err := chromedp.RunResponse(b.ctx, chromedp.Click(selector)); err != nil {
		b.t.Fatalf("click %s: %v", selector, err)
	}
}

// open opens an address.
func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
}

// fits fails if something is wider than the window.
func (b *browser) fits(what string) {
	b.t.Helper()
	if wide := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		b.t.Errorf("%s can be scrolled sideways by %d pixels; too wide: %s", what, wide, eval[string](b,
			`[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + '.' + e.className).slice(0, 9).join(' ')`))
	}
}

// keep writes a picture of the page to the folder CURTSY_PICTURES, for people to look at.
func (b *browser) keep(name string) {
	dir := os.Getenv("CURTSY_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), get(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// TestExternalSearchPage checks the search page in a real browser: with a finished real crawl, and
// with made-up answers that have everything that an answer can have.
func TestExternalSearchPage(t *testing.T) {
	t.Parallel()
	browsing(t)
	t.Run("Crawl", searchCrawl)
	for _, width := range []int64{1200, 360} {
		t.Run(fmt.Sprint(width), func(t *testing.T) { searchAnswers(t, width) })
	}
	t.Run("Pictures", answerPictures)
}

// searchCrawl crawls a small web and searches it, without scripts.
func searchCrawl(t *testing.T) {
	web, err := simweb.Start(simweb.Config{Hosts: 3, PagesPerHost: 12, Mix: func(int) simweb.Behavior { return simweb.Behavior{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "data")
	run(t, program(t, "curtsy"), "crawl", "--dir", dir, "--listen", "off", "--allow-private", "--delay", "0s", "--resolve", web.Resolve(), web.Seeds()[0])
	p := start(t, "curtsy serve", "curtsy", "serve", "--dir", dir, "--listen", "127.0.0.1:0")
	var url string
	testaid.Until(t, "curtsy serve writes where", func() bool {
		text, _ := os.ReadFile(p.log)
		if _, after, ok := strings.Cut(string(text), "search: "); ok && strings.Contains(after, "\n") {
			url, _, _ = strings.Cut(after, "\n")
		} else if p.over() {
			t.Fatalf("curtsy serve ended: %s", text)
		}
		return url != ""
	})
	b := startBrowser(t, 360, false)
	b.open(url)
	b.fits("the empty page")
	b.do(chromedp.SendKeys(chromedp.CSS("#q"), "quiet"))
	b.follow("button")
	if got := b.text("main"); !strings.Contains(got, "h000") || !strings.Contains(got, "pages") {
		t.Fatalf("searched for quiet: %s", got)
	}
	b.fits("the answer")
	b.keep("crawl")
	first := b.text(".hits a")
	b.follow(`a[rel="next"]`)
	if again := b.text(".hits a"); again == first || eval[int](b, `document.querySelector('.hits').start`) != 11 {
		t.Errorf("the second page begins with %q as the first, or does not count on", again)
	}
	b.follow(`a[rel="prev"]`)
	if again := b.text(".hits a"); again != first {
		t.Errorf("back on the first page is %q, was %q", again, first)
	}
	b.open(url + "?q=qqqqqq")
	if got := b.text("main"); !strings.Contains(got, "Nothing found") {
		t.Errorf("searched for what is nowhere: %s", got)
	}
}

const hostile = `</title></h2><script>document.title='taken'</script><img src=x onerror="document.title='taken'"> ` + "\u202eexe.gnp\x1b[31m"

// madeUp returns answers with everything that an answer can have; with the filter for German it
// returns one hit.
type madeUp struct{}

func (madeUp) Page(context.Context, string, string) (rec crawl.PageRecord, found bool, err error) {
	return rec, false, nil
}

func (madeUp) Search(_ context.Context, r crawl.SearchRequest) (a crawl.SearchAnswer, err error) {
	snippet := "The quiet harbor; " + hostile + strings.Repeat("long", 60)
	a.Total, a.Behind, a.Loosened, a.Suggestion = 43, 2, "No page has all the words.", "quiet harbour"
	a.Facets = map[string][]crawl.FacetValue{
		"site": {{Value: "www.a-rather-long-name-of-a-host.example", Count: 40}, {Value: "b.example", Count: 3}, {Value: hostile, Count: 1}},
		"lang": {{Value: "en", Count: 42}, {Value: "de", Count: 1}}, "type": {{Value: "text/html", Count: 43}}, "year": {{Value: "2024", Count: 20}, {Value: "2019", Count: 3}},
	}
	if len(query.Parse(r.Query).Filters.Langs) > 0 {
		a.Total = 1
	}
	for i := r.Offset; i < min(r.Offset+r.Limit, int(a.Total)); i++ {
		h := crawl.Hit{URL: fmt.Sprintf("https://www.a.example/%d/%s", i, strings.Repeat("x", 80)), Title: fmt.Sprintf("Page %d ", i) + hostile, Snippet: &snippet,
			Marks: [][2]int{{4, 9}, {10, 16}}, Lang: "en", Type: "text/html", Size: 18 << 10, Score: 7, Also: []string{"https://mirror.example/" + strings.Repeat("y", 80), "javascript:document.title='taken'"},
			Date: crawl.Date{Time: time.Date(2024, 5, 3, 0, 0, 0, 0, time.UTC)}}
		if i == 0 {
			h.Section = &crawl.Section{Title: "Pilots " + hostile, URL: h.URL + "#pilots"}
			h.Translations = []crawl.Translation{{Lang: "de", URL: h.URL + "/de"}, {Lang: "fr", URL: h.URL + "/fr"}}
		}
		if i == 1 {
			h.URL = "javascript:document.title='taken'"
		}
		if r.Explain {
			h.Signals = []crawl.Signal{{Name: "words in the title", Value: 2, Weight: 3.5, Points: 7}}
		}
		a.Hits = append(a.Hits, h)
	}
	return a, nil
}

// Suggest suggests a query, and two pages: one of this server's test, one that leads nowhere.
func (madeUp) Suggest(_ context.Context, r crawl.SuggestRequest) (crawl.SuggestAnswer, error) {
	return crawl.SuggestAnswer{
		Queries: []string{r.Typed + "bor", r.Typed + "vest"},
		Pages:   []crawl.SuggestedPage{{Title: "Harbors " + hostile, URL: "http://127.0.0.1/harbors"}, {Title: "Nowhere", URL: "javascript:document.title='taken'"}},
	}, nil
}

// Fields: the crawl has no site rules.
func (madeUp) Fields(context.Context) (query.Schema, error) { return nil, nil }

// pilots answers as a crawl of manuals would, for pictures: with a corrected word, a section,
// translations and other addresses.
type pilots struct{ madeUp }

func (pilots) Search(context.Context, crawl.SearchRequest) (a crawl.SearchAnswer, err error) {
	a.Total, a.Corrected = 3, "harbour lights"
	a.Facets = map[string][]crawl.FacetValue{"site": {{Value: "docs.example.org", Count: 2}, {Value: "pilots.example", Count: 1}}, "lang": {{Value: "en", Count: 2}, {Value: "de", Count: 1}}, "year": {{Value: "2026", Count: 3}}}
	for i, h := range []crawl.Hit{
		{URL: "https://docs.example.org/16/night", Title: "Entering a harbour at night", Lang: "en", Section: &crawl.Section{Title: "Leading lights", URL: "https://docs.example.org/16/night#leading"},
			Translations: []crawl.Translation{{Lang: "de", URL: "https://docs.example.org/de/night"}, {Lang: "fr", URL: "https://docs.example.org/fr/night"}},
			Also:         []string{"https://docs.example.org/15/night", "https://mirror.example/16/night"}},
		{URL: "https://docs.example.org/16/lights", Title: "Harbour lights", Lang: "en", Translations: []crawl.Translation{{Lang: "cs", URL: "https://docs.example.org/cs/lights"}}},
		{URL: "https://pilots.example/handbuch/lichter", Title: "Lichter eines Hafens", Lang: "de", Section: &crawl.Section{Title: "Leitfeuer", URL: "https://pilots.example/handbuch/lichter#leitfeuer"}},
	} {
		snippet := "The lights of a harbour are red to port and green to starboard. Two leading lights above each other show the way through the channel."
		h.Marks = [][2]int{{4, 10}, {16, 23}, {76, 82}}
		if h.Lang == "de" {
			snippet, h.Marks = "Die Lichter eines Hafens sind an Backbord rot und an Steuerbord grün.", [][2]int{{4, 11}, {18, 24}}
		}
		h.Snippet, h.Type, h.Size, h.Date = &snippet, "text/html", int64(18+i)<<10, crawl.Date{Time: time.Date(2026, 5, 3+i, 0, 0, 0, 0, time.UTC)}
		a.Hits = append(a.Hits, h)
	}
	return a, nil
}

// answerPictures makes the pictures of an answer in docs/img.
func answerPictures(t *testing.T) {
	srv := httptest.NewServer(search.New(search.Options{Crawl: pilots{}, Name: "manuals"}))
	defer srv.Close()
	for _, width := range []int64{1280, 800, 360} {
		b := startBrowser(t, width, false)
		what := fmt.Sprintf("the answer, %d px", width)
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.open(srv.URL + "/search?q=harbor+lihgts")
			b.fits(what)
			b.contrast(what + ", " + scheme)
			b.shot(fmt.Sprintf("answer-%d-%s", width, scheme), 1200)
		}
		if got := b.text("main"); !strings.Contains(got, "Showing results for harbour lights") || !strings.Contains(got, "Leading lights") || !strings.Contains(got, "Also in: Deutsch") {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// searchAnswers checks answers that have everything, some of it hostile.
func searchAnswers(t *testing.T, width int64) {
	srv := httptest.NewServer(search.New(search.Options{Crawl: madeUp{}, Name: "manuals", Home: "/"}))
	defer srv.Close()
	b := startBrowser(t, width, true)
	b.open(srv.URL + "/search?q=" + "quiet+harbor")
	b.fits("the answer")
	b.keep(fmt.Sprintf("answer-%d", width))
	// Hostile markup is shown as text, and no script has run: the page itself has none.
	if title := eval[string](b, `document.title`); title != "quiet harbor – Search manuals" {
		t.Errorf("the page is called %q", title)
	}
	if n := eval[int](b, `document.querySelectorAll('main script, main img, script').length`); n != 0 {
		t.Errorf("%d elements come from a title", n)
	}
	if got := b.text(".hits h2"); !strings.Contains(got, "<script>document.title='taken'</script>") || strings.ContainsAny(got, "\u202e\x1b") {
		t.Errorf("a title is shown as %q", got)
	}
	if links := eval[int](b, `[...document.querySelectorAll('a')].filter(a => !['http:', 'https:'].includes(a.protocol)).length`); links != 0 {
		t.Errorf("%d links lead elsewhere than to a web", links)
	}
	if bare := eval[int](b, `[...document.querySelectorAll('main a[href^="https:"]')].filter(a => a.relList.value !== 'noreferrer noopener').length`); bare != 0 {
		t.Errorf("%d links tell where they were followed", bare)
	}
	if marks := eval[string](b, `[...document.querySelectorAll('.hits li:first-child mark')].map(m => m.textContent).join(',')`); marks != "quiet,harbor" {
		t.Errorf("marked: %q", marks)
	}
	// Sizes for fingers, and a name for everything.
	if small := eval[string](b, `[...document.querySelectorAll('button, input, nav a, .hits h2 a, aside a, .chips a')].filter(e => e.getBoundingClientRect().height < 24).map(e => e.outerHTML.slice(0, 80)).join(' ')`); small != "" {
		t.Errorf("too small for a finger: %s", small)
	}
	if n := eval[int](b, `document.querySelectorAll('main, form[role=search], nav, aside, footer, h1').length`); n != 6 {
		t.Errorf("%d landmarks", n)
	}
	if got := eval[string](b, `document.querySelector('#q').labels[0].textContent`); got != "Search words" {
		t.Errorf("the box is labelled %q", got)
	}
	b.scheme("light")
	b.contrast("light")
	b.scheme("dark")
	b.contrast("dark")
	b.keep(fmt.Sprintf("dark-%d", width))
	b.scheme("light")
	// Facets add filters, which can be removed again.
	b.follow(`aside a[href*="lang%3Ade"]`)
	if got := b.text(".sum"); !strings.HasPrefix(got, "1 page") {
		t.Errorf("narrowed: %s", got)
	}
	if got := eval[string](b, `document.querySelector('#q').value`); got != "quiet harbor lang:de" {
		t.Errorf("the box has %q", got)
	}
	b.fits("the narrowed answer")
	b.follow(`.chips a`)
	if got := b.text(".sum"); !strings.HasPrefix(got, "43 pages") {
		t.Errorf("no longer narrowed: %s", got)
	}
	b.follow(`a[rel="next"]`)
	if got := b.text(".hits h2"); !strings.HasPrefix(got, "Page 10 ") {
		t.Errorf("the second page begins with %q", got)
	}
	b.follow(`.mean a`)
	if got := eval[string](b, `document.querySelector('#q').value`); got != "quiet harbour" {
		t.Errorf("what was meant is %q", got)
	}
	b.do(chromedp.Click(chromedp.CSS(".help summary")), chromedp.Click(chromedp.CSS(".also summary")))
	if got := b.text(".help"); !strings.Contains(got, "site:example.org") {
		t.Errorf("the help is %s", got)
	}
	b.fits("the answer with help")
	b.keep(fmt.Sprintf("help-%d", width))
	b.follow(`footer a[href*="explain"]`)
	b.do(chromedp.Click(chromedp.CSS(".why summary")))
	b.fits("the answer with reasons")
	b.keep(fmt.Sprintf("why-%d", width))
	b.open(srv.URL + "/search?q=" + strings.Repeat("%3Cb%3E", 700))
	if got := b.text(".problem"); !strings.Contains(got, "2048") {
		t.Errorf("too long a query: %s", got)
	}
	b.fits("the refusal")
	b.mu.Lock() // the status of the refusal is in the log, as it must be
	b.wrong = slices.DeleteFunc(b.wrong, func(s string) bool { return strings.Contains(s, "400 (Bad Request)") })
	b.mu.Unlock()
}
