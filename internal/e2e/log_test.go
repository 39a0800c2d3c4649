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

// TestLogInManyFiles crawls with a log whose files have about ten lines each. A reader that follows
// the log from the beginning, over a stop and a restart, gets each page once, and so does a reader
// that reads it backwards when the crawl does not run.
func TestLogInManyFiles(t *testing.T) { simnet.Test(t, testLogInManyFiles) }

func testLogInManyFiles(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 3, Hosts: 3, PagesPerHost: 20, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsSubtree, CrawlDelay: 40 * time.Millisecond}
	}})
	spec := specFor(web)
	spec.Scope, spec.HoldMax = "host", time.Second
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true, logs: frontier.CrawlLog{Max: 2000, Keep: 1000}}, fetcher.Options{})
	followed, after := map[string]int{}, ""
	follow := func() {
		t.Helper()
		for {
			q := crawl.LogQuery{After: after, Class: "stored", Limit: 7}
			if after == "" {
				q.Limit = 500 // of the lines that exist when it begins
			}
			p, err := r.engine.Crawl().Log(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range p.Lines {
				followed[l.URL]++
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
	// A line is written with the commit of its event, a moment after the event is counted.
	follow()
	for end := time.Now().Add(time.Minute); int64(len(followed)) < st.Stored && time.Now().Before(end); follow() {
		time.Sleep(20 * time.Millisecond)
	}
	if int64(len(followed)) != st.Stored || st.Stored <= first.Stored {
		t.Errorf("the follower got %d pages, %d are stored, %d at first", len(followed), st.Stored, first.Stored)
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
	for u, n := range followed {
		if n != 1 || back[u] != 1 {
			t.Errorf("%s: followed %d times, read back %d times", u, n, back[u])
		}
	}
	if len(back) != len(followed) {
		t.Errorf("%d pages read back, %d followed", len(back), len(followed))
	}
}
