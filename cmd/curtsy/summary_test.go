package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/config"
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
	at := time.Date(2026, 11, 27, 7, 12, 3, 0, time.UTC)
	tests := map[string]struct {
		end  ending
		code int
		want []string
	}{
		"done":     {ending{status: stored, spec: crawl.Spec{Search: true}}, 0, []string{"done: 2 pages stored", "curtsy search"}},
		"finished": {ending{first: stored, status: stored, spec: crawl.Spec{Scope: "host"}}, 0, []string{"this crawl is finished", "--scope domain", "curtsy pages"}},
		"domain":   {ending{first: stored, status: stored, spec: crawl.Spec{Scope: "domain"}}, 0, []string{"to add to it"}},
		"limit":    {ending{status: crawl.Status{Limit: "max-bytes", Queued: 1}, why: errLimit, spec: crawl.Spec{MaxBytes: 1 << 20}}, 3, []string{"ended by --max-bytes: ", "1 URL stays queued because --max-bytes is reached", "curtsy crawl --max-bytes 2MiB --dir 'my crawl'"}},
		"pages wait": {ending{status: crawl.Status{Limit: "max-time", Queued: 1, PagesTrouble: "the archive cannot be written:\x1b[2J no space left"}, why: errLimit}, 3,
			[]string{"ended by --max-time: ", "not all pages are stored: the archive cannot be written:[2J no space left; they wait in the queue, and are stored when the crawl continues\n"}},
		"paused by itself": {ending{status: crawl.Status{Trouble: "the disk is full"}, why: context.Canceled}, 130, []string{"paused at the end: the disk is full\n"}},
		"archive":          {ending{status: stored, spec: crawl.Spec{WARC: "/srv/my warc"}}, 0, []string{"to list it:    curtsy pages --dir 'my crawl'", "what failed:   curtsy log --class failed --dir 'my crawl'", "archive:       curtsy archive list '/srv/my warc'"}},
		"a failure":        {ending{status: stored, failed: "http://a.test/?x=1&y"}, 0, []string{"why it failed: curtsy explain 'http://a.test/?x=1&y' --dir 'my crawl'", "to export it:  curtsy export pages --format markdown --dir 'my crawl'"}},
		"reasons": {ending{status: crawl.Status{Discovered: 9, Stored: 1, Redirected: 2, Refused: 4, Failed: 2, ByReason: map[string]int64{"redirect": 2, "robots": 3, "mirror": 1, "timeout": 2}}, refused: "http://a.test/x"}, 0,
			[]string{"failed, by reason:\n  timeout             2  no answer in time\nrefused, by reason:\n  robots              3  its robots.txt forbids it\n  mirror              1  stored", "curtsy log --class failed"}},
		"refusals": {ending{status: crawl.Status{Discovered: 9, Stored: 1, Refused: 8}, refused: "http://a.test/x"}, 0, []string{"why refused:   curtsy explain http://a.test/x --dir"}},
		"waiting": {ending{status: crawl.Status{Discovered: 9, Stored: 1, Queued: 8, Postponed: []crawl.PostponedHost{{Host: "a.test", Queued: 8, Reason: "backing off"}}}}, 0,
			[]string{"postponed hosts (their URLs stay queued; the same command continues with them later):\n  a.test: 8 queued, backing off\n", "what waits:    curtsy hosts --state held --dir"}},
		"resumed": {ending{first: crawl.Status{Discovered: 2, Stored: 1, Bytes: 1024}, status: crawl.Status{Discovered: 4, Stored: 4, Bytes: 5120}, at: at, took: 3 * time.Second}, 0,
			[]string{"done: 4 pages stored, 0 redirected, 0 refused, 0 failed, 0 queued, on 0 hosts\nended " + at.Local().Format(time.DateTime) + " after 3.0s, 4.0 KiB received; 3 pages more than before this run\n"}},
		"long":     {ending{status: stored, at: at, took: 75 * time.Minute}, 0, []string{" after 1h15m, 0 B received\n"}},
		"paused":   {ending{status: crawl.Status{Discovered: 9, Queued: 9, PausedHosts: 1, PausedURLs: 9}}, 0, []string{"1 host paused by the operator, with 9 URLs queued: curtsy hosts --state paused"}},
		"datasets": {ending{status: stored, datasets: 1204}, 0, []string{"curtsy pages", "1,204 datasets: curtsy datasets --dir 'my crawl'"}},
		"shells": {ending{status: crawl.Status{Discovered: 20, Stored: 20, Rendering: crawl.RenderingCounts{Needed: 12}}}, 0,
			[]string{"12 pages have no text without JavaScript; --render auto renders such pages\n", "to render:     curtsy crawl --render auto --dir 'my crawl'\n"}},
		"rendered": {ending{status: crawl.Status{Discovered: 20, Stored: 20, Rendering: crawl.RenderingCounts{Done: 4, Failed: 1}}, spec: crawl.Spec{Render: "auto"}}, 0,
			[]string{"4 pages rendered\n1 page could not be rendered; curtsy explain URL shows why\n"}},
		"a dataset":   {ending{status: stored, datasets: 1}, 0, []string{"1 dataset:     curtsy datasets --dir"}},
		"interrupted": {ending{why: context.Canceled, status: crawl.Status{Discovered: 3, Queued: 2, InFlight: 1}}, 130, []string{"interrupted", "3 URLs stay queued because the crawl was interrupted", "to go on:      curtsy crawl --dir 'my crawl'"}},
		"stopped":     {ending{why: app.ErrStopped}, 130, []string{"stopped", "to go on"}},
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

// The final counts come from shards whose indexers have stopped. Why pages wait is known from
// before.
func TestEndedKeepsTrouble(t *testing.T) {
	w := watcher{end: ending{status: crawl.Status{Discovered: 2, Limit: "max-pages", PagesTrouble: "the archive is full", Trouble: "so is the disk"}, why: errLimit}}
	if st := w.ended(crawl.Status{Discovered: 3, Stored: 1}).status; st.Stored != 1 || st.Limit != "max-pages" || st.PagesTrouble != "the archive is full" || st.Trouble != "so is the disk" {
		t.Errorf("%+v", st)
	}
}

func TestProgressLine(t *testing.T) {
	eta := 3700.0
	st := crawl.Status{Discovered: 60000, Stored: 1234, Queued: 56789, Hosts: 12, Rate: 3.26, ETA: &eta, State: "running"}
	for _, tt := range []struct {
		what   string
		width  int
		change func(st *crawl.Status)
		want   string
	}{
		{"as it is", 80, func(*crawl.Status) {}, "1,234 pages · 56,789 queued · 3.3/s · 1h01m left · 12 hosts"},
		{"failures", 80, func(st *crawl.Status) { st.Failed = 1002 }, "1,234 pages · 1,002 failed · 56,789 queued · 3.3/s · 1h01m left · 12 hosts"},
		{"failures, narrow", 60, func(st *crawl.Status) { st.Failed = 1002 }, "1,234 pages · 56,789 queued · 3.3/s · 1h01m left · 12 hosts"},
		{"very narrow", 42, func(*crawl.Status) {}, "1,234 pages · 56,789 queued · 1h01m left"},
		{"too narrow", 20, func(*crawl.Status) {}, "1,234 pages · 56,78…"},
		{"slow", 80, func(st *crawl.Status) { st.Rate = 0.1 }, "1,234 pages · 56,789 queued · 6/min · 1h01m left · 12 hosts"},
		{"fast", 80, func(st *crawl.Status) { st.Rate = 1203.7 }, "1,234 pages · 56,789 queued · 1,204/s · 1h01m left · 12 hosts"},
		{"a host, no room for more", 80, func(st *crawl.Status) {
			st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsHost, Host: "a.example", Sentence: "waiting for a.example: 9 pages at 10 s"}
		}, "1,234 pages · 56,789 queued · 3.3/s · 1h01m left, for a.example"},
		{"a host", 80, func(st *crawl.Status) {
			st.Queued, st.Stored = 9, 12
			st.Bottleneck = &crawl.Bottleneck{Kind: crawl.WaitsHost, Host: "a.example", Sentence: "waiting for a.example: 9 pages at 10 s"}
		}, "12 pages · 9 queued · 3.3/s · 1h01m left, waiting for a.example: 9 pages at 10 s"},
		{"unknown", 80, func(st *crawl.Status) { st.ETA = nil }, "1,234 pages · 56,789 queued · 3.3/s · time left unknown · 12 hosts"},
		{"growing", 80, func(st *crawl.Status) { st.ETA, st.AtLeast = nil, 90 }, "1,234 pages · 56,789 queued · 3.3/s · at least 1m30s left · 12 hosts"},
		{"paused", 80, func(st *crawl.Status) { st.State = "paused" }, "1,234 pages · 56,789 queued · paused (curtsy resume) · 12 hosts"},
		{"disk full", 80, func(st *crawl.Status) { st.State, st.Trouble = "paused", "the disk is full" }, "1,234 pages · 56,789 queued · paused: disk full (curtsy status) · 12 hosts"},
		{"some hosts postponed", 80, func(st *crawl.Status) { st.Postponed = make([]crawl.PostponedHost, 3) }, "1,234 pages · 56,789 queued · 3.3/s · 1h01m left, 3 hosts postponed · 12 hosts"},
		{"only hosts that are postponed", 80, func(st *crawl.Status) { zero := 0.; st.ETA, st.Postponed = &zero, make([]crawl.PostponedHost, 1) }, "1,234 pages · 56,789 queued · 1 host postponed · 12 hosts"},
		{"the last pages", 80, func(st *crawl.Status) { zero := 0.; st.ETA, st.Queued = &zero, 0 }, "1,234 pages · 0 queued · finishing · 12 hosts"},
		{"it begins", 80, func(st *crawl.Status) { *st = crawl.Status{State: "running"} }, "0 pages · 0 queued · time left unknown · 0 hosts"},
	} {
		is := st
		tt.change(&is)
		if got := progressLine(is, tt.width); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}

// The form of --progress is shown, and nothing else. Text for people is on standard output, unless
// that is for programs.
func TestProgressModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := crawl.Status{Stored: 1, State: "done"}
		line := "1 page · 0 queued · time left unknown · 0 hosts\n"
		for mode, want := range map[string]struct{ out, err string }{
			"auto":  {line, ""}, // not a terminal
			"plain": {line, ""},
			"json":  {`"stored":1`, "done: 1 page stored"},
			"none":  {"", ""},
		} {
			var out, errs bytes.Buffer
			p := newProgress(&out, &errs, mode)
			time.Sleep(term.PlainFirst)
			p.show(st)
			if p.need("dashboard: %s", "http://[::]:8080/"); mode == "none" && errs.String() != "dashboard: http://[::]:8080/\n" {
				t.Errorf("none: the dashboard is at %q", errs.String())
			} else if mode == "none" {
				errs.Reset()
			}
			if mode == "none" && out.Len() > 0 {
				t.Errorf("none: %q", out.String())
			}
			if err := p.finish(".", ending{status: st}); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			if !strings.Contains(out.String(), want.out) || !strings.Contains(errs.String(), want.err) || want.err == "" && (errs.Len() > 0 || !strings.Contains(out.String(), "done: 1 page stored")) {
				t.Errorf("%s: %q and %q, want %q and %q", mode, out.String(), errs.String(), want.out, want.err)
			}
			if json := strings.Contains(out.String(), "{"); json != (mode == "json") {
				t.Errorf("%s: JSON lines: %v", mode, json)
			}
		}
	})
}

