package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/config"
)

// statusLine shows how a command goes that prints its result at the end: in a terminal as one line
// that is redrawn in place, elsewhere as a line each minute, unless it would repeat the last.
type statusLine struct {
	w        io.Writer
	terminal bool

	mu   sync.Mutex // guards the rest, and the terminal
	line string     // the last one; in a terminal "" when it is cleared
	next time.Time  // when the next may be shown
}

// newStatusLine shows it on w, which is not where the result goes unless that is a terminal.
func newStatusLine(w io.Writer) *statusLine {
	l := &statusLine{w: w, terminal: config.Terminal(w)}
	if !l.terminal {
		l.next = time.Now().Add(plainFirst)
	}
	return l
}

// show shows the text, if it is time to: text is not called otherwise.
func (l *statusLine) show(text func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		return
	}
	line := text()
	switch {
	case l.terminal:
		l.next = now.Add(redrawEvery)
		if line = short(line, width(l.w)); line != l.line {
			fmt.Fprint(l.w, clearLine+line)
		}
	default:
		l.next = now.Add(plainEvery)
		if line != l.line {
			fmt.Fprintln(l.w, now.Local().Format(time.TimeOnly)+"  "+line)
		}
	}
	l.line = line
}

// clear takes the line off the screen.
func (l *statusLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal && l.line != "" {
		fmt.Fprint(l.w, clearLine)
		l.line = ""
	}
}

// width is how long a line may be on a terminal. One column stays free: some terminals begin a new
// line when the last one is written to.
func width(w io.Writer) int {
	if n := columnsOf(w); n > 1 {
		return n - 1
	}
	return columns - 1
}
