package hours

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // containers often have no time zones of their own
)

// Limits of the text of hours.
const (
	MaxText    = 1024 // bytes
	MaxWindows = 32
)

// example ends the messages of errors.
const example = "use for example 22:00-06:00, or Mon-Fri 22:00-06:00, Sat-Sun"

// Parse reads hours in a time zone, which is a name such as Europe/Berlin; "" means UTC. An empty
// text means any time: then the hours are nil. Errors say what is wrong with the text or the zone,
// and what would be accepted.
func Parse(text, zone string) (*Hours, error) {
	location, err := Zone(zone)
	if err != nil {
		return nil, err
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	if len(text) > MaxText {
		return nil, fmt.Errorf("hours have %d bytes, and the limit is %d", len(text), MaxText)
	}
	parts := strings.Split(text, ",")
	if len(parts) > MaxWindows {
		return nil, fmt.Errorf("hours have %d windows, and the limit is %d", len(parts), MaxWindows)
	}
	h := &Hours{text: text, zone: location}
	for _, part := range parts {
		windows, err := parseWindow(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%q %w", strings.TrimSpace(part), err)
		}
		h.open = append(h.open, windows...)
	}
	h.open = join(h.open)
	return h, nil
}

// Zone returns the time zone with a name; "" is UTC. That of the machine is not accepted, because
// the parts of a crawl may run on several.
func Zone(name string) (*time.Location, error) {
	if len(name) > 64 || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("%.70q is not the name of a time zone; use for example UTC or Europe/Berlin", name)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not the name of a time zone; use for example UTC or Europe/Berlin", name)
	}
	return location, nil
}

var (
	errSyntax = errors.New("are not hours; " + example)
	errEmpty  = errors.New("begin when they end; a whole day is 00:00-24:00")
)

// parseWindow reads days, times, or days and times. It returns a window for each day.
func parseWindow(s string) ([]window, error) {
	fields := strings.Fields(s)
	first, last := 0, 6
	var from, to time.Duration
	var ok bool
	switch {
	case len(fields) == 2:
		if first, last, ok = parseDays(fields[0]); ok {
			from, to, ok = parseTimes(fields[1])
		}
	case len(fields) != 1:
	default:
		if from, to, ok = parseTimes(fields[0]); !ok {
			first, last, ok = parseDays(fields[0])
			from, to = 0, day
		}
	}
	switch {
	case !ok:
		return nil, errSyntax
	case from == to:
		return nil, errEmpty
	case to < from:
		to += day
	}
	var windows []window
	for d := first; ; d = (d + 1) % 7 {
		begin, end := time.Duration(d)*day+from, time.Duration(d)*day+to
		windows = append(windows, window{begin, min(end, week)})
		if end > week {
			windows = append(windows, window{0, end - week})
		}
		if d == last {
			return windows, nil
		}
	}
}

var dayNames = [...]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// parseDays reads a day, or the first and the last of several.
func parseDays(s string) (first, last int, ok bool) {
	a, b, several := strings.Cut(strings.ToLower(s), "-")
	if !several {
		b = a
	}
	first, last = slices.Index(dayNames[:], a), slices.Index(dayNames[:], b)
	return first, last, first >= 0 && last >= 0
}

// parseTimes reads a begin and an end as times since midnight.
func parseTimes(s string) (from, to time.Duration, ok bool) {
	a, b, _ := strings.Cut(s, "-")
	from, okFrom := parseTime(a)
	to, okTo := parseTime(b)
	return from, to, okFrom && okTo && from < day
}

func parseTime(s string) (time.Duration, bool) {
	hh, mm, _ := strings.Cut(s, ":")
	hour, err := strconv.ParseUint(hh, 10, 8)
	minute, err2 := strconv.ParseUint(mm, 10, 8)
	t := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
	return t, err == nil && err2 == nil && len(hh) <= 2 && len(mm) == 2 && minute < 60 && t <= day
}

// join puts windows into order and joins those that overlap or touch.
func join(all []window) (joined []window) {
	slices.SortFunc(all, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	for _, w := range all {
		if n := len(joined); n > 0 && w.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, w.to)
			continue
		}
		joined = append(joined, w)
	}
	return joined
}
