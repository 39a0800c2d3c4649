//go:build external

package deploytest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// TestExternalDashboardSteers controls a crawl in a browser; the log of the web shows the effect.
func TestExternalDashboardSteers(t *testing.T) {
	t.Parallel()
	browsing(t)
	web, err := simweb.Start(simweb.Config{Hosts: 2, PagesPerHost: 5000, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsAllowAll} }})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	const added = "http://h0001.sim.test/added.html"
	web.Override(added, &simweb.Answer{Body: "<!DOCTYPE html><title>Added</title><p>by hand"})
	at := crawlWithDashboard(t, web, "--delay", "100ms", web.Seeds()[0], "http://h0001.sim.test/")
	// requests returns the requests to a host that began after a time.
	requests := func(host string, after time.Time) (all []requestlog.Request) {
		for _, r := range web.Log() {
			if r.Host == host+".sim.test" && r.Start.After(after) {
				all = append(all, r)
			}
		}
		return all
	}
	begun := time.Now()
	eventually(t, "both hosts are crawled", func() bool { return len(requests("h0000", begun)) > 3 && len(requests("h0001", begun)) > 3 })
	b := startBrowser(t, 1280, true)

	b.open(at + "/host/h0000.sim.test")
	b.follow(`form[action="/do/pause-host"] button`)
	if got := b.text(".done"); !strings.Contains(got, "h0000.sim.test") {
		t.Errorf("paused, it shows %q", got)
	}
	// The command needs a moment to reach the fetcher that is at the host.
	paused := time.Now().Add(2 * time.Second)
	eventually(t, "the other host goes on", func() bool { return len(requests("h0001", paused)) > 10 })
	if late := requests("h0000", paused); len(late) > 0 {
		t.Errorf("%d requests to a host that is paused", len(late))
	}
	resumed := time.Now()
	b.follow(`form[action="/do/resume-host"] button`)
	eventually(t, "the host goes on", func() bool { return len(requests("h0000", resumed)) > 3 })

	const delay = time.Second
	b.do(chromedp.SetValue(chromedp.CSS("#seconds"), "1"))
	b.follow(`form[action="/do/delay-host"] button`)
	set := time.Now().Add(2 * time.Second)
	eventually(t, "five requests after the delay is set", func() bool { return len(requests("h0000", set)) >= 5 })
	all := requests("h0000", set)
	for i, r := range all[1:] {
		if gap := r.Start.Sub(all[i].End); gap < delay {
			t.Errorf("%s was asked for %v after the answer before, with a delay of %v", r.Path, gap, delay)
		}
	}

	// A seed is added with the keyboard only.
	b.open(at + "/settings")
	for n := 0; eval[string](b, "document.activeElement.id") != "urls"; n++ {
		if n > 60 {
			t.Fatal("the field for seeds is not reached with the Tab key")
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.do(chromedp.KeyEvent(added), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	eventually(t, "the seed is crawled", func() bool {
		for _, r := range requests("h0001", begun) {
			if r.Path == "/added.html" && r.Status == 200 {
				return true
			}
		}
		return false
	})
	acts(b, at, "the log has who added a seed", "seed "+added+" by dashboard from 127.0.0.1")
	foreignRequests(t, b, at)
}

// TestExternalDashboardSettings changes the settings of a crawl in a browser: the effect of a
// change is shown before it is made, and a delay that is set applies, according to the log of the
// web.
func TestExternalDashboardSettings(t *testing.T) {
	t.Parallel()
	browsing(t)
	web, err := simweb.Start(simweb.Config{Hosts: 2, PagesPerHost: 5000, Mix: func(int) simweb.Behavior { return simweb.Behavior{Robots: simweb.RobotsAllowAll} }})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	at := crawlWithDashboard(t, web, "--delay", "100ms", "--scope", "host", web.Seeds()[0])
	eventually(t, "the crawl has pages", func() bool { return len(web.Log()) > 20 })
	b := startBrowser(t, 1280, true)
	b.open(at + "/settings")
	const fields = `['scope', 'max-pages', 'max-pages-per-host', 'max-depth', 'delay'].map(id => document.getElementById(id).value).join(' ')`
	was := eval[string](b, fields)
	if was != "host 0 0 -1 0.1" {
		t.Errorf("the settings are shown as %q", was)
	}
	for id, p := range map[string]struct{ value, shown string }{
		"max-depth": {"0", "max-depth no limit → 0: adds 0 queued URLs, refuses"}, "delay": {"2", "delay 100ms → 2s"}, "max-pages": {"7000", "ends at 7,000 pages"},
		"scope": {"any", "scope host → any: adds"},
	} {
		b.do(chromedp.SetValue(chromedp.CSS("#"+id), p.value))
		b.follow(`button[name="preview"]`)
		if got := b.text(".done"); !strings.Contains(got, p.shown) {
			t.Errorf("%s %s would do %q, want %q", id, p.value, got, p.shown)
		}
		if now := eval[string](b, fields); now != was {
			t.Errorf("asked what %s %s would do, the settings are %q", id, p.value, now)
		}
	}
	const delay = time.Second
	b.do(chromedp.SetValue(chromedp.CSS("#delay"), "1"))
	b.follow(`form[action="/do/settings"] button:not([name])`)
	if got := b.text(".done"); !strings.Contains(got, "delay 100ms → 1s") {
		t.Errorf("changed, it shows %q", got)
	}
	if now := eval[string](b, fields); now != "host 0 0 -1 1" {
		t.Errorf("changed, the settings are %q", now)
	}
	// The visit in progress may have been granted before the change, and have sent its last request
	// with the old delay.
	set := time.Now().Add(2 * time.Second)
	var all []requestlog.Request
	eventually(t, "five requests after the delay is set", func() bool {
		all = all[:0]
		for _, r := range web.Log() {
			if r.Start.After(set) {
				all = append(all, r)
			}
		}
		return len(all) >= 5
	})
	for i, r := range all[1:] {
		if gap := r.Start.Sub(all[i].End); gap < delay {
			t.Errorf("%s was asked for %v after the answer before, with a delay of %v", r.Path, gap, delay)
		}
	}
	b.do(chromedp.SetValue(chromedp.CSS("#delay"), "9999"))
	if ok := eval[bool](b, "document.querySelector('form[action=\"/do/settings\"]').checkValidity()"); ok {
		t.Error("a delay of hours passes for one of at most ten minutes")
	}
	if got := acts(b, at, "the log has who changed what", "delay 100ms → 1s", "by dashboard from 127.0.0.1"); strings.Contains(got, "max-depth") {
		t.Errorf("the log has a change that was only previewed: %s", got)
	}
}

// acts returns the acts in the crawl log, once the wanted ones are there. A line is written with
// the commit of its act, and requests do not wait for a commit, so they may come before it.
func acts(b *browser, at, what string, want ...string) (log string) {
	b.t.Helper()
	eventually(b.t, what, func() bool {
		b.open(at + "/log?class=audit")
		log = eval[string](b, "document.querySelector('main').innerText")
		return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(log, w) })
	})
	return log
}

// foreignRequests checks that nobody else can control the crawl: neither a page of another origin
// in a browser that is logged in, nor a request with another Host.
func foreignRequests(t *testing.T, b *browser, at string) {
	t.Helper()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="%s/do/pause"><button>Win</button></form>`, at)
	}))
	defer other.Close()
	b.open(other.URL)
	b.follow("button")
	if got := b.text("body"); !strings.Contains(got, "another origin") {
		t.Errorf("a page of another origin gets %q", got)
	}
	b.forgive("403 (Forbidden)")
	b.forgive("favicon")
	b.open(at + "/")
	if got := eval[string](b, "document.querySelector('h1').innerText"); !strings.HasPrefix(got, "Running") {
		t.Errorf("a page of another origin has changed the crawl: %s", got)
	}
	r, err := http.NewRequest(http.MethodGet, at+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("asked as %s: %s", r.Host, answer.Status)
	}
}
