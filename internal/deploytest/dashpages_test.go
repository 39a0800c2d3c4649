//go:build external

package deploytest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/testaid"
)

// crawlWithDashboard starts a crawl of a simulated web and returns the address of its dashboard.
func crawlWithDashboard(t *testing.T, web *simweb.Server, args ...string) (at string) {
	t.Helper()
	return crawlWithDashboardIn(t, dataDir(t), web, args...)
}

// dataDir is the name of a data directory for a crawl.
func dataDir(t *testing.T) string {
	t.Helper()
	// The name is on pages of which pictures may be kept.
	dir, err := os.MkdirTemp("", "curtsy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "data")
}

// crawlWithDashboardIn is crawlWithDashboard with a data directory.
func crawlWithDashboardIn(t *testing.T, data string, web *simweb.Server, args ...string) (at string) {
	t.Helper()
	args = append([]string{"crawl", "--dir", data, "--listen", "127.0.0.1:0", "--allow-private", "--resolve", web.Resolve()}, args...)
	// The crawl is not finished when the test ends, and its exit status shows it.
	p := launch(t, filepath.Join(t.TempDir(), "log"), "curtsy crawl", "curtsy", args...)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("the crawl wrote, at last:\n%s", tail(text))
		}
	})
	eventually(t, "the crawl prints the address of its dashboard", func() bool {
		text, _ := os.ReadFile(p.log)
		_, after, found := strings.Cut(string(text), "dashboard: ")
		at, _, _ = strings.Cut(after, "\n")
		if p.over() {
			t.Fatalf("the crawl has ended: %s", tail(text))
		}
		return found && strings.Contains(after, "\n")
	})
	return strings.TrimSuffix(strings.TrimSpace(at), "/")
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	testaid.Until(t, what, reached)
}

// body returns the body of a page of the dashboard.
func body(t *testing.T, at string) string {
	t.Helper()
	r, err := http.Get(at)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	evilPage  = "http://h0000.sim.test/evil.html"
	evilTitle = `<script>document.title='owned'</script>`
)

var datasetLink = regexp.MustCompile(`href="(/dataset/[^"]+)"`)

// TestExternalDashboardPages checks each page of the dashboard of a running crawl: wide and narrow,
// light and dark, with scripts and without.
func TestExternalDashboardPages(t *testing.T) {
	t.Parallel()
	browsing(t)
	cfg := simweb.Demo()
	cfg.Behaviors[0] = simweb.Behavior{Robots: simweb.RobotsAllowAll, CrawlDelay: 300 * time.Millisecond, Pages: 5000, Features: []simweb.Feature{simweb.FeatureMarkup}}
	web, err := simweb.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	web.Override(evilPage, &simweb.Answer{Body: "<!DOCTYPE html><title>" + evilTitle + "</title><p>Zyzzyva <b>words</b> stand here.</p>"})
	dir := dataDir(t)
	recordQueries(t, dir)
	at := crawlWithDashboardIn(t, dir, web, "--delay", "50ms", "--contact", "me@example.org", web.Seeds()[0], evilPage)

	var data string
	eventually(t, "a dataset, a mirror, a server of mobile robots and the page with a bad title are there", func() bool {
		if m := datasetLink.FindStringSubmatch(body(t, at+"/datasets")); m != nil {
			data = m[1]
		}
		return data != "" && strings.Contains(body(t, at+"/mirrors"), "h0006.sim.test") && strings.Contains(body(t, at+"/mobile-robots"), "agents.sim.test") &&
			strings.Contains(body(t, at+"/search?q=zyzzyva"), "evil.html")
	})
	rules := filepath.Join(t.TempDir(), "search.yaml")
	if err := os.WriteFile(rules, []byte(someRules), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, program(t, "curtsy"), "search-rules", "apply", "--dir", dir, rules)
	evil := url.QueryEscape(evilPage)
	pages := []struct{ name, path, heading string }{
		{"overview", "/", "Running"}, {"pages", "/pages", "Pages"}, {"hosts", "/hosts?sort=stored&down=1", "Hosts"}, {"host", "/host/h0000.sim.test", "h0000.sim.test"},
		{"robots", "/robots?url=" + url.QueryEscape("http://h0002.sim.test/"), "robots.txt"}, {"explain", "/explain?url=" + evil, "Explain a URL"},
		{"search", "/search?q=quiet+harbor", ""}, {"datasets", "/datasets", "Datasets"}, {"dataset", data, ""}, {"mirrors", "/mirrors", "Mirrors"}, {"updates", "/updates", "Updates"},
		{"log", "/log", "Log"}, {"mobile-robots", "/mobile-robots", "Mobile robots"}, {"copy", "/copy?url=" + evil, "Stored text of"}, {"settings", "/settings", "Settings"},
		{"queries", "/queries", "Queries"}, {"search-rules", "/search-rules?q=quiet+harbor", "Search rules"},
	}
	for _, width := range []int64{1280, 800, 360} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			b := startBrowser(t, width, true)
			for _, p := range pages {
				what := fmt.Sprintf("%s, %d px", p.name, width)
				b.scripts(true)
				b.open(at + p.path)
				// At once: live parts may be replaced between two steps.
				heading := eval[string](b, "document.querySelector('h1').innerText")
				if !strings.Contains(heading, p.heading) {
					t.Errorf("%s: the heading is %q", what, heading)
				}
				b.fits(what)
				b.accessible(what)
				if p.name == "overview" && width == 1280 {
					b.oneScreen(what)
				}
				for _, scheme := range []string{"light", "dark"} {
					b.scheme(scheme)
					b.contrast(what + ", " + scheme)
					b.shot(fmt.Sprintf("%s-%d-%s", p.name, width, scheme), 1200)
				}
				if title := eval[string](b, "document.title"); title == "owned" {
					t.Errorf("%s: a title of a site has run as a script", what)
				}
				b.scripts(false)
				b.open(at + p.path)
				if got := eval[string](b, "document.querySelector('h1').innerText"); !strings.Contains(got, p.heading) {
					t.Errorf("%s, without scripts: the heading is %q", what, got)
				}
				b.fits(what + ", without scripts")
				b.keyboard(what)
			}
			b.open(at + "/search?q=zyzzyva")
			if got := b.text("main"); !strings.Contains(got, evilTitle) {
				t.Errorf("the title that is a script is not shown as text: %s", got)
			}
		})
	}
}

