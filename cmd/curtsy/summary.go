package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/dustin/go-humanize"
)

// finish prints how a crawl ended, and returns its exit code as an error.
func (p *progress) finish(dir string, end ending) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
	if p.form == formJSON {
		p.print(end.status)
	}
	w := p.people()
	summarize(w, end)
	for _, hint := range hints(dir, end) {
		fmt.Fprintln(w, hint)
	}
	if code := end.code(); code != app.ExitOK {
		return app.Exit(code, nil)
	}
	return nil
}

// code is the exit code of a crawl.
func (e ending) code() int {
	switch {
	case errors.Is(e.why, errLimit):
		return app.ExitLimit
	case e.why != nil:
		return app.ExitInterrupted
	case len(e.missed) > 0 || len(e.feeds) > 0:
		return app.ExitFailed
	}
	return app.ExitOK
}

// summarize describes what was done, what was not done, and why.
func summarize(w io.Writer, end ending) {
	st := end.status
	fmt.Fprintf(w, "%s: %s stored, %s redirected, %s refused, %s failed, %s queued, on %s\n",
		headline(end), term.Count(st.Stored, "page"), humanize.Comma(st.Redirected), humanize.Comma(st.Refused), humanize.Comma(st.Failed),
		humanize.Comma(st.Queued+st.InFlight), term.Count(st.Hosts, "host"))
	fmt.Fprintf(w, "ended %s after %s, %s received%s\n", end.at.Local().Format(time.DateTime), tookText(end.took), term.SizeText(st.Bytes-end.first.Bytes), thisRun(end))
	look.PrintReasons(w, st)
	if n := st.Queued + st.InFlight; n > 0 && end.why != nil {
		fmt.Fprintf(w, "%s %s queued because %s\n", term.Count(n, "URL"), map[bool]string{true: "stays", false: "stay"}[n == 1], end.because())
	}
	if st.PagesTrouble != "" && end.why != nil {
		fmt.Fprintf(w, "not all pages are stored: %s; they wait in the queue, and are stored when the crawl continues\n", term.Clean(st.PagesTrouble))
	}
	if st.Trouble != "" && end.why != nil {
		fmt.Fprintf(w, "paused at the end: %s\n", term.Clean(st.Trouble))
	}
	for _, err := range end.feeds {
		fmt.Fprintf(w, "not all pages were sent to %s\nWhat was sent is remembered. To go on: curtsy feed --to URL, or the same command again\n", term.Clean(err.Error()))
	}
	look.PrintRendering(w, st)
	look.PrintPostponed(w, st)
	look.PrintPaused(w, st)
	printMissed(w, end)
}

// thisRun describes what a run added to what earlier runs had stored.
func thisRun(end ending) string {
	switch more := end.status.Stored - end.first.Stored; {
	case end.first.Discovered == 0:
		return ""
	case more < 0:
		return fmt.Sprintf("; %s fewer than before this run", term.Count(-more, "page"))
	default:
		return fmt.Sprintf("; %s more than before this run", term.Count(more, "page"))
	}
}

// because is why a run ended before everything was done.
func (e ending) because() string {
	switch {
	case errors.Is(e.why, errLimit):
		return "--" + e.status.Limit + " is reached"
	case errors.Is(e.why, app.ErrStopped):
		return "the crawl was stopped"
	}
	return "the crawl was interrupted"
}

func headline(end ending) string {
	switch {
	case errors.Is(end.why, errLimit) && end.nothingNew() && end.status.Limit != "max-time":
		return "this crawl is finished as far as --" + end.status.Limit + " allows"
	case errors.Is(end.why, errLimit):
		return "ended by --" + end.status.Limit
	case errors.Is(end.why, app.ErrStopped):
		return "stopped"
	case errors.Is(end.why, context.Canceled), end.why != nil:
		return "interrupted"
	case end.none:
		return "failed: no seed could be fetched"
	case len(end.missed) > 0:
		return fmt.Sprintf("done, but %s of %s could not be fetched", humanize.Comma(int64(len(end.missed))), term.Count(int64(end.asked), "seed"))
	case end.nothingNew() && end.status.Queued > 0:
		return "nothing more can be done now"
	case end.nothingNew():
		return "this crawl is finished, there was nothing left to do"
	}
	return "done"
}

