package fetcher

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// useSite is a site that states the use of its pages in each possible way. asked lists the paths
// that were requested.
func useSite(t *testing.T) (addr string, asked func() []string) {
	var mu sync.Mutex
	var paths []string
	const robots = `User-agent: *
Content-Usage: /closed search=n
Content-Usage: /train train-ai=n, ai-use=n
Content-Signal: ai-train=no
Disallow: /private
`
	addr = origin(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		page := `<p><a href="/linked">x</a>`
		switch r.URL.Path {
		case "/robots.txt":
			page = robots
		case "/usage":
			w.Header().Add("Content-Usage", "search=y")
			w.Header().Add("Content-Usage", "search=n")
		case "/usage-open":
			w.Header().Set("Content-Usage", "train-ai=n, search=y")
		case "/signal":
			w.Header().Set("Content-Signal", "search=yes, use=immediate")
		case "/rsl":
			page = `<script type="application/rsl+xml"><rsl xmlns="https://rslstandard.org/rsl"><content url="/">` +
				`<license><permits type="usage">ai-train</permits></license></content></rsl></script>` + page
		case "/noai":
			page = `<meta name=robots content=noai><meta name=tdm-reservation content=1>` + page
		case "/other":
			w.Header().Set("Robots-Tag", "otherbot;noindex")
		case "/ours":
			w.Header().Set("Robots-Tag", "curtsy;noindex")
		case "/data.json":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Usage", "search=n")
			page = `{"dataset": []}`
		case "/changed", "/same":
			w.Header().Set("Content-Usage", map[string]string{"/changed": "search=n", "/same": "train-ai=n"}[r.URL.Path])
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, page)
	})
	return addr, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(paths)
	}
}

// formats §8.1, §8.2, §8.14: what robots.txt excludes from search is not requested, what an
// answer excludes from it is not stored, and both are reported with the statement. What is only
// excluded from other purposes is stored.
func TestUsage_8_2_Crawl(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := useSite(t)
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		rows := []struct{ path, want, rule string }{
			{"/closed/x", "refused/usage", "robots.txt, line 2: Content-Usage: /closed search=n"},
			{"/private", "refused/robots", "Disallow: /private"},
			{"/train/x", "stored", ""},
			{"/usage", "refused/usage", "header Content-Usage, line 1: search=y, search=n"},
			{"/usage-open", "stored", ""},
			{"/signal", "refused/usage", "header Content-Signal, line 1: search=yes, use=immediate"},
			{"/rsl", "refused/usage", "script application/rsl+xml, line 1: RSL"},
			{"/noai", "stored", ""},
			{"/other", "stored", ""},
			{"/ours", "refused/noindex", ""},
			{"/data.json", "refused/usage", "header Content-Usage, line 1: search=n"},
			{"/changed", "refused/usage", "header Content-Usage, line 1: search=n"},
			{"/same", "stored", ""},
		}
		var urls []string
		for _, r := range rows {
			urls = append(urls, "http://h.test"+r.path)
		}
		v := open(visitTo(t, urls...))
		v.Robots = nil // its robots.txt is requested
		for i := range rows {
			if rows[i].path == "/changed" || rows[i].path == "/same" {
				v.URLs[i].ETag, v.URLs[i].Keep = `"1"`, true
			}
		}
		out := d.outcome(d.grant(v))
		got := strings.Fields(classes(out))
		for i, r := range rows {
			if got[i] != r.want || !strings.Contains(out.Results[i].Rule, r.rule) || r.rule == "" && out.Results[i].Rule != "" {
				t.Errorf("%s: %s (%q), want %s (%q)", r.path, got[i], out.Results[i].Rule, r.want, r.rule)
			}
			switch p := d.pageOf(v.URLs[i].URL); {
			case r.want == "refused/usage" && (p.Deleted != crawl.ReasonUsage || len(p.Body) > 0):
				t.Errorf("%s: %+v is handed on", r.path, p)
			case r.want == "stored" && p.Deleted != "":
				t.Errorf("%s: %+v", r.path, p)
			}
		}
		if l := out.Results[0].Line; l != 2 {
			t.Errorf("closed by line %d", l)
		}
		for _, p := range asked() {
			if p == "/closed/x" || p == "/private" {
				t.Errorf("%s was asked for", p)
			}
		}
		if n := len(asked()); n != len(rows)-2+1 {
			t.Errorf("%d requests: %v", n, asked())
		}
	})
}
