package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// bodyOf asks the simulated web itself for a page.
func (r *stoppedCrawl) bodyOf(u string) (status int, sum string) {
	r.t.Helper()
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, r.web.Addr())
	}}}
	defer c.CloseIdleConnections()
	res, err := c.Get(u)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	h := sha256.Sum256(body)
	return res.StatusCode, hex.EncodeToString(h[:])
}

// A crawl that keeps its pages fresh is killed again and again while pages change, disappear and
// come back. In the end the store has the same pages as the web, the counts match the lists, and no
// host got two requests at the same time or a forbidden one.
func TestRecrawlIsKilled(t *testing.T) {
	t.Parallel()
	r := newStoppedCrawl(t)
	pages := r.all[5:]
	r.web.ResetLog()
	crawling := func(enough func() bool) {
		t.Helper()
		cmd := exec.Command("curtsy", "crawl", "--dir", r.dir, "--recrawl", "--recrawl-min", "1s", "--recrawl-max", "1s")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the crawl to go on", enough)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
	more := func(n int) func() bool {
		n += len(r.web.Log())
		return func() bool { return len(r.web.Log()) >= n }
	}
	for i := range 4 {
		for j, u := range pages {
			switch (i + j) % 12 {
			case 0:
				r.web.Change(u)
			case 1:
				r.web.Override(u, &simweb.Answer{Status: 404, Body: "gone"})
			case 2:
				r.web.Override(u, nil)
			}
		}
		crawling(more(60 + 37*i))
	}
	for j, u := range pages {
		if j%12 != 0 {
			r.web.Override(u, nil)
		}
	}
	gone := 0
	for j, u := range pages {
		if j%12 == 0 {
			gone++
			r.web.Override(u, &simweb.Answer{Status: 404, Body: "gone"})
		}
	}
	from := len(r.web.Log())
	asked := map[string]int{}
	crawling(func() bool { // each of them so often that all is known of it
		log := r.web.Log()
		for _, q := range log[from:] {
			asked["http://"+q.Host+q.Path]++
		}
		from = len(log)
		for _, u := range r.all {
			if asked[u] < 4 {
				return false
			}
		}
		return true
	})
	log := r.web.Log()
	r.crawl(app.ExitOK, "--recrawl=false")
	listed := 0
	for line := range strings.Lines(curtsy(t, 0, "pages", "--json", "--dir", r.dir)) {
		var p crawl.PageInfo
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		listed++
		if status, sum := r.bodyOf(p.URL); status != 200 || sum != p.SHA256 {
			t.Errorf("%s: stored %s, the web says %d, %s", p.URL, p.SHA256, status, sum)
		}
	}
	if n := r.counts(); n != int64(listed) || listed != len(r.all)-gone {
		t.Errorf("%d pages listed, %d counted, want %d", listed, n, len(r.all)-gone)
	}
	for _, v := range requestlog.Check(log, requestlog.CheckOptions{Token: "curtsy", UserAgent: func(ua string) bool { return strings.HasPrefix(ua, "curtsy/") }}) {
		// It was requested before the log was cleared.
		if v.Rule != requestlog.RuleRobotsFirst && v.Rule != requestlog.RuleUnreachable {
			t.Error(v)
		}
	}
}
