package siterules

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
)

// canonical returns a value of a type in its canonical form, false if it has none. cut reports that
// it was too long.
func canonical(t crawl.FieldType, formats []string, raw string) (value string, ok, cut bool) {
	raw = squeeze(raw)
	switch t {
	case crawl.FieldText:
		value, cut = shorten(raw, MaxLongText)
	case crawl.FieldKeyword:
		value, cut = shorten(raw, MaxKeyword)
	case crawl.FieldNumber:
		value = number(raw)
	case crawl.FieldDate:
		value = date(raw, formats)
	case crawl.FieldBoolean:
		value = truth(raw)
	}
	return value, value != "", cut
}

// squeeze makes one space of all white space in a row, and drops invisible characters.
func squeeze(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = strings.Map(func(c rune) rune {
		switch {
		case c == 0xad || c == 0x200b || c == 0xfeff:
			return -1
		case c < ' ' || c == 0x7f || isBlank(c):
			return ' '
		}
		return c
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// shorten cuts a text between two characters.
func shorten(s string, most int) (string, bool) {
	if len(s) <= most {
		return s, false
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.TrimSpace(s[:most]), true
}

var (
	plainNumber   = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$`)
	groupedNumber = regexp.MustCompile(`^[+-]?\d{1,3}([, '’\x{202f}\x{2009}]\d{3})+(\.\d+)?$`)
)

// number reads 1234.5, 1,234.5 and 1 234.5. A single comma is refused, since it may be either.
func number(s string) string {
	s = strings.Replace(s, "\u2212", "-", 1)
	if groupedNumber.MatchString(s) {
		s = strings.Map(func(c rune) rune {
			if strings.ContainsRune(", '’\u202f\u2009", c) {
				return -1
			}
			return c
		}, s)
	}
	if !plainNumber.MatchString(s) || len(s) > 64 {
		return ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return ""
	}
	if f == 0 {
		return "0"
	}
	if a := math.Abs(f); a < 1e-6 || a >= 1e21 {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func truth(s string) string {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1", "y", "t":
		return "true"
	case "false", "no", "off", "0", "n", "f":
		return "false"
	}
	return ""
}

// commonDates are the forms of dates that are read without a format. Forms of which the order of
// day and month is open are not among them.
var commonDates = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02T15:04:05-0700", "2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST", "2006-01-02 15:04", time.DateOnly, "2006-01", "2006", "20060102", "2006/01/02", "2006/1/2",
	time.RFC1123, time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", time.RFC850, time.ANSIC, time.UnixDate,
	"2 January 2006", "2 Jan 2006", "2-Jan-2006", "2 Jan. 2006", "January 2, 2006", "Jan 2, 2006", "Jan. 2, 2006", "January 2 2006", "Jan 2 2006",
	"Monday, 2 January 2006", "Monday, January 2, 2006", "Mon, 2 Jan 2006", "January 2006", "Jan 2006", "2 January 2006 15:04", "January 2, 2006 15:04",
}

// unixTime is the format of seconds since 1970.
const unixTime = "unix"

// date reads a date by one of the formats, the first that fits. Without formats the common ones are
// tried. A date without a time zone is in UTC.
func date(s string, formats []string) string {
	if len(s) > 64 || s == "" {
		return ""
	}
	if len(formats) == 0 {
		formats = commonDates
	}
	for _, layout := range formats {
		if layout == unixTime {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 && n < 253402300800 {
				return time.Unix(n, 0).UTC().Format(time.RFC3339)
			}
			continue
		}
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		// An abbreviation of a time zone that Go does not know would silently be UTC.
		if name, offset := t.Zone(); offset == 0 && name != "" && name != "UTC" && name != "GMT" && name != "Z" {
			continue
		}
		if t = t.UTC(); t.Year() >= 1 && t.Year() <= 9999 {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}

// checkLayout says what is wrong with a format of dates.
func checkLayout(layout string) string {
	const works = `write how 2 January 2006, 15:04:05 would look, for example "02.01.2006"`
	if layout == unixTime {
		return ""
	}
	if strings.ContainsAny(layout, "%") {
		return "formats have no %; " + works
	}
	one := time.Date(2031, 10, 27, 18, 39, 46, 0, time.UTC)
	two := time.Date(1987, 10, 27, 18, 39, 46, 0, time.UTC)
	if one.Format(layout) == layout {
		return "it contains no part of a date; " + works
	}
	if one.Format(layout) == two.Format(layout) {
		return "it contains no year; " + works
	}
	if t, err := time.Parse(layout, one.Format(layout)); err != nil || t.Year() != one.Year() {
		return "it is ambiguous; " + works
	}
	return ""
}
