package data

import (
	"fmt"
	"io"
	"strings"
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
	return fmt.Sprintf("%s: %s · %d of %d files · %s/s%s", term.Short(term.Clean(p.Name), 20), have, p.Over, p.Files, term.SizeText(int64(perSecond)), leftText(p, perSecond))
}

// leftText is what is still to come, and how long that takes at this rate. Files of unknown size
// are counted, because nobody knows how long they take.
func leftText(p download.Progress, perSecond float64) string {
	var left []string
	if p.Left > 0 {
		left = append(left, term.SizeText(p.Left))
	}
	if p.Unknown > 0 {
		left = append(left, term.Count(int64(p.Unknown), "file"))
	}
	if len(left) == 0 {
		return ""
	}
	text := " · " + strings.Join(left, " and ") + " left"
	if p.Left > 0 && perSecond >= 1 {
		text += ", " + durationText(float64(p.Left)/perSecond)
	}
	return text
}

// durationText is a time in seconds, as exact as a forecast can be.
func durationText(seconds float64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%.0f s", max(seconds, 1))
	case seconds < 60*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 48*60*60:
		return fmt.Sprintf("%.0f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f days", min(seconds/86400, 999))
}
