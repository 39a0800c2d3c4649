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
		"archive":     {ending{status: stored, spec: crawl.Spec{WARC: "/srv/my warc"}}, 0, []string{"what failed:   curtsy log --class failed --dir 'my crawl'", "archive:       curtsy archive list '/srv/my warc'"}},
		"paused":      {ending{status: crawl.Status{Discovered: 9, Queued: 9, PausedHosts: 1, PausedURLs: 9}}, 0, []string{"1 host paused by the operator, with 9 URLs queued: curtsy hosts --state paused"}},
		"datasets":    {ending{status: stored, datasets: 1204}, 0, []string{"curtsy pages", "1,204 datasets: curtsy datasets --dir 'my crawl'"}},
		"a dataset":   {ending{status: stored, datasets: 1}, 0, []string{"1 dataset:     curtsy datasets --dir"}},
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
	if got, want := progressLine(st), "1,234 pages · 56,789 queued · 3.3/s · 1h01m left · 12 hosts"; got != want {
		t.Errorf("progressLine = %q, want %q", got, want)
	}
	st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsHost, Host: "a.example", Sentence: "waiting for a.example: 9 pages at 10 s"}
	if got, want := progressLine(st), "1,234 pages · 56,789 queued · 3.3/s · 1h01m left, for a.example"; got != want {
		t.Errorf("without room for more: %q, want %q", got, want)
	}
	st.Queued = 9
	st.Stored = 12
	if got, want := progressLine(st), "12 pages · 9 queued · 3.3/s · 1h01m left, waiting for a.example: 9 pages at 10 s"; got != want {
		t.Errorf("progressLine = %q, want %q", got, want)
	}
	st.ETA, st.Bottleneck = nil, nil
	if got := progressLine(st); !strings.Contains(got, "time left unknown") {
		t.Errorf("without ETA: %q", got)
	}
	st.AtLeast = 90
	zero := 0.0
	if got := timeLeft(crawl.Status{Queued: 9, ETA: &zero, Held: make([]crawl.HeldHost, 3)}); got != "3 hosts on hold" {
		t.Errorf("with hosts on hold alone: %q", got)
	}
	if got := progressLine(st); !strings.Contains(got, "at least 1m30s left") {
		t.Errorf("while it grows: %q", got)
	}
}

// What --progress says is shown, and nothing else.
func TestProgressModes(t *testing.T) {
	st := crawl.Status{Stored: 1, State: "done"}
	for mode, want := range map[string]struct{ out, err string }{
		"auto":  {`"stored":1`, "done: 1 page stored"}, // not a terminal
		"json":  {`"stored":1`, "done: 1 page stored"},
		"plain": {"1 page · 0 queued", ""},
		"none":  {"", "done: 1 page stored"},
	} {
		var out, errs bytes.Buffer
		p := newProgress(&out, &errs, mode)
		p.show(st)
		if err := p.finish(".", ending{status: st}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if mode == "none" && out.Len() > 0 || !strings.Contains(out.String(), want.out) || !strings.Contains(errs.String(), want.err) {
			t.Errorf("%s: %q and %q, want %q and %q", mode, out.String(), errs.String(), want.out, want.err)
		}
		if json := strings.Contains(out.String(), "{"); json != (mode == "json" || mode == "auto") {
			t.Errorf("%s: JSON lines: %v", mode, json)
		}
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
	line := "1 page · 0 queued · 0.0/s · time left unknown · 0 hosts"
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
