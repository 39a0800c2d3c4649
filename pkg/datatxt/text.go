package datatxt

import (
	"encoding/binary"
	"iter"
	"strings"
	"unicode/utf16"
)

// blanks are the white space within a line (formats §0).
const blanks = " \t"

// decode returns a body as text: one byte order mark at the very beginning is dropped, and
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

// decode16 decodes UTF-16; half pairs become U+FFFD. A last odd byte is dropped: it has no meaning,
// and as a separate line it could invalidate a whole YAML file.
func decode16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	return string(utf16.Decode(units))
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

// cutLastLine drops the line that the size limit cuts, because a part of a path would match more
// than was written. If the limit is between CR and LF, the line is complete.
func (f *File) cutLastLine(s string) string {
	i := strings.LastIndexAny(s, "\r\n")
	f.diagnose(1+countLines(s[:i+1]), "the file is longer than %d bytes; the rest is ignored", MaxSize)
	return s[:i+1]
}

// countLines counts line ends.
func countLines(s string) int {
	n := 0
	for _, rest, more := cutLine(s); more; _, rest, more = cutLine(rest) {
		n++
	}
	return n
}

// lower folds ASCII letters only, as field names and tokens require.
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

// valid makes text printable: bytes that are not UTF-8 become U+FFFD.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// brief shortens a message that quotes the file, because a name there may be as long as the file
// itself.
func brief(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
