package rup

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit is a unit of time that sites offer (formats §6.1). A site may offer other units than these
// three, which have no meaning for us.
type Unit string

// The units with a meaning: 24 hours, 7 days, 30 days.
const (
	Day   Unit = "day"
	Week  Unit = "week"
	Month Unit = "month"
)

// Days returns how many days a unit has, 0 for one without a meaning.
func (u Unit) Days() int {
	switch u {
	case Day:
		return 1
	case Week:
		return 7
	case Month:
		return 30
	}
	return 0
}

// maxN is the largest number of a latency or span: four digits (formats §6.1).
const maxN = 9999

// Latency is the time between two reports to a robot: N units (formats §6.1). Its text is "week" or
// "2-week".
type Latency struct {
	N    int // 1 to 9999
	Unit Unit
}

// ParseLatency parses a latency. A missing number is 1.
func ParseLatency(s string) (Latency, error) {
	if unit := Unit(s); unit.Days() > 0 {
		return Latency{1, unit}, nil
	}
	n, unit, ok := parseCount(s)
	if !ok {
		return Latency{}, fmt.Errorf("latency %q: use day, week or month, or a number and one of them, for example 2-week", brief(s))
	}
	return Latency{n, unit}, nil
}

// String returns the latency as it is sent.
func (l Latency) String() string {
	if l.N == 1 {
		return string(l.Unit)
	}
	return formatCount(l.N, l.Unit)
}

// Days returns the latency in days; 0 means none.
func (l Latency) Days() int { return l.N * l.Unit.Days() }

// Duration returns the latency as a duration, or the longest duration if it is longer.
func (l Latency) Duration() time.Duration { return days(l.Days()) }

// MarshalText returns String, and nothing for the zero Latency.
func (l Latency) MarshalText() ([]byte, error) { return marshal(l == Latency{}, l.String()) }

// UnmarshalText reads what MarshalText returns.
func (l *Latency) UnmarshalText(text []byte) (err error) {
	if *l = (Latency{}); len(text) > 0 {
		*l, err = ParseLatency(string(text))
	}
	return err
}

// Span is a time back from now: N units (formats §6.1). Its text is "2-week", always with the
// number. The zero Span means none.
type Span struct {
	N    int // 1 to 9999
	Unit Unit
}

// ParseSpan parses a span.
func ParseSpan(s string) (Span, error) {
	n, unit, ok := parseCount(s)
	if !ok {
		return Span{}, fmt.Errorf("span %q: use a number and day, week or month, for example 2-week", brief(s))
	}
	return Span{n, unit}, nil
}

// SpanOf returns the shortest span that reaches back as far as d: in whole days, or in weeks or
// months if the number of days had more than four digits (formats §6.3). It is at least a day.
// false means that no span is long enough.
func SpanOf(d time.Duration) (Span, bool) {
	n := int(max(d, 1) / (24 * time.Hour))
	if d > days(n) {
		n++
	}
	n = max(n, 1)
	for _, unit := range []Unit{Day, Week, Month} {
		if k := (n + unit.Days() - 1) / unit.Days(); k <= maxN {
			return Span{k, unit}, true
		}
	}
	return Span{}, false
}

// String returns the span as it is sent, and "" for none.
func (s Span) String() string {
	if s == (Span{}) {
		return ""
	}
	return formatCount(s.N, s.Unit)
}

// Days returns the span in days; 0 means none.
func (s Span) Days() int { return s.N * s.Unit.Days() }

// Duration returns the span as a duration, or the longest duration if it is longer.
func (s Span) Duration() time.Duration { return days(s.Days()) }

// MarshalText returns String.
func (s Span) MarshalText() ([]byte, error) { return marshal(s == Span{}, s.String()) }

// UnmarshalText reads what MarshalText returns.
func (s *Span) UnmarshalText(text []byte) (err error) {
	if *s = (Span{}); len(text) > 0 {
		*s, err = ParseSpan(string(text))
	}
	return err
}

// parseCount parses n-unit.
func parseCount(s string) (n int, unit Unit, ok bool) {
	number, word, found := strings.Cut(s, "-")
	unit = Unit(word)
	if !found || unit.Days() == 0 || number == "" || len(number) > 4 || number[0] == '0' || !allDigits(number) {
		return 0, "", false
	}
	n, _ = strconv.Atoi(number)
	return n, unit, true
}

func formatCount(n int, unit Unit) string { return strconv.Itoa(n) + "-" + string(unit) }

// days is n days, or the longest duration: 9999 months are 821 years, and a duration has at most
// 292.
func days(n int) time.Duration {
	const day = 24 * time.Hour
	if time.Duration(n) > math.MaxInt64/day {
		return math.MaxInt64
	}
	return time.Duration(n) * day
}

// back returns the time n days before t.
func back(t time.Time, n int) time.Time { return t.AddDate(0, 0, -n) }

func marshal(zero bool, s string) ([]byte, error) {
	if zero {
		return nil, nil
	}
	return []byte(s), nil
}

// offers reports whether a site offers a unit.
func offers(units []Unit, u Unit) bool { return slices.Contains(units, u) }
