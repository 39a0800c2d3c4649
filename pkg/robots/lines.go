package robots

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decode returns the text of body: cut at MaxBytes, without its byte order mark, with UTF-16
// converted to UTF-8 (formats §0). Invalid UTF-8 stays, because it affects only its own line. cut
// reports whether anything was left out.
func decode(body []byte) (text string, cut bool) {
	var more []byte
	if len(body) > MaxBytes {
		body, more, cut = body[:MaxBytes], body[MaxBytes:], true
	}
	var whole bool // the limit is at the end of a line, so no line crosses it
	switch {
	case len(body) >= 3 && string(body[:3]) == "\xef\xbb\xbf":
		text = string(body[3:])
		whole = cut && isEOL(more[0])
	case falseMark(body):
		text = string(body[2:])
		whole = cut && isEOL(more[0])
	case len(body) >= 2 && body[0] == 0xff && body[1] == 0xfe:
		text = decodeUTF16(body[2:], binary.LittleEndian)
		whole = len(more) >= 2 && more[1] == 0 && isEOL(more[0])
	case len(body) >= 2 && body[0] == 0xfe && body[1] == 0xff:
		text = decodeUTF16(body[2:], binary.BigEndian)
		whole = len(more) >= 2 && more[0] == 0 && isEOL(more[1])
	default:
		text = string(body)
		whole = cut && isEOL(more[0])
	}
	if cut && !whole {
		// A part of a line could allow more than the whole line: "Allow: /" would remain of "Allow:
		// /a".
		text = text[:strings.LastIndexAny(text, "\r\n")+1]
	}
	return text, cut
}

// falseMark reports whether text that is not UTF-16 begins with the mark of UTF-16. In a robots.txt
// in UTF-16 nearly every other octet is 0, at least those of its line ends. Read as UTF-16, such a
// file would have no rules; without the mark it has the intended rules.
func falseMark(body []byte) bool {
	return len(body) >= 2 && (body[0] == 0xff && body[1] == 0xfe || body[0] == 0xfe && body[1] == 0xff) && bytes.IndexByte(body, 0) < 0
}

// decodeUTF16 ignores half a unit at the end: the loss of the last byte should not invalidate the
// last rule.
func decodeUTF16(b []byte, order binary.ByteOrder) string {
	out := make([]byte, 0, len(b))
	for ; len(b) >= 2; b = b[2:] {
		r := rune(order.Uint16(b))
		if utf16.IsSurrogate(r) {
			var low rune
			if len(b) >= 4 {
				low = rune(order.Uint16(b[2:]))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				b = b[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// lines iterates over the lines of a text. LF, CR and CRLF end a line, in any mix; nothing else
// does (formats §0).
type lines struct {
	text string
	line string // the current line, without its end
	num  int    // its number, from 1

	pos int
	// positions of the next LF and CR at or after pos; each is searched for once, so the total time
	// is linear
	lf, cr int
}

func newLines(text string) *lines { return &lines{text: text, lf: -1, cr: -1} }

func (l *lines) next() bool {
	if l.pos >= len(l.text) {
		return false
	}
	if l.lf < l.pos {
		l.lf = l.find('\n')
	}
	if l.cr < l.pos {
		l.cr = l.find('\r')
	}
	end := min(l.lf, l.cr)
	l.line = l.text[l.pos:end]
	l.num++
	l.pos = end + 1
	if l.cr < l.lf && l.lf == l.pos {
		l.pos++ // CRLF
	}
	return true
}

func (l *lines) find(c byte) int {
	if i := strings.IndexByte(l.text[l.pos:], c); i >= 0 {
		return l.pos + i
	}
	return len(l.text)
}
