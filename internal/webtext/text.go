package webtext

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxPiled is how many combining marks one letter may have. No script needs more, and more would
// cover the lines above and below.
const MaxPiled = 5

// Clean makes text from a site safe to show: on one line, without control characters, without
// characters that reverse the direction of what follows, and with at most MaxPiled marks on a
// letter.
func Clean(s string) string {
	piled := 0
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			if piled++; piled > MaxPiled {
				return -1
			}
			return r
		}
		piled = 0
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == 0x200c || r == 0x200d: // joiners of Persian, Hindi and emoji
			return r
		case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // signs of Arabic, in Cf
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// Short cuts s after n characters. The last one is then an ellipsis.
func Short(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	return string([]rune(s)[:n-1]) + "…"
}

// URL parses a URL to which a link on a page may lead. Only http and https are allowed.
func URL(raw string) (*url.URL, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, false
	}
	return u, true
}

// Numbers writes a list of numbers as people do: 1, 2 and 5. Of a long list it writes eight, and
// how many more there are.
func Numbers(all []int) string {
	const most = 8
	s := ""
	for i, n := range all {
		switch {
		case i == most:
			return s + " and " + strconv.Itoa(len(all)-most) + " more"
		case i > 0 && i == len(all)-1:
			s += " and "
		case i > 0:
			s += ", "
		}
		s += strconv.Itoa(n)
	}
	return s
}
