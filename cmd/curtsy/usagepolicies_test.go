package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	use "github.com/curtsy/curtsy/pkg/usage"
)

// wished is a crawl of simweb.Wishing.
type wished struct {
	t        *testing.T
	dir      string
	web      *simweb.Server
	purposes []string
}

// crawlUsagePolicies crawls all of the web for some purposes.
func crawlUsagePolicies(t *testing.T, purposes ...string) *wished {
	t.Helper()
	web := startWeb(t, simweb.Wishing())
	w := &wished{t: t, dir: filepath.Join(t.TempDir(), "data"), web: web, purposes: purposes}
	var homes []string
	for u, request := range web.UsagePolicies() {
		if request.Path == "/" { // what may not be asked for leads nowhere
			homes = append(homes, u)
		}
	}
	w.crawl(append([]string{"--allow-private", "--contact", "t@example.org", "--delay", "0s", "--resolve", web.Resolve()}, homes...)...)
	return w
}

// crawl crawls as far as there is something to do, for w.purposes.
func (w *wished) crawl(args ...string) {
	w.t.Helper()
	args = append([]string{"crawl", "--dir", w.dir}, args...)
	if !slices.Equal(w.purposes, []string{"search"}) {
		for _, p := range w.purposes {
			args = append(args, "--purpose", p)
		}
	}
	code := app.ExitOK
	for _, request := range w.web.UsagePolicies() {
		if request.Path == "/" && !request.Kept(w.purposes...) {
			code = app.ExitFailed // a seed is refused
		}
	}
	curtsy(w.t, code, args...)
}

// times is how often a path was requested, on all sites.
func (w *wished) times(path string) (n int) {
	for _, r := range w.web.Log() {
		if r.Path == path {
			n++
		}
	}
	return n
}

// asked is what was requested of the web.
func (w *wished) asked() map[string]bool {
	out := map[string]bool{}
	for _, r := range w.web.Log() {
		out["http://"+r.Origin+r.Path] = true
	}
	return out
}

// listed are the URLs of a command's JSON lines.
func (w *wished) listed(args ...string) map[string]bool {
	w.t.Helper()
	out := map[string]bool{}
	for l := range strings.Lines(curtsy(w.t, app.ExitOK, append(args, "--dir", w.dir)...)) {
		var p struct{ URL string }
		if err := json.Unmarshal([]byte(l), &p); err != nil {
			w.t.Fatalf("%s: %q: %v", args, l, err)
		}
		out[p.URL] = true
	}
	return out
}

// TestWishes crawls sites of each kind that state how they may be used, for each purpose. What was
// requested (by their logs), what is stored and what each export leaves out must be what the sites'
// authors meant.
func TestWishes(t *testing.T) {
	for _, purposes := range [][]string{{"search"}, {"ai-input"}, {"ai-train"}, {"tdm"}, {"search", "ai-train"}} {
		t.Run(strings.Join(purposes, "+"), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				w := crawlUsagePolicies(t, purposes...)
				w.holds()
				// Rights files are requested if the purposes need them, once, also after an
				// interruption.
				asks := 0
				if !slices.Equal(purposes, []string{"search"}) {
					asks = 1
				}
				sites := 0
				for _, request := range w.web.UsagePolicies() {
					if request.Path == "/" {
						sites++
					}
				}
				w.hosts()
				if told := strings.Contains(curtsy(t, app.ExitOK, "status", "--dir", w.dir), "for "+strings.Join(purposes, ", ")+":"); told == slices.Equal(purposes, []string{"search"}) {
					t.Errorf("status says what the crawl is for: %v", told)
				}
				curtsy(t, app.ExitFailed, "crawl", "--dir", w.dir, "http://tdm-file.sim.test/not-there.html", "http://licence-robots.sim.test/not-there.html")
				if n, l := w.times("/.well-known/tdmrep.json"), w.times("/licence.xml"); n != asks*sites || l != asks {
					t.Errorf("%d requests for tdmrep.json of %d sites, and %d for the licence", n, sites, l)
				}
				for _, v := range requestlog.Check(w.web.Log(), requestlog.CheckOptions{}) {
					t.Error(v)
				}
			})
		})
	}
}

// Formats §8.1: another purpose accepts what the one before excluded.
func TestUsage_8_1_PurposesChange(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := crawlUsagePolicies(t, "ai-train")
		w.purposes = []string{"search"}
		curtsy(t, app.ExitFailed, "crawl", "--dir", w.dir, "--purpose", "search")
		pages := w.listed("export", "pages")
		for u, request := range w.web.UsagePolicies() {
			if request.Kept("search") && !pages[u] {
				t.Errorf("%s may be searched, and is not kept", u)
			}
		}
	})
}

// Formats §8.17: a tdmrep.json that cannot be fetched counts as a reservation until it is.
func TestUsage_8_17_Lost(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Wishing())
		web.Override("http://tdm-file.sim.test/.well-known/tdmrep.json", &simweb.Answer{Status: 500})
		w := &wished{t: t, dir: filepath.Join(t.TempDir(), "data"), web: web}
		curtsy(t, app.ExitOK, "crawl", "--dir", w.dir, "--allow-private", "--delay", "0s", "--scope", "host", "--resolve", web.Resolve(), "--purpose", "search", "--purpose", "ai-train", "http://tdm-file.sim.test/")
		for l := range strings.Lines(curtsy(t, app.ExitOK, "export", "pages", "--dir", w.dir)) {
			var p crawl.PageRecord
			if err := json.Unmarshal([]byte(l), &p); err != nil {
				t.Fatal(err)
			}
			if src := p.Usage.Against(use.AITrain); p.Usage.AITrain != "disallow" || p.Usage.TDM != "disallow" || p.Usage.Search != "unknown" || !strings.Contains(src.Text, "HTTP 500") {
				t.Errorf("%s: %+v", p.URL, p.Usage)
			}
		}
		if n := len(w.listed("export", "pages", "--for", "search")); n != 4 {
			t.Errorf("%d pages", n)
		}
	})
}

