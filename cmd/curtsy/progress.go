package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/dustin/go-humanize"
)

type logger = *slog.Logger

// progress shows how a crawl goes: to a person as one line that changes, to a program as JSON
// lines.
type progress struct {
	stdout, stderr io.Writer
	person         bool
	plain          bool // for a person without a terminal: lines
	none           bool // nothing until the end
	every          time.Duration

	mu    sync.Mutex // guards the rest, and the terminal
	line  string     // on the screen now
	shown time.Time
}

// newProgress shows it in one of config.ProgressModes.
func newProgress(stdout, stderr io.Writer, mode string) *progress {
	p := &progress{stdout: stdout, stderr: stderr, every: 5 * time.Second, plain: mode == "plain", none: mode == "none"}
	p.person = mode == "auto" && config.Terminal(stdout)
	if p.person {
		p.every = 500 * time.Millisecond
	}
	return p
}

// show shows a status, unless the last one is too young.
func (p *progress) show(st crawl.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none || time.Since(p.shown) < p.every {
		return
	}
	p.shown = time.Now()
	if p.plain {
		fmt.Fprintln(p.stdout, progressLine(st))
		return
	}
	if !p.person {
		p.print(st)
		return
	}
	p.line = progressLine(st)
	fmt.Fprint(p.stdout, clearLine+p.line)
}

// print writes a status as a JSON line, without the shards, which are for the done check.
func (p *progress) print(st crawl.Status) {
	st.Shards = nil
	enc := json.NewEncoder(p.stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(st); err != nil {
		fmt.Fprintln(p.stderr, "curtsy: standard output:", err)
	}
}

const clearLine = "\r\x1b[K"

// columns is how wide a progress line may be.
const columns = 80

// progressLine fits a terminal of 80 columns: what is waited for is left out where there is no
// room.
func progressLine(st crawl.Status) string {
	line := fmt.Sprintf("%s · %s queued · %.1f/s · %s", count(st.Stored, "page"), humanize.Comma(st.Queued+st.InFlight), st.Rate, timeLeft(st))
	b := st.Bottleneck
	if b == nil || b.Kind != crawl.WaitsHost && b.Kind != crawl.WaitsLimit {
		return line + " · " + count(st.Hosts, "host")
	}
	for _, more := range []string{b.Sentence, "for " + b.Host} {
		if longer := line + ", " + clean(more); utf8.RuneCountInString(longer) <= columns && more != "for " {
			return longer
		}
	}
	return line
}

// timeLeft is honest about what it does not know.
func timeLeft(st crawl.Status) string {
	switch {
	case st.Trouble != "":
		return "paused: disk full (curtsy status)"
	case st.State == "paused":
		return "paused (curtsy resume)"
	case st.ETA == nil && st.AtLeast > 0:
		return "at least " + service.Span(st.AtLeast) + " left"
	case st.ETA == nil:
		return "time left unknown"
	case len(st.Held) > 0 && *st.ETA <= 0:
		return count(int64(len(st.Held)), "host") + " on hold"
	case len(st.Held) > 0:
		return fmt.Sprintf("%s left, %s on hold", service.ETA(st), count(int64(len(st.Held)), "host"))
	}
	if st.Queued+st.InFlight == 0 {
		if st.Round != nil && st.Round.Over && st.Stored > 0 {
			return fmt.Sprintf("round %d is over, the next begins %s", st.Round.Number, clock(st.Round.Next, time.Now()))
		}
		if st.NextAgain != nil && st.Stored > 0 {
			return "keeping them fresh, next " + clock(*st.NextAgain, time.Now())
		}
		return "finishing"
	}
	return service.ETA(st) + " left"
}

// clock is when something is due, as short as it can be said.
func clock(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d <= time.Second:
		return "now"
	case d < 18*time.Hour:
		return "at " + t.Local().Format(time.TimeOnly)
	}
	return "on " + t.Local().Format(time.DateTime)
}

// clear takes the line off the screen.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line != "" {
		fmt.Fprint(p.stdout, clearLine)
	}
	p.line = ""
}

// say tells a person something in passing; a program reads it in the log.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.person {
		fmt.Fprintf(p.stdout, clearLine+format+"\n"+p.line, args...)
		return
	}
	fmt.Fprintf(p.stderr, "curtsy: "+format+"\n", args...)
}

// logTo is where the log goes: standard error, around the line when both are the same terminal.
func (p *progress) logTo() io.Writer {
	if p.person && config.Terminal(p.stderr) {
		return (*aroundLine)(p)
	}
	return p.stderr
}

// aroundLine writes whole lines above the progress line.
type aroundLine progress

// Terminal says that this is one, to whoever chooses a form.
func (*aroundLine) Terminal() bool { return true }

func (a *aroundLine) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.line != "" {
		fmt.Fprint(a.stdout, clearLine)
	}
	n, err := a.stderr.Write(b)
	if a.line != "" {
		fmt.Fprint(a.stdout, a.line)
	}
	return n, err
}
