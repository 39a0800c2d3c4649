package term

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/config"
)

// How often something is shown that changes while a command works.
const (
	RedrawEvery = 500 * time.Millisecond // in a terminal
	PlainFirst  = 10 * time.Second       // elsewhere: the first line
	PlainEvery  = time.Minute            // elsewhere: each line after that
)

// ClearLine removes the line of the cursor from a terminal.
const ClearLine = "\r\x1b[K"

// columns is how wide a line may be in a terminal that does not report its width.
const columns = 80

// StatusLine shows the progress of a command that prints its result at the end: in a terminal as
// one line that is redrawn in place, elsewhere as a line each minute, unless it would repeat the
// last line.
type StatusLine struct {
	w        io.Writer
	terminal bool

	mu   sync.Mutex // guards the rest, and the terminal
	line string     // the last one; in a terminal "" when it is cleared
	next time.Time  // when the next may be shown
}

// NewStatusLine makes one on w, which is not where the result goes unless that is a terminal.
func NewStatusLine(w io.Writer) *StatusLine {
	l := &StatusLine{w: w, terminal: config.Terminal(w)}
	if !l.terminal {
		l.next = time.Now().Add(PlainFirst)
	}
	return l
}

// Show shows the text, if enough time has passed. Otherwise text is not called.
func (l *StatusLine) Show(text func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.next) {
		return
	}
	line := text()
	switch {
	case l.terminal:
		l.next = now.Add(RedrawEvery)
		if line = Short(line, Width(l.w)); line != l.line {
			fmt.Fprint(l.w, ClearLine+line)
		}
	default:
		l.next = now.Add(PlainEvery)
		if line != l.line {
			fmt.Fprintln(l.w, now.Local().Format(time.TimeOnly)+"  "+line)
		}
	}
	l.line = line
}

// Clear removes the line from the screen.
func (l *StatusLine) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminal && l.line != "" {
		fmt.Fprint(l.w, ClearLine)
		l.line = ""
	}
}

// Width is how long a line may be on a terminal. One column stays free, because some terminals
// begin a new line when the last column is written.
func Width(w io.Writer) int {
	if n := columnsOf(w); n > 1 {
		return n - 1
	}
	return columns - 1
}
