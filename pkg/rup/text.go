package rup

import (
	"encoding/binary"
	"iter"
	"strings"
	"unicode/utf16"
)

// blanks are the white space within a line (formats §0).
const blanks = " \t"

func trim(s string) string { return strings.Trim(s, blanks) }

// decode returns a document as text: one byte order mark at the very beginning is dropped, and
// identifies UTF-16. Bytes that are not UTF-8 stay unchanged.
func decode(body []byte) string {
	s := string(body)
	switch {
	case strings.HasPrefix(s, "\xEF\xBB\xBF"):
		return s[3:]
	case strings.HasPrefix(s, "\xFE\xFF"):
		return decode16(body[2:], binary.BigEndian)
	case strings.HasPrefix(s, "\xFF\xFE"):
		return decode16(body[2:], binary.LittleEndian)
	}
	return s
}

// decode16 decodes UTF-16; half pairs become U+FFFD, and a last odd byte is dropped.
func decode16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return string(utf16.Decode(units))
}

// fit cuts a document that is longer than limit after the last complete line that fits, because a
// part of a path would be another path.
func fit(body []byte, limit int) (text string, cut bool) {
	if len(body) <= limit {
		return decode(body), false
	}
	text = decode(body[:limit])
	return text[:strings.LastIndexAny(text, "\r\n")+1], true
}

// cutLine returns the first line and the rest. LF, CR and CR LF end lines, nothing else.
func cutLine(s string) (line, rest string, found bool) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, "", false
	}
	end := i + 1
	if s[i] == '\r' && end < len(s) && s[end] == '\n' {
		end++
	}
	return s[:i], s[end:], true
}

// lines yields every line with its number, from 1.
func lines(s string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for n, more := 1, true; more; n++ {
			var line string
			line, s, more = cutLine(s)
			if !yield(n, line) {
				return
			}
		}
	}
}

// field splits a line at the first of separators and trims both halves.
func field(line, separators string) (name, value string, ok bool) {
	i := strings.IndexAny(line, separators)
	if i < 0 {
		return "", "", false
	}
	return trim(line[:i]), trim(line[i+1:]), true
}

// list splits a list at each comma that is followed by a blank (formats §6.1, §6.4); another comma
// belongs to its element. Empty elements are left out.
func list(s string) (elements []string) {
	start := 0
	for i := range len(s) {
		if s[i] == ',' && i+1 < len(s) && strings.IndexByte(blanks, s[i+1]) >= 0 {
			if e := trim(s[start:i]); e != "" {
				elements = append(elements, e)
			}
			start = i + 1
		}
	}
	if e := trim(s[start:]); e != "" {
		elements = append(elements, e)
	}
	return elements
}

// lower folds ASCII letters only, as names require.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
