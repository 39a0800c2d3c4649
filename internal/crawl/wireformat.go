package crawl

import (
	"encoding/binary"
	"fmt"
)

// The protobuf wire types in use are varint and length-delimited. Fields of fixed size are skipped.
const (
	wireVarint = 0
	wireFix64  = 1
	wireBytes  = 2
	wireFix32  = 5
)

// output is a message that is being written, as bytes.
type output struct {
	out []byte
}

// open begins a nested message. close writes its length afterwards, as a padded varint of four
// bytes, which protobuf allows. So no second buffer and no second pass are needed.
func (o *output) open(field int) (at int) {
	o.tag(field<<3 | wireBytes)
	o.out = append(o.out, 0, 0, 0, 0)
	return len(o.out)
}

func (o *output) close(at int) {
	n := uint32(len(o.out) - at)
	o.out[at-4] = byte(n) | 0x80
	o.out[at-3] = byte(n>>7) | 0x80
	o.out[at-2] = byte(n>>14) | 0x80
	o.out[at-1] = byte(n>>21) & 0x7f
}

// tag begins a field with its number and wire type, whose combination is below 2,048.
func (o *output) tag(t int) {
	if t < 0x80 {
		o.out = append(o.out, byte(t))
	} else {
		o.out = append(o.out, byte(t)|0x80, byte(t>>7))
	}
}

func (o *output) putUint(field int, v uint64) {
	o.tag(field<<3 | wireVarint)
	o.out = binary.AppendUvarint(o.out, v)
}

func (o *output) putText(field int, s string) {
	o.tag(field<<3 | wireBytes)
	o.out = append(binary.AppendUvarint(o.out, uint64(len(s))), s...)
}

func (o *output) putBytes(field int, p []byte) {
	o.tag(field<<3 | wireBytes)
	o.out = append(binary.AppendUvarint(o.out, uint64(len(p))), p...)
}

// input is a message that is being read. Strings are slices of s, which is one copy of the whole
// message. So a message with a thousand links needs one allocation for their texts. Bytes are
// slices of the message itself.
type input struct {
	b     []byte
	at    int    // the number of the next field; 0: there is none
	s     string // b as a string; empty: strings are copied one by one
	i     int    // the position in b
	end   int    // of the current message
	last  int    // where the last pass over it began; -1: there was none
	typ   int    // wire type of the next field
	fail  bool
	newer uint64 // the version of the message, if it is too new
}

// more reports whether the current message needs a pass, or another one, over its fields. A field
// that no pass has read is unknown, and skipped.
func (in *input) more() bool {
	if in.at != 0 && in.i == in.last {
		in.skip()
		in.next()
	}
	in.last = in.i
	return in.at != 0
}

func (in *input) bad() uint64 { in.fail, in.i = true, in.end; return 0 }

func (in *input) varint() uint64 {
	if i := in.i; i < in.end && in.b[i] < 0x80 {
		in.i++
		return uint64(in.b[i])
	}
	return in.longVarint()
}

func (in *input) longVarint() uint64 {
	v, n := binary.Uvarint(in.b[in.i:in.end])
	if n <= 0 {
		return in.bad()
	}
	in.i += n
	return v
}

// next reads the number and type of the next field.
func (in *input) next() {
	in.at = 0
	if in.fail || in.i >= in.end {
		return
	}
	t := uint64(in.b[in.i])
	if in.i++; t >= 0x80 {
		in.i--
		t = in.longVarint()
	}
	in.typ = int(t & 7)
	if t>>3 == 0 || t>>3 > 1<<28 {
		in.bad()
		return
	}
	in.at = int(t >> 3)
}

// The get functions read the current field and move to the next one. A field with a wrong wire type
// is skipped, and its value is zero.

func (in *input) getUint(limit uint64) (v uint64) {
	if in.typ != wireVarint {
		in.skip()
	} else if v = in.varint(); v > limit {
		v = in.bad()
	}
	in.next()
	return v
}

func (in *input) getText() (s string) {
	from, to := in.span()
	if in.s == "" {
		s = string(in.b[from:to])
	} else {
		s = in.s[from:to]
	}
	in.next()
	return s
}

// getBytes returns a slice of the message, or nil.
func (in *input) getBytes() (p []byte) {
	if from, to := in.span(); from != to {
		p = in.b[from:to:to]
	}
	in.next()
	return p
}

func (in *input) span() (from, to int) {
	if in.typ != wireBytes {
		in.skip()
		return in.i, in.i
	}
	n := in.varint()
	if in.fail || n > uint64(in.end-in.i) {
		in.bad()
		return in.end, in.end
	}
	from = in.i
	in.i += int(n)
	return from, in.i
}

// skip skips the current field.
func (in *input) skip() {
	switch in.typ {
	case wireVarint:
		in.varint()
	case wireBytes:
		in.span()
	case wireFix64:
		in.i += 8
	case wireFix32:
		in.i += 4
	default:
		in.bad()
	}
	if in.i > in.end {
		in.bad()
	}
}

// enter begins a nested message, and leave returns to the outer one after it.
func (in *input) enter() (outer frame) {
	outer = frame{in.end, in.last}
	in.i, in.end = in.span()
	in.last = -1
	in.next()
	return outer
}

func (in *input) leave(outer frame) {
	in.i, in.end, in.last = in.end, outer.end, outer.last
	in.next()
}

// frame is the position of an input in an outer message.
type frame struct{ end, last int }

// ahead is how many fields in a row have the number of the next field, including it.
func (in *input) ahead() (n int) {
	for look := *in; look.at == in.at; n++ {
		look.skip()
		look.next()
	}
	return n
}

// err is why the message could not be read.
func (in *input) err(what string) error {
	if in.newer != 0 {
		return fmt.Errorf("%s has version %d, but this process reads only up to %d: %w", what, in.newer, Version, ErrVersion)
	}
	if in.fail {
		return fmt.Errorf("%s: %w", what, ErrWire)
	}
	return nil
}
