package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/dustin/go-humanize"
)

// plainColumns is how wide a progress line may be where there is no terminal.
const plainColumns = 100

// progressLine describes the progress of a crawl in at most width columns. If they are too few, the
// least important parts are left out.
func progressLine(st crawl.Status, width int) string {
	pages, failed := term.Count(st.Stored, "page"), ""
	if st.Failed > 0 {
		failed = humanize.Comma(st.Failed) + " failed"
	}
	queued, rate := humanize.Comma(st.Queued+st.InFlight)+" queued", ""
	if phaseOf(st) == crawling && st.Rate > 0 {
		rate = rateText(st.Rate)
	}
	left := timeLeft(st)
	last, more := term.Count(st.Hosts, "host"), []string(nil)
	if b := st.Bottleneck; b != nil && (b.Kind == crawl.WaitsHost || b.Kind == crawl.WaitsLimit) {
		if last, more = "", []string{term.Clean(b.Sentence)}; b.Host != "" {
			more = append(more, "for "+term.Clean(b.Host))
		}
	}
	fits := func(line string) bool { return utf8.RuneCountInString(line) <= width }
	line := dotted(pages, queued, left)
	for _, fuller := range []string{dotted(pages, queued, rate, left), dotted(pages, failed, queued, rate, left)} {
		if fits(fuller) {
			line = fuller
		}
	}
	if last != "" {
		more = append(more, last)
	}
	for _, text := range more {
		separator := ", "
		if text == last {
			separator = " · "
		}
		if longer := line + separator + text; fits(longer) {
			return longer
		}
	}
	return term.Short(line, width)
}

// dotted joins the parts of a line that are not empty.
func dotted(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		if part != "" && b.Len() > 0 {
			b.WriteString(" · ")
		}
		b.WriteString(part)
	}
	return b.String()
}

// rateText is a number per second in a readable unit: per minute for a slow crawl.
func rateText(perSecond float64) string {
	switch {
	case perSecond >= 9.95:
		return humanize.Comma(int64(perSecond+0.5)) + "/s"
	case perSecond >= 0.95:
		return fmt.Sprintf("%.1f/s", perSecond)
	}
	return fmt.Sprintf("%.0f/min", perSecond*60)
}

// phase is what a crawl is doing, as far as that changes what a person can expect of it.
type phase string

const (
	crawling       phase = ""
	noDisk         phase = "disk full"
	paused         phase = "paused"
	closed         phase = "waiting for its hours"
	onlyPostponed  phase = "hosts postponed"
	operatorPaused phase = "hosts paused by the operator"
	roundOver      phase = "round over"
	fresh          phase = "fresh"
	finishing      phase = "finishing"
)

func phaseOf(st crawl.Status) phase {
	switch {
	case st.Trouble != "":
		return noDisk
	case st.State == "paused":
		return paused
	case st.Bottleneck != nil && st.Bottleneck.Kind == crawl.WaitsHours && st.OpensAt != nil:
		return closed
	case st.Bottleneck != nil && st.Bottleneck.Kind == crawl.WaitsPaused:
		return operatorPaused
	case st.ETA == nil && (st.Queued+st.InFlight > 0 || st.AtLeast > 0):
		return crawling
	case len(st.Postponed) > 0 && (st.ETA == nil || *st.ETA <= 0):
		return onlyPostponed
	case st.Queued+st.InFlight > 0:
		return crawling
	case st.Round != nil && st.Round.Over && st.Stored > 0:
		return roundOver
	case st.NextAgain != nil && st.Stored > 0:
		return fresh
	case st.Discovered == 0:
		return crawling // it begins
	}
	return finishing
}

// timeLeft describes the time left, or that it is unknown.
func timeLeft(st crawl.Status) string {
	switch phaseOf(st) {
	case noDisk:
		return "paused: disk full (curtsy status)"
	case paused:
		return "paused (curtsy resume)"
	case closed:
		return "waiting for its hours, next " + term.Clock(*st.OpensAt, time.Now())
	case onlyPostponed:
		return term.Count(int64(len(st.Postponed)), "host") + " postponed"
	case operatorPaused:
		return "waiting for paused hosts (curtsy host resume HOST)"
	case roundOver:
		return fmt.Sprintf("round %d is over, the next begins %s", st.Round.Number, term.Clock(st.Round.Next, time.Now()))
	case fresh:
		return "keeping them fresh, next " + term.Clock(*st.NextAgain, time.Now())
	case finishing:
		return "finishing"
	}
	switch {
	case st.ETA == nil && st.AtLeast > 0:
		return "at least " + service.Span(st.AtLeast) + " left"
	case st.ETA == nil || st.Queued+st.InFlight == 0:
		return "time left unknown"
	case len(st.Postponed) > 0:
		return fmt.Sprintf("%s left, %s postponed", service.ETA(st), term.Count(int64(len(st.Postponed)), "host"))
	}
	return service.ETA(st) + " left"
}
