package crawl

import (
	"strconv"
	"unicode/utf8"
)

// MaxDetail limits the detail of a reason that is stored with a URL or an origin, in bytes. Details
// are written by strangers: a rule of a robots.txt may have 500 KiB, and a Content-Type 64 KiB.
const MaxDetail = 256

// ShortDetail returns s, or the beginning of s with a note of its length, in MaxDetail bytes at
// most. Fetchers send, and frontiers store, no more than this.
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
