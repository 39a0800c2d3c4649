//go:build external

package deploytest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/internal/web/search"
)

// TestExternalSearchBox uses the search box on a page of another origin, as a person with a
// keyboard does.
func TestExternalSearchBox(t *testing.T) {
	t.Parallel()
	browsing(t)
	for _, width := range []int64{1000, 360} {
		t.Run(fmt.Sprint(width), func(t *testing.T) { searchBox(t, width) })
	}
	t.Run("Stranger", strangersBox)
	t.Run("Frequent", frequentBox)
	t.Run("Pictures", boxPictures)
}

// harbours answers as a manual of a harbour would, for pictures.
type harbours struct{ madeUp }

func (harbours) Suggest(context.Context, crawl.SuggestRequest) (crawl.SuggestAnswer, error) {
	return crawl.SuggestAnswer{
		Queries: []string{"harbour dues", "harbour master", "harbour lights"},
		Pages:   []crawl.SuggestedPage{{Title: "Harbours of the north coast", URL: "https://docs.example.org/north"}, {Title: "Entering a harbour at night", URL: "https://docs.example.org/night"}},
	}, nil
}

func (harbours) Search(context.Context, crawl.SearchRequest) (a crawl.SearchAnswer, err error) {
	a.Total = 2
	for i, title := range []string{"Entering a harbour at night", "Harbour lights"} {
		snippet := "The lights of a harbour are red to port and green to starboard."
		a.Hits = append(a.Hits, crawl.Hit{URL: fmt.Sprintf("https://docs.example.org/%d", i), Title: title, Snippet: &snippet, Marks: [][2]int{{4, 10}, {16, 23}}})
	}
	a.Hits[0].Section = &crawl.Section{Title: "Leading lights", URL: "https://docs.example.org/0#leading"}
	return a, nil
}

// boxPictures makes the pictures of docs/img, light and dark.
func boxPictures(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	base := "http://" + srv.Listener.Addr().String()
	site := boxPage(t, base)
	srv.Config.Handler = search.New(search.Options{Crawl: harbours{}, Origins: []string{site.URL}})
	srv.Start()
	defer srv.Close()
	b := startBrowser(t, 800, true)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.open(site.URL)
		b.until("the box is there", `!!document.querySelector('[data-curtsy-search]').shadowRoot`)
		eval[bool](b, inBox("input")+`.focus() || true`)
		b.do(chromedp.KeyEvent("harbour"))
		b.until("suggestions appear", `!`+inBox("#list")+`.hidden`)
		b.shot("search-box-suggestions-"+scheme, 420)
		b.do(chromedp.KeyEvent(" lights"), chromedp.KeyEvent(kb.Enter))
		b.until("results appear", `!`+inBox(".panel")+`.hidden`)
		b.shot("search-box-results-"+scheme, 460)
	}
}

