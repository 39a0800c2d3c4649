package ledger

import (
	"encoding/json"
	"time"
)

// AppendJSON quotes s; URLs and rules rarely need escaping, and then not HTML's.
func AppendJSON(b []byte, s string) []byte {
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

// Rate counts what was finished in each of the last seconds.
type Rate struct {
	at  int64
	per [30]int64
}

func (r *Rate) move(now time.Time) {
	sec := now.Unix()
	for ; r.at < sec; r.at++ {
		if sec-r.at > int64(len(r.per)) {
			*r = Rate{at: sec}
			return
		}
		r.per[(r.at+1)%int64(len(r.per))] = 0
	}
}

// Add counts n events at a moment.
func (r *Rate) Add(now time.Time, n int64) {
	r.move(now)
	r.per[r.at%int64(len(r.per))] += n
}

// PerSecond is the mean over the last half minute, or since the first count if that is less.
func (r *Rate) PerSecond(now, since time.Time) float64 {
	r.move(now)
	var sum int64
	for _, n := range r.per {
		sum += n
	}
	span := min(max(now.Sub(since).Seconds(), 1), float64(len(r.per)))
	return float64(sum) / span
}