// Formats §8.19: a licence that was not read, because it is on another site or could not be
// fetched, may allow nothing. It counts as if it did not. The site that has it gets no request.
func TestUsage_8_19_Unread(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := startWeb(t, simweb.Config{Hosts: 3, PagesPerHost: 3, Mix: func(int) simweb.Behavior { return simweb.Behavior{} }})
		web.Override("http://h0000.sim.test/robots.txt", &simweb.Answer{Header: []string{"Content-Type: text/plain"}, Body: "License: http://h0002.sim.test/licence.xml\n"})
		web.Override("http://h0001.sim.test/robots.txt", &simweb.Answer{Header: []string{"Content-Type: text/plain"}, Body: "License: http://h0001.sim.test/licence.xml\n"})
		web.Override("http://h0001.sim.test/licence.xml", &simweb.Answer{Status: 503})
		for _, purposes := range [][]string{{"search"}, {"search", "ai-train"}} {
			w := &wished{t: t, dir: filepath.Join(t.TempDir(), "data"), web: web}
			args := []string{"crawl", "--dir", w.dir, "--allow-private", "--delay", "0s", "--scope", "host", "--resolve", web.Resolve(), "http://h0000.sim.test/", "http://h0001.sim.test/"}
			for _, p := range purposes {
				args = append(args, "--purpose", p)
			}
			curtsy(t, app.ExitOK, args...)
			pages := 0
			for l := range strings.Lines(curtsy(t, app.ExitOK, "export", "pages", "--dir", w.dir)) {
				var p crawl.PageRecord
				if err := json.Unmarshal([]byte(l), &p); err != nil {
					t.Fatal(err)
				}
				pages++
				want, why := "unknown", ""
				if len(purposes) > 1 {
					want, why = "disallow", "it is on another site"
					if strings.Contains(p.URL, "h0001") {
						why = "HTTP 503"
					}
				}
				if src := p.Usage.Against(use.AITrain); p.Usage.AITrain != want || p.Usage.AIInput != want || p.Usage.Search != "unknown" || p.Usage.TDM != "unknown" || !strings.Contains(src.Text, why) {
					t.Errorf("for %v: %s: %+v", purposes, p.URL, p.Usage)
				}
			}
			if pages == 0 {
				t.Error("no pages")
			}
			for _, q := range web.Log() {
				if q.Host == "h0002.sim.test" || q.Path == "/licence.xml" && len(purposes) == 1 {
					t.Errorf("asked for %s%s", q.Host, q.Path)
				}
			}
		}
	})
}

// holds compares the result of the crawl with what was meant.
func (w *wished) holds() {
	t, purposes := w.t, w.purposes
	t.Helper()
	asked, pages := w.asked(), w.listed("export", "pages")
	handed := map[string]map[string]bool{}
	for _, purpose := range use.PurposeNames() {
		handed[purpose] = w.listed("export", "pages", "--for", purpose)
		handed[purpose+" unknown-too"] = w.listed("export", "pages", "--for", purpose, "--unknown-too")
	}
	from, err := engine.OpenFiles(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	requests := w.web.UsagePolicies()
	for _, u := range slices.Sorted(maps.Keys(requests)) {
		request := requests[u]
		if home := requests[u[:strings.LastIndexByte(u, '/')+1]]; !home.Asked(purposes...) && request.Path != "/" {
			continue // nobody led here
		}
		if asked[u] != request.Asked(purposes...) {
			t.Errorf("%s was asked for: %v; may be: %v", u, asked[u], request.Asked(purposes...))
		}
		if pages[u] != request.Kept(purposes...) {
			t.Errorf("%s is kept: %v; may be: %v", u, pages[u], request.Kept(purposes...))
		}
		for _, purpose := range use.PurposeNames() {
			said := request.Delivered(purpose, purposes...)
			allowed := request.Kept(purposes...) && (said == "allow" || said == "unknown" && purpose == "search")
			if handed[purpose][u] != allowed {
				t.Errorf("%s says %s of %s; handed on for it: %v", u, said, purpose, handed[purpose][u])
			}
			if allowed = request.Kept(purposes...) && said != "disallow"; handed[purpose+" unknown-too"][u] != allowed {
				t.Errorf("%s says %s of %s; handed on for it with --unknown-too: %v", u, said, purpose, !allowed)
			}
		}
		x, err := from.Explain(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		want := "stored"
		switch {
		case request.Paid:
			want = "refused:payment"
		case !request.Kept(purposes...):
			want = "refused:usage"
		}
		if got := strings.TrimSuffix(fmt.Sprintf("%s:%s", x.State, x.Reason), ":"); got != want {
			t.Errorf("%s: explained as %s, want %s", u, got, want)
		}
		w.shown(u, request, x)
	}
}
