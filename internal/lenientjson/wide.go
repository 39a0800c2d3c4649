package lenientjson

import (
	"bytes"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// wide is an encoding of the input other than UTF-8.
type wide struct {
	unit   int  // bytes: 2 or 4; 0 means UTF-8
	little bool // endian
	mark   int  // bytes of the byte order mark
}

// wideOf recognises UTF-16 and UTF-32 by the byte order mark, or by the zero bytes around the first
// character, which is ASCII in JSON (RFC 4627, section 3).
func wideOf(b []byte) wide {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe, 0, 0}):
		return wide{4, true, 4}
	case bytes.HasPrefix(b, []byte{0, 0, 0xfe, 0xff}):
		return wide{4, false, 4}
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return wide{2, true, 2}
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return wide{2, false, 2}
	case len(b) < 4:
	case b[0] == 0 && b[1] == 0 && b[2] == 0 && b[3] != 0:
		return wide{4, false, 0}
	case b[0] != 0 && b[1] == 0 && b[2] == 0 && b[3] == 0:
		return wide{4, true, 0}
	case b[0] == 0 && b[1] != 0:
		return wide{2, false, 0}
	case b[0] != 0 && b[1] == 0:
		return wide{2, true, 0}
	}
	return wide{}
}

func (w wide) name() string {
	if w.unit == 4 {
		return "text in UTF-32"
	}
	return "text in UTF-16"
}

// width is how many bytes of the input the character takes that begins with this byte of UTF-8.
func (w wide) width(first byte) int64 {
	switch {
	case utf8.RuneStart(first) && (w.unit == 4 || first >= 0xf0):
		return 4
	case utf8.RuneStart(first):
		return 2
	}
	return 0
}

// decoder decodes UTF-16 and UTF-32 into UTF-8. What is no character becomes U+FFFD.
type decoder struct {
	in   io.Reader
	wide wide
	raw  []byte // not yet decoded
	end  error  // of the input
	out  []byte // not yet read
}

func (d *decoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.end != nil && len(d.raw) == 0 {
			return 0, d.end
		}
		if d.end == nil {
			n := len(d.raw)
			d.raw = append(d.raw, make([]byte, 4096)...)
			m, err := d.in.Read(d.raw[n:])
			d.raw, d.end = d.raw[:n+m], err
		}
		d.decode()
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// decode decodes what is complete. At the end of the input, everything is.
func (d *decoder) decode() {
	d.out = d.out[:0]
	for {
		r, n := d.next()
		if n == 0 {
			return
		}
		d.raw = d.raw[n:]
		d.out = utf8.AppendRune(d.out, r)
	}
}

// next returns the next character and its length in bytes, 0 if more input is needed.
func (d *decoder) next() (rune, int) {
	first, ok := d.unit(0)
	switch {
	case !ok && d.end != nil && len(d.raw) > 0:
		return utf8.RuneError, len(d.raw)
	case !ok:
		return 0, 0
	case d.wide.unit == 4 || !utf16.IsSurrogate(first):
		if !utf8.ValidRune(first) {
			first = utf8.RuneError
		}
		return first, d.wide.unit
	}
	second, ok := d.unit(1)
	if !ok && d.end == nil {
		return 0, 0
	}
	if r := utf16.DecodeRune(first, second); ok && r != utf8.RuneError {
		return r, 4
	}
	return utf8.RuneError, 2
}

func (d *decoder) unit(n int) (rune, bool) {
	size := d.wide.unit
	if len(d.raw) < (n+1)*size {
		return 0, false
	}
	b := d.raw[n*size : (n+1)*size]
	var r uint32
	for i := range b {
		at := i
		if d.wide.little {
			at = size - 1 - i
		}
		r = r<<8 | uint32(b[at])
	}
	return rune(r), true
}
