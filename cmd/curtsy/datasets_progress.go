package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/download"
)

// downloadLine shows a person how downloads go, on one line that changes. A
// program sees the results.
type downloadLine struct {
	out    io.Writer
	person bool
	began  time.Time

	mu    sync.Mutex // guards the terminal, and the rest
	shown time.Time
}

func newDownloadLine(stdout io.Writer, wanted bool) *downloadLine {
	return &downloadLine{out: stdout, person: wanted && config.Terminal(stdout), began: time.Now()}
}

func (l *downloadLine) show(p download.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.person || time.Since(l.shown) < 200*time.Millisecond {
		return
	}
	l.shown = time.Now()
	fmt.Fprint(l.out, clearLine+downloadText(p, time.Since(l.began)))
}

// downloadText fits a terminal of 80 columns.
func downloadText(p download.Progress, took time.Duration) string {
	have := sizeText(p.Have)
	if p.Of >= 0 {
		have += " of " + sizeText(p.Of)
	}
	rate := sizeText(int64(float64(p.Bytes) / max(took.Seconds(), 0.1)))
	return fmt.Sprintf("%s: %s · %d of %d files · %s/s", short(clean(p.Name), 30), have, p.Over, p.Files, rate)
}

// clear takes the line off the screen.
func (l *downloadLine) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shown.IsZero() {
		fmt.Fprint(l.out, clearLine)
	}
	l.shown = time.Time{}
}