// Without a terminal there is a line each minute, and one when the phase of the crawl changes for
// more than a moment. No line repeats the one before.
func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, &out, "auto")
		began := time.Now()
		run := func(d time.Duration, st func(second int) crawl.Status) {
			for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(time.Second) {
				p.show(st(int(time.Since(began).Seconds())))
			}
		}
		left, none := 60., 0.
		running := func(second int) crawl.Status {
			return crawl.Status{Discovered: 900, Stored: int64(second), Queued: 900 - int64(second), Rate: 1, ETA: &left, State: "running", Hosts: 1}
		}
		run(185*time.Second, running)
		run(time.Second, func(second int) crawl.Status { // the queue is empty for a moment
			return crawl.Status{Discovered: 900, Stored: int64(second), ETA: &none, State: "running", Hosts: 1}
		})
		run(34*time.Second, running)
		run(time.Hour, func(int) crawl.Status {
			return crawl.Status{Discovered: 900, Stored: 220, Queued: 680, State: "paused", Hosts: 1}
		})
		at := func(seconds int) string {
			return began.Add(time.Duration(seconds) * time.Second).Local().Format(time.TimeOnly)
		}
		want := ""
		for _, second := range []int{10, 70, 130, 190} {
			want += fmt.Sprintf("%s  %d pages · %d queued · 1.0/s · 1m00s left · 1 host\n", at(second), second, 900-second)
		}
		want += at(222) + "  220 pages · 680 queued · paused (curtsy resume) · 1 host\n"
		if out.String() != want {
			t.Errorf("printed:\n%s\nwant:\n%s", out.String(), want)
		}
	})
}

