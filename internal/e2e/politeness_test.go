package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// TestPoliteOnManyHosts crawls 60 hosts with mixed delays and checks the log of the web against
// every promise: never two requests at the same time to a host, never a gap below its delay,
// nothing forbidden, robots.txt first.
func TestPoliteOnManyHosts(t *testing.T) { simnet.Test(t, testPoliteOnManyHosts) }

func testPoliteOnManyHosts(t *testing.T) {
	const hosts, pages, delay = 60, 6, 20 * time.Millisecond
	web := serve(t, simweb.Mixed(hosts, pages))
	spec := specFor(web)
	spec.Delay = delay
	r := newRig(t, web.net, spec, fetcher.Options{})
	r.seed()
	st := r.wait(2 * time.Minute)
	r.stop()
	log := web.Log()
	politeLog(t, log, requestlog.CheckOptions{Token: token, Delay: requestlog.Every(delay)})
	if len(log) < hosts*pages {
		t.Errorf("only %d requests: the log proves little", len(log))
	}
	judge(t, r, web)
	t.Logf("%d requests, %+v", len(log), st)
}

// judge compares what the crawl, which has stopped, states about each URL with what the web
// expects. Hosts in skip are paused for longer than the test waits.
func judge(t *testing.T, r *rig, web *website, skip ...string) {
	t.Helper()
	rd := r.files()
	defer rd.Close()
	want := web.Expect(token)
	bad := 0
	complain := func(format string, args ...any) {
		if bad++; bad <= 25 {
			t.Errorf(format, args...)
		}
	}
	for u, e := range want {
		if slices.ContainsFunc(skip, func(h string) bool { return strings.HasPrefix(u, "http://"+h) }) {
			continue
		}
		x, err := rd.Explain(t.Context(), u)
		if err != nil {
			if !e.Optional {
				complain("%s: %v, want %s %s", u, err, e.Class, e.Reason)
			}
			continue
		}
		if !x.Seen {
			if !e.Optional {
				complain("%s was never seen, want %s %s", u, e.Class, e.Reason)
			}
			continue
		}
		if !same(x, e) {
			complain("%s is %s (%s: %s), want %s (%s), also %v", u, x.State, x.Reason, x.Detail, e.Class, e.Reason, e.Also)
		}
	}
	if bad > 25 {
		t.Errorf("and %d more", bad-25)
	}
	for _, l := range crawlLog(t, r.dir) {
		if _, known := want[l.URL]; l.State == "stored" && !known && !web.Trap(l.URL) {
			complain("%s is stored, and the web does not know it", l.URL)
		}
	}
}

// logLine has the fields that the tests read from a line of DIR/crawl.jsonl.
type logLine struct {
	URL, State, Reason string
}

func crawlLog(t *testing.T, dir string) (lines []logLine) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "crawl.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for raw := range bytes.Lines(b) {
		var l logLine
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("crawl log: %v: %s", err, raw)
		}
		lines = append(lines, l)
	}
	return lines
}

// same reports whether an explanation is what the web expects, or an equally correct one.
func same(x crawl.Explanation, e simweb.Expectation) bool {
	state := x.State
	if state == crawl.Queued.String() {
		state = string(simweb.StaysQueued)
	}
	if state == string(e.Class) {
		return true
	}
	for _, c := range e.Also {
		if state == string(c) {
			return true
		}
	}
	return false
}

// TestEveryKindOfHost crawls a web on which every host has another special case: each kind
// of robots.txt, redirects, tags, broken and hostile pages, traps, encodings. Every URL must have
// the outcome that the web expects.
func TestEveryKindOfHost(t *testing.T) { simnet.Test(t, testEveryKindOfHost) }

func testEveryKindOfHost(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 3, Hosts: simweb.MixSize(), PagesPerHost: 4})
	spec := specFor(web)
	spec.MaxDepth = 12 // without it the traps would be endless
	r := newRig(t, web.net, spec, fetcher.Options{FirstByte: 1500 * time.Millisecond, WholeResponse: 3 * time.Second, RateWindow: 400 * time.Millisecond})
	r.seed()
	st := r.wait(3 * time.Minute)
	r.stop()
	polite(t, web, 0)
	// h0015 answers 503 for its robots.txt at first: it is requested again after five minutes, not
	// before.
	judge(t, r, web, "h0015.")
	t.Logf("%d requests, %+v", len(web.Log()), st)
}
