package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/hooks"
)

// What of a crawl needs attention, and since when.
func TestCausesForAttention(t *testing.T) {
	a := &attention{held: map[string]time.Time{}}
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	held := func(until time.Duration) []crawl.PostponedHost {
		return []crawl.PostponedHost{{Host: "a.test", Reason: "retry-after", Until: begin.Add(until)}}
	}
	lost := []missed{{"http://b.test/", crawl.Explanation{State: "failed", Reason: "dns"}}}
	for _, step := range []struct {
		after time.Duration
		st    crawl.Status
		want  []string
	}{
		{0, crawl.Status{State: "running"}, nil},
		{0, crawl.Status{State: "running", Postponed: held(time.Hour)}, nil},
		{23 * time.Hour, crawl.Status{State: "running", Postponed: held(23*time.Hour + time.Minute)}, nil},
		{24 * time.Hour, crawl.Status{State: "running", Postponed: held(25 * time.Hour)}, []string{"host a.test"}},
		{25 * time.Hour, crawl.Status{State: "running"}, nil},
		{26 * time.Hour, crawl.Status{State: "running", Postponed: held(26*time.Hour + 24*time.Hour)}, []string{"host a.test"}},
		{27 * time.Hour, crawl.Status{State: "paused"}, []string{"paused"}},
		{28 * time.Hour, crawl.Status{State: "paused", Trouble: "12 MiB free"}, []string{"disk"}},
		{29 * time.Hour, crawl.Status{State: "running", PagesTrouble: "12 MiB free"}, []string{"disk"}},
	} {
		var got []string
		for _, c := range a.causes(step.st, begin.Add(step.after)) {
			got = append(got, strings.TrimSpace(c.Kind+" "+c.Subject))
			if c.Kind == hooks.KindDisk && !c.Since.Equal(begin.Add(28*time.Hour)) {
				t.Errorf("the disk is full since %v", c.Since)
			}
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("after %v: %q, want %q", step.after, got, step.want)
		}
	}
	a.lost(lost, begin)
	a.lost(lost, begin.Add(time.Hour))
	if len(a.seeds) != 1 || a.seeds[0].Subject != "http://b.test/" || !a.seeds[0].Since.Equal(begin) {
		t.Errorf("%+v", a.seeds)
	}
	if a.lost(nil, begin); len(a.seeds) != 0 {
		t.Errorf("%+v", a.seeds)
	}
}

// A crawl of a seed that is gone and of one that is there: the seed is reported once, also when the
// crawl runs again, and each end is reported.
func TestHooksOfACrawl(t *testing.T) {
	virtual(t, func(t *testing.T) {
		web := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>Home</title>")
		}).URL
		dir, report := t.TempDir(), filepath.Join(t.TempDir(), "report")
		args := []string{"crawl", "--dir", dir, "--allow-private", "--listen", "off", "--on-done", "cat >> " + report + "; echo >> " + report,
			"--on-problem", "cat >> " + report + "; echo >> " + report}
		curtsy(t, app.ExitFailed, append(args, web+"/", web+"/gone")...)
		curtsy(t, app.ExitFailed, args...)
		data, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(data)) {
			var r hooks.Report
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			got = append(got, strings.TrimSpace(r.Event+" "+r.Cause.Kind+" "+r.Cause.Subject))
		}
		if want := []string{"problem seed " + web + "/gone", "end done", "end done"}; !slices.Equal(got, want) {
			t.Errorf("reported %q, want %q", got, want)
		}
	})
}
