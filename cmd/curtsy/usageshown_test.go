package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
	use "github.com/curtsy/curtsy/pkg/usage"
)

// shown compares what explain prints about the use of a page with what the site's author meant: the
// current robots.txt, with its line, and what is stored with the page.
func (w *wished) shown(u string, request simweb.UsagePolicy, x crawl.Explanation) {
	w.t.Helper()
	if x.Robots == nil || (x.Usage != nil) != request.Kept(w.purposes...) {
		w.t.Errorf("%s: robots.txt %+v, kept with %+v", u, x.Robots, x.Usage)
		return
	}
	if x.Robots.Usage == nil && x.Robots.State == "parsed" {
		w.t.Errorf("%s: nothing is said of what its robots.txt says: %+v", u, x.Robots)
		return
	}
	for i := range (use.Preferences{}) {
		p := use.Purpose(i)
		if x.Robots.Usage != nil {
			got := x.Robots.Usage.Of(p)
			if want := request.RobotsPreference(p.String()); got != want {
				w.t.Errorf("%s: its robots.txt is said to have %s for %s, and has %s", u, got, p, want)
			}
			if got == "disallow" && x.Robots.Usage.Against(p).Line < 1 {
				w.t.Errorf("%s: no line is shown that disallows %s: %+v", u, p, x.Robots.Usage)
			}
		}
		if x.Usage != nil {
			if got, want := x.Usage.Of(p), request.Delivered(p.String(), w.purposes...); got != want {
				w.t.Errorf("%s is kept with %s for %s, its site says %s", u, got, p, want)
			}
		}
	}
	price := strings.HasSuffix(u, "/given.html")
	if !price && request.Path != "/" {
		return // the home pages stand for those that have no price
	}
	if price != strings.Contains(line(curtsy(w.t, app.ExitOK, "explain", "--dir", w.dir, u), "log "), `crawler-price: "USD 0.02"`) {
		w.t.Errorf("%s: of its price explain shows the wrong thing", u) // Formats §8.24
	}
}

// hosts compares what hosts and status print about the sites with what their authors meant.
func (w *wished) hosts() {
	w.t.Helper()
	says := map[string][]int{ // lines of their robots.txt
		"another-robot": nil, "says-nothing": nil, "content-usage-header": nil, "training-tokens": {3}, "licence-robots": {1},
		"content-signal-robots": {2}, "content-signal-none": {2}, "content-usage-robots": {2, 3, 4, 5, 6, 7},
	}
	seen := map[string]bool{}
	var speak []string
	for l := range strings.Lines(curtsy(w.t, app.ExitOK, "hosts", "--json", "--dir", w.dir)) {
		var h crawl.HostInfo
		if err := json.Unmarshal([]byte(l), &h); err != nil {
			w.t.Fatal(err)
		}
		var lines []int
		for _, u := range h.Robot.Usage {
			lines = append(lines, u.Line)
		}
		if len(lines) > 0 {
			speak = append(speak, h.Host)
		}
		name := strings.TrimSuffix(h.Host, ".sim.test")
		if want, ok := says[name]; ok && !slices.Equal(lines, want) {
			w.t.Errorf("%s: lines %v about use are shown, want %v", h.Host, lines, want)
		}
		seen[name] = true
	}
	for name := range says {
		if !seen[name] {
			w.t.Errorf("%s was not crawled", name)
		}
	}
	var some []string
	for l := range strings.Lines(curtsy(w.t, app.ExitOK, "hosts", "--has", "usage", "--json", "--dir", w.dir)) {
		var h crawl.HostInfo
		if err := json.Unmarshal([]byte(l), &h); err != nil {
			w.t.Fatal(err)
		}
		some = append(some, h.Host)
	}
	slices.Sort(speak)
	if slices.Sort(some); !slices.Equal(some, speak) {
		w.t.Errorf("hosts that say something of use: %v by --has, %v by their lines", some, speak)
	}
	one := curtsy(w.t, app.ExitOK, "hosts", "content-usage-robots.sim.test", "--dir", w.dir)
	for _, want := range []string{"use          ai-train disallow, line 2: Content-Usage: train-ai=n", "for /closed, line 3", "line 7: Content-Usage: /broken N=?"} {
		if !strings.Contains(one, want) {
			w.t.Errorf("hosts NAME shows no %q:\n%s", want, one)
		}
	}
	status := curtsy(w.t, app.ExitOK, "status", "--dir", w.dir)
	if want := fmt.Sprintf("%d hosts state in robots.txt", len(speak)); !strings.Contains(status, want) {
		w.t.Errorf("status says not %q:\n%s", want, status)
	}
	for _, reason := range []string{"usage", "payment"} {
		if line(status, "  "+reason+" ") == "" {
			w.t.Errorf("status does not count %s:\n%s", reason, status)
		}
	}
}

// Wrong arguments about one host.
func TestHostsOne(t *testing.T) {
	for _, args := range [][]string{{"hosts", "a.example", "b.example"}, {"hosts", "a.example", "--limit", "3"}} {
		curtsy(t, app.ExitUsage, append(args, "--dir", t.TempDir())...)
	}
}
