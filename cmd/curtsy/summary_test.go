package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestReached(t *testing.T) {
	tests := map[string]struct {
		spec crawl.Spec
		st   crawl.Status
		done bool
		want string
	}{
		"nothing":                     {},
		"pages":                       {crawl.Spec{MaxPages: 5}, crawl.Status{Stored: 5, Queued: 1}, false, "max-pages"},
		"pages, one under way":        {crawl.Spec{MaxPages: 5}, crawl.Status{Stored: 5, Queued: 1, InFlight: 1}, false, ""},
		"pages, and there is no more": {crawl.Spec{MaxPages: 5}, crawl.Status{Stored: 5}, true, ""},
		"bytes":                       {crawl.Spec{MaxBytes: 9}, crawl.Status{Bytes: 10, Queued: 1}, false, "max-bytes"},
		"depth, not yet done":         {crawl.Spec{MaxDepth: 1}, crawl.Status{ByReason: map[string]int64{"depth": 1}}, false, ""},
		"depth":                       {crawl.Spec{MaxDepth: 1}, crawl.Status{ByReason: map[string]int64{"depth": 1}}, true, "max-depth"},
		"host":                        {crawl.Spec{MaxPagesPerHost: 1}, crawl.Status{ByReason: map[string]int64{"host-limit": 1}}, true, "max-pages-per-host"},
		"the frontier says so":        {crawl.Spec{}, crawl.Status{Limit: "max-bytes"}, false, "max-bytes"},
	}
	for name, tt := range tests {
		if got := reached(tt.spec, tt.st, tt.done); got != tt.want {
			t.Errorf("%s: reached = %q, want %q", name, got, tt.want)
		}
	}
}

func TestEndings(t *testing.T) {
	stored := crawl.Status{Discovered: 3, Stored: 2, Failed: 1}
	tests := map[string]struct {
		end  ending
		code int
		want []string
	}{
		"done":        {ending{status: stored, spec: crawl.Spec{Search: true}}, 0, []string{"done: 2 pages stored", "curtsy search"}},
		"finished":    {ending{first: stored, status: stored, spec: crawl.Spec{Scope: "host"}}, 0, []string{"this crawl is finished", "--scope domain", "curtsy pages"}},
		"domain":      {ending{first: stored, status: stored, spec: crawl.Spec{Scope: "domain"}}, 0, []string{"to add to it"}},
		"limit":       {ending{status: crawl.Status{Limit: "max-bytes"}, why: errLimit, spec: crawl.Spec{MaxBytes: 1 << 20}}, 3, []string{"ended by --max-bytes", "curtsy crawl --max-bytes 2MiB --dir 'my crawl'"}},
		"interrupted": {ending{why: context.Canceled}, 130, []string{"interrupted", "to go on:      curtsy crawl --dir 'my crawl'"}},
		"stopped":     {ending{why: errStopped}, 130, []string{"stopped", "to go on"}},
		"one seed": {ending{status: stored, asked: 3, missed: []missed{
			{"http://a.test/", crawl.Explanation{Canonical: "http://b.test/", InScope: false, ScopeRule: "scope host", State: "unknown"}}}}, 1,
			[]string{"done, but 1 of 3 seeds could not be fetched", "seed http://a.test/ → http://b.test/: unknown: not in scope (scope host)"}},
		"no seed": {ending{missed: []missed{{"http://a.test/", crawl.Explanation{Canonical: "http://a.test/", InScope: true, State: "failed", Reason: "dns", Detail: "no\x1b[2Jsuch host"}}}, asked: 1, none: true}, 1, []string{"no seed could be fetched", "seed http://a.test/: failed: dns: no[2Jsuch host"}},
	}
	for name, tt := range tests {
		var out bytes.Buffer
		summarize(&out, tt.end)
		out.WriteString(strings.Join(hints("my crawl", tt.end), "\n"))
		if got := tt.end.code(); got != tt.code {
			t.Errorf("%s: code %d, want %d", name, got, tt.code)
		}
		for _, w := range tt.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s: summary lacks %q:\n%s", name, w, out.String())
			}
		}
	}
}

func TestProgressLine(t *testing.T) {
	eta := 3700.0
	st := crawl.Status{Stored: 1234, Queued: 56789, Hosts: 12, Rate: 3.26, ETA: &eta, State: "running"}
	if got, want := progressLine(st), "1,234 pages · 56,789 queued · 12 hosts · 3.3/s · 1h01m left"; got != want {
		t.Errorf("progressLine = %q, want %q", got, want)
	}
	st.ETA = nil
	if got := progressLine(st); !strings.HasSuffix(got, "time left unknown") {
		t.Errorf("without ETA: %q", got)
	}
}

// A log line does not leave half a progress line on the screen.
func TestLogAroundLine(t *testing.T) {
	var screen bytes.Buffer
	p := &progress{stdout: &screen, stderr: &screen, person: true, every: time.Hour}
	p.show(crawl.Status{Stored: 1, State: "running"})
	if _, err := (*aroundLine)(p).Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	p.clear()
	line := "1 page · 0 queued · 0 hosts · 0.0/s · time left unknown"
	want := clearLine + line + clearLine + "a log line\n" + line + clearLine
	if screen.String() != want {
		t.Errorf("screen:\n%q\nwant\n%q", screen.String(), want)
	}
}

func TestClean(t *testing.T) {
	if got, want := clean(" a\tb\r\n\x1b[31mc\u202e\x07 "), "a b  [31mc"; got != want {
		t.Errorf("clean = %q, want %q", got, want)
	}
}

func TestExitCode(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{t.Context(), nil, 0},
		{t.Context(), errors.New("x"), 1},
		{t.Context(), usage("x"), 2},
		{t.Context(), &exit{code: 3}, 3},
		{canceled, context.Canceled, 130},
		{t.Context(), context.Canceled, 1},
	} {
		a := &app{stderr: new(bytes.Buffer), parsed: true}
		if got := a.exitCode(tt.ctx, tt.err); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}