// someRules pin a page, hide another, and have a synonym.
const someRules = `synonyms: |
  harbor, harbour, port
results:
  - query: quiet harbor
    pin: [http://h0000.sim.test/]
    hide: [http://h0000.sim.test/p/1.html]
demote:
  - {site: h0001.sim.test, by: 0.5}
weights: {title: 1.5, freshness: 1}
`

// recordQueries writes a report of queries into a data directory: frequent ones, some without
// results, and hits that were opened.
func recordQueries(t *testing.T, data string) {
	t.Helper()
	r := queryreport.New(data, slog.New(slog.DiscardHandler))
	for i, q := range []string{"quiet harbor", "harbor dues", "tide tables", "lighthouse", "pilot boat site:h0000.sim.test", "harbour master", "opening hours of the lock in winter", strings.Repeat("unbroken", 20)} {
		for range 40 - 5*i {
			r.Asked(q, int64(i%3*127), true)
		}
		if i%3 > 0 {
			r.Opened(q, fmt.Sprintf("http://h0000.sim.test/p/%d.html", i), i)
		}
	}
	r.Opened("tide tables", "http://h0001.sim.test/a/rather/long/path/of/a/page/of/which/there/are/many.html", 7)
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := r.Run(over); err != nil {
		t.Fatal(err)
	}
}

// oneScreen fails if a person has to scroll to see all of an overview.
func (b *browser) oneScreen(what string) {
	b.t.Helper()
	if bottom := eval[float64](b, `scrollY + document.querySelector('#parts').getBoundingClientRect().bottom`); bottom > 800 {
		b.t.Errorf("%s: it is %.0f pixels high, and the window 800", what, bottom)
	}
}