// nothingNew reports whether a run found the crawl finished: it changed the outcome of no URL. An
// equal sum alone would not prove that, because a wider limit turns refused URLs into stored ones.
func (e ending) nothingNew() bool {
	type outcomes struct{ stored, redirected, refused, failed, bytes int64 }
	of := func(st crawl.Status) outcomes {
		return outcomes{st.Stored, st.Redirected, st.Refused, st.Failed, st.Bytes}
	}
	return of(e.first) != outcomes{} && of(e.first) == of(e.status)
}

// hints are commands to continue with: how to go on, if that is useful; how to see what is stored;
// how to find out why the rest is not; how to export the result.
func hints(dir string, end ending) []string {
	in := ""
	if dir != config.NewCrawl().Dir {
		in = " --dir " + webtext.ShellWord(dir)
	}
	var hs []string
	hint := func(what, command string, args ...any) {
		hs = append(hs, fmt.Sprintf("%-14s ", what+":")+fmt.Sprintf(command, args...)+in)
	}
	st := end.status
	switch {
	case errors.Is(end.why, errLimit), end.why == nil && end.nothingNew():
		for _, flag := range widen(end) {
			hint("to go further", "curtsy crawl%s", flag)
		}
	case end.why != nil:
		hint("to go on", "curtsy crawl")
	}
	if end.why == nil && end.nothingNew() {
		hint("to add to it", "curtsy crawl https://another.example/")
	}
	if st.Rendering.Needed > 0 && cmp.Or(end.spec.Render, crawl.RenderNever) == crawl.RenderNever {
		hint("to render", "curtsy crawl --render %s", crawl.RenderAuto)
	}
	if st.Stored > 0 && end.spec.Search {
		hint("to search it", `curtsy search "words"`)
	} else if st.Stored > 0 {
		hint("to list it", "curtsy pages")
	}
	switch {
	case st.Failed > 0 && end.failed != "":
		hint("why it failed", "curtsy explain %s", webtext.ShellWord(end.failed))
	case st.Failed > 0:
		hint("what failed", "curtsy log --class failed")
	case len(st.Postponed) > 0:
		hint("what waits", "curtsy hosts --state held")
	case st.PausedHosts > 0:
		hint("what waits", "curtsy hosts --state paused")
	case end.refused != "":
		hint("why refused", "curtsy explain %s", webtext.ShellWord(end.refused))
	}
	if end.datasets > 0 {
		hint(term.Count(end.datasets, "dataset"), "curtsy datasets")
	}
	if end.spec.WARC != "" {
		hs = append(hs, fmt.Sprintf("%-14s curtsy archive list %s", "archive:", webtext.ShellWord(end.spec.WARC)))
	}
	if st.Stored > 0 && end.datasets == 0 && end.spec.WARC == "" {
		hint("to export it", "curtsy export pages --format markdown")
	}
	return hs
}

// widen returns the flags with which a crawl continues beyond its end.
func widen(end ending) []string {
	st, spec := end.status, end.spec
	var flags []string
	switch st.Limit {
	case "max-pages":
		flags = append(flags, fmt.Sprintf(" --max-pages %d", beyond(spec.MaxPages, st.Stored)))
	case "max-bytes":
		flags = append(flags, fmt.Sprintf(" --max-bytes %s", strings.ReplaceAll(config.Size(beyond(spec.MaxBytes, st.Bytes)).String(), ",", "")))
	case "max-time":
		flags = append(flags, "") // the limit was this run's
	}
	if st.ByReason[string(crawl.ReasonDepth)] > 0 {
		flags = append(flags, fmt.Sprintf(" --max-depth %d", spec.MaxDepth+1))
	}
	if st.ByReason[string(crawl.ReasonHostLimit)] > 0 {
		flags = append(flags, fmt.Sprintf(" --max-pages-per-host %d", 2*spec.MaxPagesPerHost))
	}
	if next := widerScopes[spec.Scope]; next != "" && len(flags) == 0 {
		flags = append(flags, " --scope "+next)
	}
	return flags
}

// widerScopes are the scopes to suggest after another. The whole web is never suggested.
var widerScopes = map[string]string{"page": "prefix", "prefix": "host", "host": "domain", "subdomains": "domain"}

// beyond doubles a limit until it is greater than what is used, because a limit that was lowered or
// exceeded would end the crawl again at once.
func beyond(limit, used int64) int64 {
	for limit *= 2; limit <= used && limit > 0; limit *= 2 {
	}
	return limit
}

// tookText is a duration in a readable unit.
func tookText(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return service.Span(d.Seconds())
}
