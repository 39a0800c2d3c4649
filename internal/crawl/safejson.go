package crawl

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// SafeJSON writes control characters beyond ASCII, and characters that change the direction of
// text, as \uXXXX, because a terminal that displays the line would obey them. The value of the JSON
// stays the same. JSON without such characters is returned without a copy.
func SafeJSON(b []byte) []byte {
	var out []byte
	done := 0 // of b, in out
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if unsafeRune(r) {
			out = fmt.Appendf(append(out, b[done:i]...), `\u%04x`, r)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return b
	}
	return append(out, b[done:]...)
}

func unsafeRune(r rune) bool {
	return r >= 0x80 && r <= 0x9f || r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// SafeJSONTo makes a writer that passes JSON on as SafeJSON. Each Write must have whole lines, as
// those of json.Encoder have.
func SafeJSONTo(w io.Writer) io.Writer { return safeJSON{w} }

type safeJSON struct{ w io.Writer }

func (s safeJSON) Write(b []byte) (int, error) {
	if _, err := s.w.Write(SafeJSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
