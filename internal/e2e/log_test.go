package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// TestLogInManyFiles crawls with a log whose files hold ten lines or so. Who follows it from the
// beginning, over a stop and a new start, is told of each page once, and so is who reads it back
// from its end, at rest.
func TestLogInManyFiles(t *testing.T) { simnet.Test(t, testLogInManyFiles) }

func testLogInManyFiles(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 3, Hosts: 3, PagesPerHost: 20, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, CrawlDelay: 40 * time.Millisecond}
	}})
	spec := specFor(web)
	spec.Scope, spec.HoldMax = "host", time.Second
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true, logs: frontier.CrawlLog{Max: 2000, Keep: 1000}}, fetcher.Options{})
	told, after := map[string]int{}, ""
	follow := func() {
		t.Helper()
		for {
			q := crawl.LogQuery{After: after, Class: "stored", Limit: 7}
			if after == "" {
				q.Limit = 500 // of what there is when it begins to look
			}
			p, err := r.engine.Crawl().Log(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range p.Lines {
				told[l.URL]++
			}
			if after = p.After; len(p.Lines) == 0 {
				return
			}
		}
	}
	follow()
	r.seed()
	first := r.wait(time.Minute)
	follow()
	r.stop()
	r.spec.Scope = "domain"
	r.start(r.dir, fetcher.Options{})
	st := r.wait(time.Minute)
	// A line is written when what it tells is committed, a moment after that counts.
	follow()
	for end := time.Now().Add(time.Minute); int64(len(told)) < st.Stored && time.Now().Before(end); follow() {
		time.Sleep(20 * time.Millisecond)
	}
	if int64(len(told)) != st.Stored || st.Stored <= first.Stored {
		t.Errorf("who followed was told of %d pages, %d are stored, %d at first", len(told), st.Stored, first.Stored)
	}
	r.stop()
	files, err := filepath.Glob(filepath.Join(r.dir, "crawl-*.jsonl"))
	if err != nil || len(files) < 3 {
		t.Errorf("%d full files, %v", len(files), err)
	}
	c := r.files()
	defer c.Close()
	back := map[string]int{}
	for before, n := "", 0; ; n++ {
		p, err := c.Log(t.Context(), crawl.LogQuery{Before: before, Class: "stored", Limit: 7})
		if err != nil || n > 1000 {
			t.Fatal(n, err)
		}
		for _, l := range p.Lines {
			back[l.URL]++
		}
		if before = p.Before; before == "" {
			break
		}
	}
	for u, n := range told {
		if n != 1 || back[u] != 1 {
			t.Errorf("%s: told %d times, read back %d times", u, n, back[u])
		}
	}
	if len(back) != len(told) {
		t.Errorf("%d pages read back, told of %d", len(back), len(told))
	}
}
