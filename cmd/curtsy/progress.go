package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
)

// progressForm is how a crawl shows how it goes.
type progressForm int

const (
	formTerminal progressForm = iota // one line, redrawn in place
	formPlain                        // a line each minute, and one when the phase changes
	formJSON                         // JSON lines for programs; people's lines go to standard error
	formNone                         // nothing before the end but where the dashboard is
)

// How often each form shows something.
const (
	redrawEvery = 500 * time.Millisecond
	plainFirst  = 10 * time.Second // the first plain line
	plainEvery  = time.Minute
	jsonEvery   = 5 * time.Second
	// steady is how long a phase lasts before it is worth a line: a queue is empty for moments.
	steady = 2 * time.Second
)

// progress shows people and programs how a crawl goes.
type progress struct {
	stdout, stderr io.Writer
	form           progressForm
	warnings       *recently // shared with the log of the services

	mu      sync.Mutex // guards the rest, and the terminal
	line    string     // the last one, without a clock; in a terminal "" when it is cleared
	shown   time.Time  // when that was
	next    time.Time  // plain: when the next is due
	phase   phase      // plain: what the crawl does now
	since   time.Time  // plain: from when on
	printed phase      // plain: the phase of the last line
}

// newProgress shows it in one of config.ProgressModes.
func newProgress(stdout, stderr io.Writer, mode string) *progress {
	p := &progress{stdout: stdout, stderr: stderr, form: formPlain, warnings: new(recently), next: time.Now().Add(plainFirst)}
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

// show shows a status, if it is time to.
func (p *progress) show(st crawl.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch p.form {
	case formTerminal:
		if now.Sub(p.shown) < redrawEvery {
			return
		}
		p.shown = now
		if line := progressLine(st, width(p.stdout)); line != p.line {
			p.line = line
			fmt.Fprint(p.stdout, clearLine+line)
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

// plainLine prints a line each minute and when a phase has begun, unless it would repeat the last.
func (p *progress) plainLine(st crawl.Status, now time.Time) {
	if ph := phaseOf(st); ph != p.phase {
		p.phase, p.since = ph, now
	}
	turned := p.phase != p.printed && now.Sub(p.since) >= steady
	if !turned && now.Before(p.next) {
		return
	}
	p.next = now.Add(plainEvery)
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

const clearLine = "\r\x1b[K"

// clear takes the line off the screen.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLocked()
}

func (p *progress) clearLocked() {
	if p.form == formTerminal && p.line != "" {
		fmt.Fprint(p.stdout, clearLine)
		p.line = ""
	}
}

// people is where a person reads.
func (p *progress) people() io.Writer {
	if p.form == formJSON {
		return p.stderr
	}
	return p.stdout
}

// printLine tells a person something in passing.
func (p *progress) printLine(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.form {
	case formTerminal:
		fmt.Fprintf(p.stdout, clearLine+format+"\n"+p.line, args...)
	case formPlain, formJSON:
		fmt.Fprintf(p.people(), format+"\n", args...)
	}
}

// need tells a person what nothing else can be done without. With formNone it goes to standard
// error, where a service has its log.
func (p *progress) need(format string, args ...any) {
	if p.form == formNone {
		fmt.Fprintf(p.stderr, format+"\n", args...)
		return
	}
	p.printLine(format, args...)
}

// warn tells a person what is wrong and what to do, on standard error. What was said a moment ago
// is not said again.
func (p *progress) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.warnings.again(text, time.Now()) {
		return
	}
	fmt.Fprintln(p.logTo(), "warning:", text)
}

// logTo is where warnings and the log go: standard error, around the line when both are the same
// terminal.
func (p *progress) logTo() io.Writer {
	if p.form == formTerminal && config.Terminal(p.stderr) {
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
