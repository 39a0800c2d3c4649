package shapes

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Look is how many bytes of the beginning of a document Shows may need.
const Look = 4 << 10

// maxSketch is the depth of nesting that sketch reads.
const maxSketch = 40

// sketch decodes the beginning of a JSON document, as far as it goes: objects and lists that are
// not closed have the members that came, and a text that is not closed has its beginning. It
// accepts what people write around and into JSON, such as a byte order mark, UTF-16 or comments.
// What it cannot make sense of ends the sketch. cut reports that the first value was not closed.
// The result is nil if the document begins with neither an object nor a list.
func sketch(first []byte) (v any, cut bool) {
	s := &sketcher{in: utf8Of(first)}
	s.blank()
	if s.in = bytes.TrimPrefix(s.in, []byte("<![CDATA[")); len(s.in) > 0 {
		s.blank()
	}
	if len(s.in) == 0 || s.in[0] != '{' && s.in[0] != '[' {
		return nil, false
	}
	v, _ = s.value(0)
	return v, s.ended
}

// utf8Of returns a text in UTF-8 without a byte order mark.
func utf8Of(b []byte) []byte {
	var order func(b []byte) uint16
	big := func(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) }
	little := func(b []byte) uint16 { return uint16(b[1])<<8 | uint16(b[0]) }
	switch {
	case len(b) < 4:
	case b[0] == 0xfe && b[1] == 0xff, b[0] == 0 && b[1] != 0:
		order = big
	case b[0] == 0xff && b[1] == 0xfe, b[1] == 0 && b[0] != 0:
		order = little
	}
	if order == nil {
		return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	units := make([]uint16, 0, len(b)/2)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, order(b))
	}
	return []byte(strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff"))
}

// sketcher reads JSON that may end anywhere.
type sketcher struct {
	in    []byte
	ended bool // there is no more, or nothing that could be understood
}

// blank skips white space and comments.
func (s *sketcher) blank() {
	for {
		s.in = bytes.TrimLeft(s.in, " \t\r\n\x00\u00a0")
		end := ""
		switch {
		case bytes.HasPrefix(s.in, []byte("//")):
			end = "\n"
		case bytes.HasPrefix(s.in, []byte("/*")):
			end = "*/"
		case bytes.HasPrefix(s.in, []byte("<!--")):
			end = "-->"
		default:
			return
		}
		i := bytes.Index(s.in, []byte(end))
		if i < 0 {
			s.in = nil
			return
		}
		s.in = s.in[i+len(end):]
	}
}

// next skips blanks and returns the next byte. ok is false at the end.
func (s *sketcher) next() (b byte, ok bool) {
	s.blank()
	if len(s.in) == 0 {
		s.ended = true
		return 0, false
	}
	return s.in[0], true
}

// value reads a value. ok is false if there is none.
func (s *sketcher) value(depth int) (v any, ok bool) {
	b, ok := s.next()
	if !ok || depth > maxSketch {
		s.ended = true
		return nil, false
	}
	switch b {
	case '{':
		return s.object(depth), true
	case '[':
		return s.list(depth), true
	case '"':
		text, _ := s.text()
		return text, true
	}
	n := bytes.IndexAny(s.in, ",]}: \t\r\n")
	if n == 0 {
		return nil, false
	}
	if n < 0 {
		n, s.ended = len(s.in), true
	}
	word := string(s.in[:n])
	s.in = s.in[n:]
	switch {
	case word == "true" || word == "false":
		return word == "true", true
	case word == "null":
		return nil, true
	case strings.Trim(word, "0123456789+-.eE") == "":
		return json.Number(word), true
	}
	return word, true
}

func (s *sketcher) object(depth int) map[string]any {
	m := map[string]any{}
	for s.in = s.in[1:]; ; {
		b, ok := s.next()
		switch {
		case !ok:
			return m
		case b == '}':
			s.in = s.in[1:]
			return m
		case b == ',':
			s.in = s.in[1:]
			continue
		case b != '"':
			s.in, s.ended = nil, true
			return m
		}
		name, whole := s.text()
		if b, ok = s.next(); !ok || !whole || b != ':' {
			s.in, s.ended = nil, true
			return m
		}
		s.in = s.in[1:]
		v, ok := s.value(depth + 1)
		if _, twice := m[name]; ok && !twice {
			m[name] = v
		}
		if s.ended {
			return m
		}
		if !ok && len(s.in) > 0 && s.in[0] != ',' && s.in[0] != '}' {
			s.in, s.ended = nil, true
			return m
		}
	}
}

func (s *sketcher) list(depth int) []any {
	all := []any{}
	for s.in = s.in[1:]; ; {
		b, ok := s.next()
		switch {
		case !ok:
			return all
		case b == ']':
			s.in = s.in[1:]
			return all
		case b == ',':
			s.in = s.in[1:]
			continue
		}
		v, ok := s.value(depth + 1)
		if ok {
			all = append(all, v)
		} else if !s.ended { // a bracket that belongs to nothing
			s.in, s.ended = nil, true
		}
		if s.ended {
			return all
		}
	}
}

// text reads a text after its opening quote. whole is false if it is not closed.
func (s *sketcher) text() (text string, whole bool) {
	for i := 1; i < len(s.in); i++ {
		switch s.in[i] {
		case '\\':
			i++
		case '"':
			raw := s.in[:i+1]
			s.in = s.in[i+1:]
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw[1:i])
			}
			return text, true
		}
	}
	raw := s.in[1:]
	for len(raw) > 0 && !utf8.Valid(raw[max(0, len(raw)-utf8.UTFMax):]) {
		raw = raw[:len(raw)-1]
	}
	s.in, s.ended = nil, true
	return string(raw), false
}
