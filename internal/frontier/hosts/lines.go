package hosts

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// AppendJSON appends s as a JSON string. URLs and rules rarely need escaping, so the common case is
// fast.
func AppendJSON(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			q, _ := json.Marshal(s) // escapes more than necessary, which JSON allows
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// AddLine adds a line to the crawl log, behind those that wait. The line has the time of the event
// that is being applied, so that it is the same line if the event is applied again. rest appends
// what follows the time to the buffer it gets, with the end of the line.
func (s *Ledger) AddLine(rest func(b []byte) []byte) { s.Lines = rest(s.beginLine()) }

func (s *Ledger) beginLine() []byte {
	at := cmp.Or(s.At, time.Now())
	if !s.Phase.Read && (s.repeated.IsZero() || at.Before(s.repeated)) {
		s.repeated, s.without = at, nil
	}
	b := append(s.Lines, `{"time":"`...)
	return append(at.UTC().AppendFormat(b, time.RFC3339Nano), '"')
}

// dropKnown removes the lines that the crawl log already contains. An earlier process may have
// applied the same events without being able to commit them.
func (s *Ledger) dropKnown() {
	log, ok := s.CrawlLog.(interface {
		Known(since time.Time) (func(lines []byte) []byte, error)
	})
	if !ok || s.repeated.IsZero() || len(s.Lines) == 0 {
		return
	}
	if s.without == nil {
		without, err := log.Known(s.repeated)
		if err != nil {
			s.Log.Warn("crawl log: cannot be read; it may contain some lines twice", "error", err)
			without = func(lines []byte) []byte { return lines }
		}
		s.without = without
	}
	s.Lines = s.without(s.Lines)
}

// LogAudit adds the line of an operator action to the crawl log. It is written with the commit of
// the event that reported the action.
func (s *Ledger) LogAudit(a crawl.Audit) {
	if s.CrawlLog == nil {
		return
	}
	s.AddLine(func(b []byte) []byte { return appendAudit(b, a) })
	s.Changes++ // so that the line is written even if nothing else has changed
}

// AuditLine is the line of an operator action for a crawl log to which no frontier writes, with the
// time of the action.
func AuditLine(a crawl.Audit) []byte {
	b := a.At.UTC().AppendFormat([]byte(`{"time":"`), time.RFC3339Nano)
	return appendAudit(append(b, '"'), a)
}

// appendAudit appends the part of a line after its time.
func appendAudit(b []byte, a crawl.Audit) []byte {
	b = AppendJSON(append(b, `,"audit":`...), a.Action)
	for _, f := range []struct{ key, value string }{
		{`,"what":`, a.What}, {`,"detail":`, a.Detail}, {`,"who":`, a.Who}, {`,"from":`, a.From}, {`,"error":`, a.Error}, {`,"id":`, a.ID},
	} {
		if f.value != "" {
			b = AppendJSON(append(b, f.key...), f.value)
		}
	}
	b = append(b, `,"at":"`...)
	b = a.At.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"', '}', '\n')
}

// Rate counts what was done in each second of the last minute.
type Rate struct {
	at    int64
	per   [minute]int64
	began time.Time // of the first count
	since time.Time // of the first count after half a minute without any
}

// The periods of a Rate in seconds: a minute for display, half a minute for estimates.
const (
	minute     = 60
	halfMinute = 30
)

func (r *Rate) move(now time.Time) {
	sec := now.Unix()
	for ; r.at < sec; r.at++ {
		if sec-r.at > minute {
			r.at, r.per = sec, [minute]int64{}
			return
		}
		r.per[(r.at+1)%minute] = 0
	}
}

// last is the sum of the counts of that many seconds.
func (r *Rate) last(seconds int64) (sum int64) {
	for i := range min(seconds, r.at+1) {
		sum += r.per[(r.at-i)%minute]
	}
	return sum
}

// Add counts n events at the time now.
func (r *Rate) Add(now time.Time, n int64) {
	r.move(now)
	if r.last(halfMinute) == 0 {
		r.since = now
	}
	if r.began.IsZero() {
		r.began = now
	}
	r.per[r.at%minute] += n
}

// PerSecond is the mean over the last minute, or since the first count if that is less. A pause
// within the minute counts as time in which nothing was done.
func (r *Rate) PerSecond(now time.Time) float64 {
	r.move(now)
	return float64(r.last(minute)) / span(now, r.began, minute).Seconds()
}

// AtWork is the mean over the last half minute, or since work began after half a minute without
// any. over is the length of that period.
func (r *Rate) AtWork(now time.Time) (rate float64, over time.Duration) {
	r.move(now)
	over = span(now, r.since, halfMinute)
	return float64(r.last(halfMinute)) / over.Seconds(), over
}

// span is the time since from, at least one second and at most that many seconds.
func span(now, from time.Time, seconds int) time.Duration {
	return min(max(now.Sub(from), time.Second), time.Duration(seconds)*time.Second)
}