// boxPage is a page of another origin with the search box of a server. Its policy is that of
// docs/guides/search.md.
func boxPage(t *testing.T, base string) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		filter := ""
		if r.URL.RawQuery == "filter" {
			filter = ` data-filter="site:docs.example.org"`
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src "+base+"; connect-src "+base)
		fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>A manual</title><h1>A manual</h1><p>Its own text.</p>
<div data-curtsy-search="%s"%s data-placeholder="Search the manual"></div><script src="%s/search-box.js" defer></script>`, base, filter, base)
	}))
	t.Cleanup(site.Close)
	return site
}

// often has frequent queries, one of a box that adds a filter.
type often struct{}

func (often) Asked(string, int64, bool)  {}
func (often) Opened(string, string, int) {}
func (often) Completions(typed string, _ int) []string {
	return []string{typed + "bor dues", typed + "vest site:docs.example.org", "harbour site:b.example"}
}

// frequentBox: frequent queries come first, without the filter that the box adds to each query and
// none of them twice.
func frequentBox(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	base := "http://" + srv.Listener.Addr().String()
	site := boxPage(t, base)
	srv.Config.Handler = search.New(search.Options{Crawl: madeUp{}, Origins: []string{site.URL}, Recorder: often{}})
	srv.Start()
	defer srv.Close()
	b := startBrowser(t, 800, true)
	b.open(site.URL + "?filter")
	b.until("the box is there", `!!document.querySelector('[data-curtsy-search]').shadowRoot`)
	eval[bool](b, inBox("input")+`.focus() || true`)
	b.do(chromedp.KeyEvent("har"))
	b.until("suggestions appear", `!`+inBox("#list")+`.hidden`)
	want := "harbor dues|harvest|harbour site:b.example|harbor|Harbors </title>"
	if got := eval[string](b, `[...`+inBox("#list")+`.children].map(o => o.firstChild.data).join('|')`); !strings.HasPrefix(got, want) {
		t.Errorf("suggested: %s, want %s", got, want)
	}
}

// inBox is an expression for an element of the box.
func inBox(selector string) string {
	return fmt.Sprintf(`document.querySelector('[data-curtsy-search]').shadowRoot.querySelector(%q)`, selector)
}

// waits until an expression is true on the page.
func (b *browser) until(what, js string) {
	b.t.Helper()
	testaid.Until(b.t, what, func() bool { return eval[bool](b, js) })
}

func searchBox(t *testing.T, width int64) {
	srv := httptest.NewUnstartedServer(nil)
	base := "http://" + srv.Listener.Addr().String()
	site := boxPage(t, base)
	srv.Config.Handler = search.New(search.Options{Crawl: madeUp{}, Name: "manuals", Origins: []string{site.URL}})
	srv.Start()
	defer srv.Close()
	b := startBrowser(t, width, true)
	b.open(site.URL)
	b.until("the box is there", `!!document.querySelector('[data-curtsy-search]').shadowRoot`)
	keys := func(text string) { b.t.Helper(); b.do(chromedp.KeyEvent(text)) }
	input := inBox("input")
	active := func() string {
		return eval[string](b, `(`+inBox(`[aria-selected=true]`)+`||{firstChild:{data:''}}).firstChild.data`)
	}
	eval[bool](b, input+`.focus() || true`)
	keys("har")
	b.until("suggestions appear", input+`.getAttribute('aria-expanded') === 'true'`)
	if got := eval[string](b, `[...`+inBox("#list")+`.children].map(o => o.firstChild.data).join('|')`); !strings.HasPrefix(got, "harbor|harvest|Harbors </title>") || strings.Contains(got, "Nowhere") {
		t.Errorf("suggested: %s", got)
	}
	if got := eval[string](b, inBox("[role=status]")+`.textContent`); got != "3 suggestions" {
		t.Errorf("a screen reader says %q", got)
	}
	b.fits("the suggestions")
	b.scheme("light")
	b.keep(fmt.Sprintf("search-box-suggestions-%d", width))
	for _, step := range []struct{ key, active string }{
		{kb.ArrowDown, "harbor"}, {kb.ArrowDown, "harvest"}, {kb.Home, "harbor"}, {kb.End, "Harbors"}, {kb.ArrowDown, ""}, {kb.ArrowUp, "Harbors"}, {kb.ArrowUp, "harvest"}, {kb.Home, "harbor"},
	} {
		keys(step.key)
		if got := active(); !strings.HasPrefix(got, step.active) || step.active == "" && got != "" {
			t.Errorf("%q is active, want %q", got, step.active)
		}
	}
	if got := eval[string](b, inBox("[aria-selected=true]")+`.id`); got == "" || got != eval[string](b, input+`.getAttribute('aria-activedescendant')`) {
		t.Errorf("the active option %q is not that of the field", got)
	}
	keys(kb.Escape)
	if eval[string](b, input+`.getAttribute('aria-expanded')`) != "false" || eval[string](b, input+`.value`) != "har" {
		t.Error("Escape does not close the list, or empties the field")
	}
	keys(kb.ArrowDown)
	b.until("suggestions appear again", input+`.getAttribute('aria-expanded') === 'true'`)
	keys(kb.ArrowDown)
	keys(kb.Enter)
	b.until("results appear", `!`+inBox(".panel")+`.hidden`)
	if got := eval[string](b, input+`.value`); got != "harbor" {
		t.Errorf("the field has %q", got)
	}
	if n := eval[int](b, inBox("ol")+`.children.length`); n != 10 {
		t.Errorf("%d hits", n)
	}
	if got := eval[string](b, inBox("ol li mark")+`.textContent + ' ' + `+inBox("ol li .section")+`.hash + ' ' + `+inBox("[role=status]")+`.textContent`); got != "quiet #pilots 43 pages" {
		t.Errorf("the first hit: %q", got)
	}
	if n := eval[int](b, `[...`+inBox("ol")+`.querySelectorAll('a')].filter(a => !/^https?:/.test(a.href)).length + `+inBox("ol")+`.querySelectorAll('img, script').length`); n != 0 {
		t.Errorf("%d links or elements of a hostile page", n)
	}
	if got := eval[string](b, inBox(".panel")+`.textContent`); strings.ContainsAny(got, "\u202e\x1b") {
		t.Errorf("text turns what follows: %q", got)
	}
	if got := eval[string](b, `document.title`); got != "A manual" {
		t.Errorf("the page is called %q", got)
	}
	b.fits("the results")
	b.keep(fmt.Sprintf("search-box-%d-light", width))
	b.scheme("dark")
	b.keep(fmt.Sprintf("search-box-%d-dark", width))
	// A hit opens from the keyboard.
	eval[bool](b, inBox("ol li a")+`.addEventListener('click', e => { e.preventDefault(); document.body.dataset.opened = e.target.href }) || true`)
	eval[bool](b, inBox("ol li a")+`.focus() || true`)
	keys(kb.Enter)
	b.until("the hit is opened", `(document.body.dataset.opened || '').startsWith('https://www.a.example/0/')`)
	keys(kb.Escape)
	if !eval[bool](b, inBox(".panel")+`.hidden && `+inBox("input")+` === document.querySelector('[data-curtsy-search]').shadowRoot.activeElement`) {
		t.Error("Escape does not close the results, or loses the focus")
	}
}

// strangersBox: on a page of an origin that is not named, the box says that there is no answer.
func strangersBox(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	base := "http://" + srv.Listener.Addr().String()
	site := boxPage(t, base)
	srv.Config.Handler = search.New(search.Options{Crawl: madeUp{}, Origins: []string{"https://docs.example.org"}})
	srv.Start()
	defer srv.Close()
	b := startBrowser(t, 800, true)
	b.open(site.URL)
	b.until("the box is there", `!!document.querySelector('[data-curtsy-search]').shadowRoot`)
	eval[bool](b, inBox("input")+`.focus() || true`)
	b.do(chromedp.KeyEvent("harbor"), chromedp.KeyEvent(kb.Enter))
	b.until("the box says so", `!`+inBox(".panel")+`.hidden`)
	if got := eval[string](b, inBox(".panel")+`.textContent`); !strings.Contains(got, "does not answer") || eval[bool](b, `!!`+inBox("ol")) {
		t.Errorf("%q", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) == 0 || !strings.Contains(strings.Join(b.wrong, " "), "CORS") {
		t.Errorf("the browser let the page read the answer: %q", b.wrong)
	}
	b.wrong = nil
}