// A warning or a log line does not leave half a progress line on the screen.
func TestLogAroundLine(t *testing.T) {
	var screen bytes.Buffer
	p := &progress{stdout: &screen, stderr: &screen, form: formTerminal}
	p.show(crawl.Status{Stored: 1, State: "running"})
	if _, err := (*aroundLine)(p).Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	p.printLine("news of %s", "a crawl")
	p.clear()
	p.printLine("more")
	line := "1 page · 0 queued · time left unknown · 0 hosts"
	want := term.ClearLine + line + term.ClearLine + "a log line\n" + line + term.ClearLine + "news of a crawl\n" + line + term.ClearLine + term.ClearLine + "more\n"
	if screen.String() != want {
		t.Errorf("screen:\n%q\nwant\n%q", screen.String(), want)
	}
}

// Services warn in sentences, and repeat none within a minute. Their log is printed if it is asked
// for.
func TestServiceLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := config.NewCrawl().Common
		log := term.ServiceLog(c, slog.LevelWarn, &out, new(term.Recently)).With("shard", 3)
		speak := func() {
			log.Info("shard ready")
			log.Warn("a page is unreadable\x1b[2J", "url", "http://a.test/", "vouched_for_by", "b.test", "err", errors.New("it is\nbroken"))
			log.Error("the disk refuses writes")
		}
		speak()
		speak()
		const want = "warning: a page is unreadable[2J: it is broken (url http://a.test/, vouched for by b.test)\nerror: the disk refuses writes\n"
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
		time.Sleep(term.NotAgainFor)
		speak()
		if out.String() != want+want {
			t.Errorf("a minute later: %q", out.String())
		}
		for level, lines := range map[string]int{"info": 3, "warn": 2, "error": 1, config.AutoLevel: 2} {
			out.Reset()
			c.LogLevel, c.LogFormat = level, "json"
			log = term.ServiceLog(c, slog.LevelWarn, &out, new(term.Recently))
			speak()
			if n := strings.Count(out.String(), `"level":`); n != lines {
				t.Errorf("%s: %d lines, want %d:\n%s", level, n, lines, out.String())
			}
		}
	})
}

// What a person can act on is reported when it changes.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		p := newProgress(&out, &errs, "plain")
		var n notes
		full := crawl.Status{State: "paused", Trouble: "the disk of /srv has 9 MiB free: free some space", PausedHosts: 1, PausedURLs: 2}
		fuller := full
		fuller.Trouble = "the disk of /srv has 8 MiB free: free some space"
		for _, st := range []crawl.Status{{}, full, fuller, {PausedHosts: 1, PausedURLs: 9}, {PagesTrouble: "no room"}, {PagesTrouble: "less room"}, {}, {}} {
			n.print(p, st)
		}
		// A service reports the same about the disk in its own log.
		term.ServiceLog(config.NewCrawl().Common, slog.LevelWarn, &errs, p.warnings).Error("paused", "err", full.Trouble)
		if got, want := errs.String(), "warning: paused: the disk of /srv has 9 MiB free: free some space\nwarning: not all pages are stored: no room\n"; got != want {
			t.Errorf("warnings %q, want %q", got, want)
		}
		want := "1 host paused by the operator, with 2 URLs queued; to continue one: curtsy host resume HOST\nthe crawl continues\nno host is paused any more\npages are stored again\n"
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	})
}
