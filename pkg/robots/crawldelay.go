package robots

import (
	"math"
	"strings"
	"time"
)

// delayRecord is one Crawl-delay line.
type delayRecord struct {
	scope
	delay time.Duration
}

func (p *parser) crawlDelay(value string) {
	d, ok := parseDelay(value)
	if !ok {
		p.odd("Crawl-delay is not a number of seconds: skipped")
		return
	}
	p.file.delays = append(p.file.delays, delayRecord{p.scope(), d})
}

// parseDelay parses seconds: digits, perhaps a fraction, perhaps a unit (formats §1.5). Signs and
// exponents are not allowed. A value too large for a Duration becomes the longest one, and a
// fraction below a nanosecond is rounded up, so that no delay is shorter than requested.
func parseDelay(s string) (time.Duration, bool) {
	n := 0
	for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
		n++
	}
	number, unit := s[:n], trim(s[n:])
	switch lower(unit) {
	case "", "s", "sec", "second", "seconds":
	default:
		return 0, false
	}
	whole, fraction, _ := strings.Cut(number, ".")
	if whole == "" && fraction == "" || strings.IndexByte(fraction, '.') >= 0 {
		return 0, false
	}

	var d time.Duration
	for i := range len(whole) {
		d = d*10 + time.Duration(whole[i]-'0')
		if d >= math.MaxInt64/time.Second { // leaves space for a fraction
			return math.MaxInt64, true
		}
	}
	d *= time.Second
	unitOf := time.Second / 10
	for i := range len(fraction) {
		switch digit := time.Duration(fraction[i] - '0'); {
		case unitOf > 0:
			d += digit * unitOf
			unitOf /= 10
		case digit > 0:
			return d + 1, true
		}
	}
	return d, true
}
