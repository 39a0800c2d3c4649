//go:build external

package deploytest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/internal/web/dashboard"
)

// dashboardStatus returns a status in which every field is set, and with text by which a site tries
// to inject markup.
func dashboardStatus(stored int64) crawl.Status {
	eta := 12040.0
	return crawl.Status{
		State: "running", Discovered: 2410 + stored, Queued: 1204, InFlight: 6, Stored: 1000 + stored, Redirected: 80, Refused: 100, Failed: 20,
		ByReason: map[string]int64{"robots": 90, "noindex": 10, "http-4xx": 20}, ETA: &eta, Rate: 3.25, Bytes: 5 << 20, Hosts: 12,
		Postponed: []crawl.PostponedHost{{Host: strings.Repeat("a-very-long-name.", 9) + "example", Queued: 3, Reason: `<script>document.title = "owned"</script>`}},
		Shards: []crawl.ShardStatus{{Shard: 0, Owner: "frontier-1", Epoch: 3, Applied: 4711},
			{Shard: 1, Owner: "frontier-2", Epoch: 9, Applied: 4_711_000}},
	}
}

// serveDashboard serves the dashboard of a made-up crawl. Each request finds one more page.
func serveDashboard(t *testing.T, token string) (url string) {
	t.Helper()
	var looks atomic.Int64
	c := asker.Stopped(crawl.Spec{Name: "manuals", Shards: 2}, func() error { return nil }, ask.Handlers{
		"status": func(_ context.Context, _ []byte, send func(any) error) error {
			return send(dashboardStatus(looks.Add(1)))
		},
		"history": func(context.Context, []byte, func(any) error) error { return nil },
	})
	srv := httptest.NewServer(dashboard.New(dashboard.Options{Ask: dashboard.Of(c), Name: "manuals", Token: token, Beat: 50 * time.Millisecond}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestExternalDashboard opens the overview in a real browser, like a person does.
func TestExternalDashboard(t *testing.T) {
	t.Parallel()
	browsing(t)
	for _, width := range []int64{1280, 360} {
		for _, scripts := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d scripts %v", width, scripts), func(t *testing.T) { overviewPage(t, width, scripts) })
		}
	}
}

func overviewPage(t *testing.T, width int64, scripts bool) {
	url := serveDashboard(t, "")
	b := startBrowser(t, width, scripts)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.open(url)
		if got := eval[string](b, "document.title"); got != "Overview – manuals – Curtsy" {
			t.Errorf("title %q", got)
		}
		b.fits("the overview, " + scheme)
		b.contrast("the overview, " + scheme)
		if scripts {
			b.keep(fmt.Sprintf("overview-%d-%s", width, scheme))
		}
	}
	const stored = `document.querySelector('#numbers dd').textContent`
	before := eval[string](b, stored)
	if !scripts {
		time.Sleep(time.Second) // enough for twenty updates, if the page updated itself
		if now := eval[string](b, stored); now != before {
			t.Errorf("without scripts %s became %s", before, now)
		}
		return
	}
	testaid.Until(t, "with scripts the number changes", func() bool { return eval[string](b, stored) != before }, func() string { return b.text("#live") })
	if got := b.text("#live"); !strings.HasPrefix(got, "The crawl has ended.") {
		t.Errorf("for a crawl that does not run, it shows %q", got)
	}
	// With the keyboard: the first Tab goes to the link that skips the navigation, the next ones go
	// through the navigation, and the focus is visible.
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := eval[string](b, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first key leads to %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	if got := eval[string](b, "document.activeElement.textContent + getComputedStyle(document.activeElement).outlineStyle"); got != "Searchsolid" {
		t.Errorf("the fourth key leads to %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	testaid.Until(t, "the link is followed", func() bool { return eval[string](b, "location.pathname") == "/search" })
	b.fits("search")
}

// TestExternalSmokeChromium logs in to the dashboard in a real browser. An address with the token
// opens it, and the token does not stay in the address.
func TestExternalSmokeChromium(t *testing.T) {
	t.Parallel()
	browsing(t)
	const token = "a long enough token"
	url := serveDashboard(t, token)
	b := startBrowser(t, 360, true)
	b.open(url + "/login")
	b.fits("the login")
	b.contrast("the login")
	b.keep("login-360-light")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), token))
	b.follow("main button")
	if got := eval[string](b, "location.pathname + location.search + document.cookie"); got != "/" {
		t.Errorf("logged in at %q", got)
	}
	if got := b.text("h1"); !strings.HasPrefix(got, "Running") {
		t.Errorf("shown is %q", got)
	}
	b.fits("the overview")
	b.contrast("the overview")
	b.scripts(false)
	b.open(url)
	b.keyboard("the overview")
	b.scripts(true)
	b.follow(".bar button")
	if got := b.text("h1"); got != "Log in" {
		t.Errorf("logged out, shown is %q", got)
	}
	b.open(url + "/login?token=a+long+enough+token")
	if got := eval[string](b, "location.pathname + location.search"); got != "/" {
		t.Errorf("by the address: at %q", got)
	}
}
