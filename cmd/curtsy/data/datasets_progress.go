package data

import (
	"fmt"
	"io"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/download"
)

// downloadLine shows the progress of downloads.
type downloadLine struct {
	*term.StatusLine
	past []downloaded // at least a second apart, the oldest a minute ago
}

// downloaded is how many bytes had arrived at a time.
type downloaded struct {
	at    time.Time
	bytes int64
}

func newDownloadLine(stderr io.Writer) *downloadLine {
	return &downloadLine{StatusLine: term.NewStatusLine(stderr), past: []downloaded{{time.Now(), 0}}}
}

func (l *downloadLine) progress(p download.Progress) {
	l.Show(func() string { return downloadText(p, l.rate(p.Bytes, time.Now())) })
}

// rate is how many bytes a second arrived in the last minute.
func (l *downloadLine) rate(bytes int64, now time.Time) float64 {
	if bytes < l.past[len(l.past)-1].bytes { // the downloads were begun again
		l.past = []downloaded{{now, bytes}}
	}
	for len(l.past) > 1 && now.Sub(l.past[1].at) >= time.Minute {
		l.past = l.past[1:]
	}
	from := l.past[0]
	if now.Sub(l.past[len(l.past)-1].at) >= time.Second {
		l.past = append(l.past, downloaded{now, bytes})
	}
	return float64(bytes-from.bytes) / max(now.Sub(from.at).Seconds(), 0.1)
}

// downloadText fits a terminal of 80 columns.
func downloadText(p download.Progress, perSecond float64) string {
	have := term.SizeText(p.Have)
	if p.Of >= 0 {
		have += " of " + term.SizeText(p.Of)
	}
	return fmt.Sprintf("%s: %s · %d of %d files · %s/s", term.Short(term.Clean(p.Name), 30), have, p.Over, p.Files, term.SizeText(int64(perSecond)))
}
