package data

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/download"
)

// downloadLine shows the progress of downloads: as a line for people or, if print is not nil, as
// objects for programs.
type downloadLine struct {
	*term.StatusLine
	past  []downloaded // at least a second apart, the oldest a minute ago
	print func(any) error
	next  time.Time // when the next object may be printed
}

// objectsEvery is how often progress is printed as JSON, as by curtsy crawl.
const objectsEvery = 5 * time.Second

// downloadProgress is a line of --progress json.
type downloadProgress struct {
	Progress struct {
		Files          int   `json:"files"`
		Over           int   `json:"over"`  // files that are finished or failed
		Bytes          int64 `json:"bytes"` // received in this run
		BytesPerSecond int64 `json:"bytes_per_second"`
		BytesLeft      int64 `json:"bytes_left"`    // of files whose size is known, at least about
		FilesUnsized   int   `json:"files_unsized"` // other files that are not over
		SecondsLeft    int64 `json:"seconds_left"`  // for bytes_left; -1: nothing has come
	} `json:"progress"`
}

// downloaded is how many bytes had arrived at a time.
type downloaded struct {
	at    time.Time
	bytes int64
}

func newDownloadLine(stderr io.Writer) *downloadLine {
	return &downloadLine{StatusLine: term.NewStatusLine(stderr), past: []downloaded{{time.Now(), 0}}}
}

// inForm sets the form of a progress mode of config.ProgressModes; print prints an object.
func (l *downloadLine) inForm(mode string, stderr io.Writer, print func(any) error) {
	switch mode {
	case "json":
		l.print = print
		l.next = time.Now().Add(objectsEvery)
	case "none":
		l.StatusLine = term.NewStatusLine(io.Discard)
	case "plain":
		l.StatusLine = term.NewStatusLine(struct{ io.Writer }{stderr}) // that is no terminal
	}
}

// object prints the progress, if enough time has passed. An error of the output ends the command
// when it prints its results.
func (l *downloadLine) object(p download.Progress) {
	now := time.Now()
	rate := l.rate(p.Bytes, now)
	if now.Before(l.next) {
		return
	}
	l.next = now.Add(objectsEvery)
	var line downloadProgress
	o := &line.Progress
	o.Files, o.Over, o.Bytes, o.BytesLeft, o.FilesUnsized = p.Files, p.Over, p.Bytes, p.Left, p.Unknown
	o.BytesPerSecond, o.SecondsLeft = int64(rate), -1
	if rate >= 1 {
		o.SecondsLeft = int64(float64(p.Left) / rate)
	}
	_ = l.print(line)
}

func (l *downloadLine) progress(p download.Progress) {
	if l.print != nil {
		l.object(p)
		return
	}
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
