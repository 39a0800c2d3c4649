package lenientjson

import "unicode/utf8"

// output is the strict JSON that may still change, or that the caller does not have yet.
type output struct {
	out     []byte // from outBase on
	outBase int64
	sent    int // bytes of out that the caller has
}

// put adds to the output.
func (o *output) put(c byte) { o.out = append(o.out, c) }

// outAt is the position of the next byte in the output.
func (o *output) outAt() int64 { return o.outBase + int64(len(o.out)) }

// rune writes a character in a text.
func (o *output) rune(c rune) {
	const digits = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		o.out = append(o.out, '\\', byte(c))
	case c == '\n':
		o.out = append(o.out, `\n`...)
	case c == '\r':
		o.out = append(o.out, `\r`...)
	case c == '\t':
		o.out = append(o.out, `\t`...)
	case c < 0x20:
		o.out = append(o.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	default:
		o.out = utf8.AppendRune(o.out, c)
	}
}