// TestExternalDashboardEnded checks the dashboard of a crawl that has ended: it states when it
// ended, how long it took and what the result is, and nothing on it seems to be running.
func TestExternalDashboardEnded(t *testing.T) {
	t.Parallel()
	browsing(t)
	web, err := simweb.Start(simweb.Demo())
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir, err := os.MkdirTemp("", "curtsy-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	run(t, program(t, "curtsy"), append([]string{"crawl", "--dir", data, "--listen", "off", "--allow-private", "--delay", "0s", "--resolve", web.Resolve()}, web.Seeds()...)...)
	p := start(t, "curtsy dashboard", "curtsy", "dashboard", "--dir", data, "--listen", "127.0.0.1:0")
	var at string
	eventually(t, "curtsy dashboard writes where", func() bool {
		text, _ := os.ReadFile(p.log)
		if _, after, ok := strings.Cut(string(text), "dashboard: "); ok && strings.Contains(after, "\n") {
			at, _, _ = strings.Cut(after, "\n")
		} else if p.over() {
			t.Fatalf("curtsy dashboard ended: %s", text)
		}
		return at != ""
	})
	at = strings.TrimSuffix(strings.TrimSpace(at), "/")
	for _, width := range []int64{1280, 800, 360} {
		b := startBrowser(t, width, true)
		what := fmt.Sprintf("the ended overview, %d px", width)
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.open(at + "/")
			eventually(t, "the page is followed", func() bool { return strings.Contains(b.text("#live"), "has ended") })
			b.fits(what)
			b.contrast(what + ", " + scheme)
			b.shot(fmt.Sprintf("ended-%d-%s", width, scheme), 1200)
		}
		if got := b.text("main"); !strings.HasPrefix(got, "Finished") || !strings.Contains(got, ", after ") || strings.Contains(got, "0/s\nURLs finished") || strings.Contains(got, "In flight") {
			t.Errorf("%s: %s", what, got)
		}
		b.accessible(what)
		if width == 1280 {
			b.oneScreen(what)
		}
	}
}

// scripts switches scripts on or off for the pages that are opened next.
func (b *browser) scripts(on bool) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// forgive removes an error that a test has provoked from those that the browser reported.
func (b *browser) forgive(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = slices.DeleteFunc(b.wrong, func(s string) bool { return strings.Contains(s, part) })
}

// accessible checks what people need who cannot see a page or do not use a mouse: names, headings
// in order, landmarks, tables with column headers, and targets that are large enough for a finger.
func (b *browser) accessible(what string) {
	b.t.Helper()
	bad := eval[[]string](b, `(() => {
		const all = s => [...document.querySelectorAll(s)], short = e => e.outerHTML.slice(0, 90), bad = []
		const name = e => (e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(/\s+/).map(i => i && document.getElementById(i)?.textContent || '').join('') || e.textContent).trim()
		const claim = (ok, why, e) => { if (!ok) bad.push(why + (e ? ': ' + short(e) : '')) }
		claim(document.documentElement.lang === 'en', 'the page has no language')
		claim(document.title.trim(), 'the page has no title')
		claim(all('h1').length === 1, all('h1').length + ' first headings')
		claim(all('main').length === 1 && all('nav').length && all('footer').length === 1, 'landmarks are missing')
		let level = 0
		for (const h of all('h1, h2, h3, h4, h5, h6')) { const n = +h.tagName[1]; claim(n <= level + 1, 'a heading skips a level', h); claim(name(h), 'an empty heading', h); level = n }
		for (const e of all('input:not([type=hidden]), select, textarea')) claim([...e.labels].some(l => l.textContent.trim()) || e.getAttribute('aria-label'), 'a field without a label', e)
		for (const e of all('button, a[href], summary')) claim(name(e), 'has no name', e)
		for (const e of all('svg')) claim(e.getAttribute('aria-hidden') === 'true' || e.getAttribute('role') === 'img' && e.getAttribute('aria-label'), 'a picture without words', e)
		for (const e of all('iframe')) claim(e.title && e.hasAttribute('sandbox'), 'a frame without a title, or free', e)
		for (const e of all('table')) claim(e.querySelector('thead th') && (e.caption || e.closest('[aria-label], [aria-labelledby]')), 'a table without a name or a head', e)
		for (const e of all('th')) claim(e.scope, 'a head without a scope', e)
		for (const e of all('[role=group], [role=img], section, nav')) if (e.tagName !== 'SECTION' || e.hasAttribute('aria-labelledby')) claim(name(e), 'a region without a name', e)
		for (const e of all('[aria-labelledby], [aria-describedby], [aria-controls]')) for (const a of ['aria-labelledby', 'aria-describedby', 'aria-controls']) for (const i of (e.getAttribute(a) || '').split(/\s+/)) claim(!i || document.getElementById(i), 'a reference to nothing', e)
		for (const e of all('*')) { if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'auto') claim(e.tabIndex >= 0, 'cannot be scrolled with keys', e); claim(e.tabIndex <= 0, 'an order of its own', e) }
		const ids = new Set(); for (const e of all('[id]')) { claim(!ids.has(e.id), 'an id twice', e); ids.add(e.id) }
		for (const e of all('button, input:not([type=hidden]):not([type=checkbox]), select, nav[aria-label=Pages] a')) { const r = e.getBoundingClientRect(); claim(!r.height || r.height >= 24, 'too small for a finger', e) }
		return bad
	})()`)
	if len(bad) > 0 {
		b.t.Errorf("%s: %s", what, strings.Join(bad, "\n"))
	}
}
