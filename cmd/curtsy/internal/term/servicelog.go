package term

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/disk"
)

// ServiceLog is the log of the services that a command runs. Unless a level or a format was set, it
// is for people: from the level least on, one sentence a line, and none that was printed a moment
// ago.
func ServiceLog(c config.Common, least slog.Level, w io.Writer, shown *Recently) *slog.Logger {
	if c.LogLevel == config.AutoLevel && c.LogFormat == config.AutoFormat {
		log.SetOutput(io.Discard) // the log of libraries is not for people
		return slog.New(&peopleLog{w: w, least: least, shown: shown})
	}
	if c.LogLevel == config.AutoLevel {
		c.LogLevel = strings.ToLower(least.String())
	}
	return c.Logger(w)
}

// peopleLog writes the records of a log as sentences: the message, the error, and in parentheses
// what it is about.
type peopleLog struct {
	w     io.Writer
	least slog.Level
	shown *Recently
	attrs []slog.Attr // of the loggers derived
}

// ownAttrs are attributes that only mean something to those who know the code.
var ownAttrs = []string{"shard", "epoch", "instance", "crawl", "visit", "stack", "deliveries", "seq", "store", "home"}

// causes are attributes that contain an error.
var causes = []string{"err", "error", "why", "reason"}

func (h *peopleLog) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

func (h *peopleLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = append(slices.Clip(h.attrs), attrs...)
	return &next
}

// WithGroup changes nothing, because no code here uses groups.
func (h *peopleLog) WithGroup(string) slog.Handler { return h }

func (h *peopleLog) Handle(_ context.Context, r slog.Record) error {
	var failed string
	var about []string
	add := func(a slog.Attr) bool {
		v := a.Value.Resolve()
		if err, ok := v.Any().(error); ok {
			v = slog.AnyValue(disk.Explain(err))
		}
		switch value := Clean(v.String()); {
		case slices.Contains(ownAttrs, a.Key) || value == "":
		case slices.Contains(causes, a.Key):
			failed = ": " + value
		default:
			about = append(about, strings.ReplaceAll(a.Key, "_", " ")+" "+value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	text := Clean(r.Message) + failed
	if len(about) > 0 {
		text += " (" + strings.Join(about, ", ") + ")"
	}
	if h.shown.Again(text, r.Time) {
		return nil
	}
	grade := "warning:"
	if r.Level >= slog.LevelError {
		grade = "error:"
	}
	_, err := fmt.Fprintln(h.w, grade, text)
	return err
}

// Recently has the sentences of the last minute, so that none of them is repeated.
type Recently struct {
	mu sync.Mutex // guards at
	at map[string]time.Time
}

// NotAgainFor is how long a sentence is not repeated.
const NotAgainFor = time.Minute

// mostRecent is how many sentences are remembered.
const mostRecent = 256

// Again reports whether a sentence was printed in the last minute, and records that it is printed
// now.
func (r *Recently) Again(text string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.at[text]; ok && now.Sub(last) < NotAgainFor {
		return true
	}
	if r.at == nil || len(r.at) >= mostRecent {
		r.at = map[string]time.Time{}
	}
	r.at[text] = now
	return false
}
