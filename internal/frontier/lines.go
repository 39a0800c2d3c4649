package frontier

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// logLine adds one line to the crawl log (DIR/crawl.jsonl): a URL that was fetched, refused or given up. res is nil when
// no visit was needed to decide.
func (s *shard) logLine(r *record, res *crawl.Result) {
	if s.out == nil {
		return
	}
	b := s.lines
	b = append(b, `{"time":"`...)
	b = time.Now().UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","url":`...)
	b = appendJSON(b, string(r.URL))
	class := r.Class.String()
	if r.Class == crawl.Queued {
		class = crawl.Retry.String()
	}
	b = append(b, `,"state":"`...)
	b = append(b, class...)
	b = append(b, '"')
	if r.Reason != "" {
		b = append(b, `,"reason":`...)
		b = appendJSON(b, string(r.Reason))
	}
	if r.Detail != "" {
		b = append(b, `,"detail":`...)
		b = appendJSON(b, r.Detail)
	}
	if r.Line > 0 {
		b = append(b, `,"line":`...)
		b = strconv.AppendInt(b, int64(r.Line), 10)
	}
	b = append(b, `,"depth":`...)
	b = strconv.AppendInt(b, int64(r.Depth), 10)
	if res != nil {
		if res.Status != 0 {
			b = append(b, `,"status":`...)
			b = strconv.AppendInt(b, int64(res.Status), 10)
		}
		b = append(b, `,"bytes":`...)
		b = strconv.AppendInt(b, res.Bytes, 10)
		b = append(b, `,"took_s":`...)
		b = strconv.AppendFloat(b, res.Took.Seconds(), 'f', 6, 64)
		b = append(b, `,"visit":"`...)
		b = append(b, r.Visit.String()...)
		b = append(b, '"')
	}
	s.lines = append(b, '}', '\n')
}

// appendJSON quotes s; URLs and rules rarely need escaping, and then not HTML's.
func appendJSON(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			q, _ := json.Marshal(s) // escapes more than it must, which JSON allows
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// rate counts what was finished in each of the last seconds.
type rate struct {
	at  int64
	per [30]int64
}

func (r *rate) move(now time.Time) {
	sec := now.Unix()
	for ; r.at < sec; r.at++ {
		if sec-r.at > int64(len(r.per)) {
			*r = rate{at: sec}
			return
		}
		r.per[(r.at+1)%int64(len(r.per))] = 0
	}
}

func (r *rate) add(now time.Time, n int64) {
	r.move(now)
	r.per[r.at%int64(len(r.per))] += n
}

// perSecond is the mean over the last half minute, or since the first count if that is less.
func (r *rate) perSecond(now, since time.Time) float64 {
	r.move(now)
	var sum int64
	for _, n := range r.per {
		sum += n
	}
	span := min(max(now.Sub(since).Seconds(), 1), float64(len(r.per)))
	return float64(sum) / span
}
