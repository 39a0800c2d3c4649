package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
)

// progressForm is a form in which the progress of a crawl is shown.
type progressForm int

const (
	formTerminal progressForm = iota // one line, redrawn in place
	formPlain                        // a line each minute, and one when the phase changes
	formJSON                         // JSON lines for programs; people's lines go to standard error
	formNone                         // nothing before the end but where the dashboard is
)

// How often each form shows something, besides what a status line does.
const (
	jsonEvery = 5 * time.Second
	// steady is how long a phase must last before it is reported, because a queue can be empty for
	// a moment.
	steady = 2 * time.Second
)

// progress shows people and programs the progress of a crawl.
type progress struct {
	stdout, stderr io.Writer
	form           progressForm
	warnings       *term.Recently // shared with the log of the services

	mu      sync.Mutex // guards the rest, and the terminal
	line    string     // the last one, without a clock; in a terminal "" when it is cleared
	shown   time.Time  // when that was
	next    time.Time  // plain: when the next is due
	phase   phase      // plain: what the crawl does now
	since   time.Time  // plain: from when on
	printed phase      // plain: the phase of the last line
}

// newProgress makes one for a mode of config.ProgressModes.
func newProgress(stdout, stderr io.Writer, mode string) *progress {
	p := &progress{stdout: stdout, stderr: stderr, form: formPlain, warnings: new(term.Recently), next: time.Now().Add(term.PlainFirst)}
	switch {
	case mode == "json":
		p.form = formJSON
	case mode == "none":
		p.form = formNone
	case mode == "auto" && config.Terminal(stdout):
		p.form = formTerminal
	}
	return p
}

// show shows a status, if enough time has passed.
func (p *progress) show(st crawl.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch p.form {
	case formTerminal:
		if now.Sub(p.shown) < term.RedrawEvery {
			return
		}
		p.shown = now
		if line := progressLine(st, term.Width(p.stdout)); line != p.line {
			p.line = line
			fmt.Fprint(p.stdout, term.ClearLine+line)
		}
	case formPlain:
		p.plainLine(st, now)
	case formJSON:
		if now.Sub(p.shown) >= jsonEvery {
			p.shown = now
			p.print(st)
		}
	}
}

// plainLine prints a line each minute and at the beginning of a phase, unless it would repeat the
// last line.
func (p *progress) plainLine(st crawl.Status, now time.Time) {
	if ph := phaseOf(st); ph != p.phase {
		p.phase, p.since = ph, now
	}
	turned := p.phase != p.printed && now.Sub(p.since) >= steady
	if !turned && now.Before(p.next) {
		return
	}
	p.next = now.Add(term.PlainEvery)
	p.printed = p.phase
	if line := progressLine(st, plainColumns); line != p.line {
		p.line = line
		fmt.Fprintln(p.stdout, now.Local().Format(time.TimeOnly)+"  "+line)
	}
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

// clear removes the line from the screen.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

func (p *progress) clearLocked() {
	if p.form == formTerminal && p.line != "" {
		fmt.Fprint(p.stdout, term.ClearLine)
		p.line = ""
	}
}

// people is where text for people is printed.
func (p *progress) people() io.Writer {
	if p.form == formJSON {
		return p.stderr
	}
	return p.stdout
}

// printLine prints a line for people.
func (p *progress) printLine(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.form {
	case formTerminal:
		fmt.Fprintf(p.stdout, term.ClearLine+format+"\n"+p.line, args...)
	case formPlain, formJSON:
		fmt.Fprintf(p.people(), format+"\n", args...)
	}
}

// need prints a line that a person needs to continue. With formNone it goes to standard error,
// where a service has its log.
func (p *progress) need(format string, args ...any) {
	if p.form == formNone {
		fmt.Fprintf(p.stderr, format+"\n", args...)
		return
	}
	p.printLine(format, args...)
}

// warn prints a warning on standard error, unless the same was printed a moment ago.
func (p *progress) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.warnings.Again(text, time.Now()) {
		return
	}
	fmt.Fprintln(p.logTo(), "warning:", text)
}

// logTo is where warnings and the log go: to standard error, above the progress line if both are on
// the same terminal.
func (p *progress) logTo() io.Writer {
	if p.form == formTerminal && config.Terminal(p.stderr) {
		return (*aroundLine)(p)
	}
	return p.stderr
}

// aroundLine writes whole lines above the progress line.
type aroundLine progress

// Terminal reports that this is a terminal, to code that chooses a form.
func (*aroundLine) Terminal() bool { return true }

func (a *aroundLine) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.line != "" {
		fmt.Fprint(a.stdout, term.ClearLine)
	}
	n, err := a.stderr.Write(b)
	if a.line != "" {
		fmt.Fprint(a.stdout, a.line)
	}
	return n, err
}
