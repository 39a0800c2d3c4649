package crawl

import (
	"strconv"
	"unicode/utf8"
)

// MaxDetail is how much of what a stranger wrote is kept with a URL or an origin as the detail of a
// reason, in bytes: a rule of a robots.txt may be 500 KiB long, and a Content-Type 64.
const MaxDetail = 256

// ShortDetail returns s, or what fits of it into MaxDetail bytes with a mark that says how long it
// was. A fetcher sends no more, and a frontier keeps no more.
func ShortDetail(s string) string {
	if len(s) <= MaxDetail {
		return s
	}
	mark := "… (cut, " + strconv.Itoa(len(s)) + " bytes)"
	n := MaxDetail - len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
