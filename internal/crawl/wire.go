package crawl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Decoding errors. A message that cannot be decoded can never succeed, so its reader drops it and says so.
var (
	ErrWire    = errors.New("crawl: malformed message")
	ErrVersion = errors.New("crawl: message of a newer schema version: upgrade this process")
)

// The protobuf wire types in use: varint and length-delimited. Fixed ones are skipped when met.
const (
	wireVarint = 0
	wireFix64  = 1
	wireBytes  = 2
	wireFix32  = 5
)

// enc appends protobuf fields to a buffer. Zero values are left out, as proto3 does.
type enc struct{ b []byte }

func (e *enc) tag(field, typ int) { e.b = binary.AppendUvarint(e.b, uint64(field)<<3|uint64(typ)) }

func (e *enc) uint(field int, v uint64) {
	if v != 0 {
		e.tag(field, wireVarint)
		e.b = binary.AppendUvarint(e.b, v)
	}
}

func (e *enc) int(field int, v int) { e.uint(field, uint64(max(v, 0))) }

func (e *enc) bool(field int, v bool) {
	if v {
		e.uint(field, 1)
	}
}

func (e *enc) dur(field int, d time.Duration) { e.uint(field, uint64(max(d, 0))) }

// stamp encodes a clock time in Unix milliseconds; the zero time is left out.
func (e *enc) stamp(field int, t time.Time) {
	if !t.IsZero() {
		e.uint(field, uint64(max(t.UnixMilli(), 0)))
	}
}

func (e *enc) str(field int, s string) {
	if s != "" {
		e.elem(field, s)
	}
}

// elem encodes s even when empty: an element of a repeated field.
func (e *enc) elem(field int, s string) {
	e.tag(field, wireBytes)
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *enc) bytes(field int, p []byte) {
	if len(p) > 0 {
		e.tag(field, wireBytes)
		e.b = binary.AppendUvarint(e.b, uint64(len(p)))
		e.b = append(e.b, p...)
	}
}

// msg encodes a nested message. Its length is written afterwards as a varint of four bytes, padded, which protobuf
// allows: no second buffer, no second pass.
func (e *enc) msg(field int, f func()) {
	e.tag(field, wireBytes)
	at := len(e.b)
	e.b = append(e.b, 0, 0, 0, 0)
	f()
	n := uint32(len(e.b) - at - 4)
	e.b[at] = byte(n) | 0x80
	e.b[at+1] = byte(n>>7) | 0x80
	e.b[at+2] = byte(n>>14) | 0x80
	e.b[at+3] = byte(n>>21) & 0x7f
}

// uints encodes numbers that are not negative, packed.
func (e *enc) uints(field int, all []int64) {
	if len(all) > 0 {
		e.msg(field, func() {
			for _, n := range all {
				e.b = binary.AppendUvarint(e.b, uint64(max(n, 0)))
			}
		})
	}
}

// dec reads protobuf fields. Strings are cut out of s, one copy of the whole message, so that a message with a
// thousand links costs one allocation for their text. Bytes are slices of the message itself.
type dec struct {
	b    []byte
	s    string
	i    int
	end  int
	fail bool
	typ  int // wire type of the field being read
}

func newDec(b []byte) *dec { return &dec{b: b, s: string(b), end: len(b)} }

// newBodyDec is for messages that are nearly all body: strings are copied one by one.
func newBodyDec(b []byte) *dec { return &dec{b: b, end: len(b)} }

func (d *dec) bad() uint64 { d.fail, d.i = true, d.end; return 0 }

func (d *dec) varint() uint64 {
	v, n := binary.Uvarint(d.b[d.i:d.end])
	if n <= 0 {
		return d.bad()
	}
	d.i += n
	return v
}

// next steps to the next field and returns its number, or 0 at the end.
func (d *dec) next() int {
	if d.fail || d.i >= d.end {
		return 0
	}
	t := d.varint()
	d.typ = int(t & 7)
	if t>>3 == 0 || t>>3 > 1<<28 {
		d.bad()
		return 0
	}
	return int(t >> 3)
}

func (d *dec) uint() uint64 {
	if d.typ != wireVarint {
		d.skip()
		return 0
	}
	return d.varint()
}

func (d *dec) int() int {
	v := d.uint()
	if v > math.MaxInt32 {
		d.bad()
		return 0
	}
	return int(v)
}

func (d *dec) int64() int64 {
	v := d.uint()
	if v > math.MaxInt64 {
		d.bad()
		return 0
	}
	return int64(v)
}

func (d *dec) bool() bool         { return d.uint() != 0 }
func (d *dec) dur() time.Duration { return time.Duration(d.int64()) }

func (d *dec) stamp() time.Time {
	if ms := d.int64(); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

func (d *dec) span() (from, to int) {
	if d.typ != wireBytes {
		d.skip()
		return d.i, d.i
	}
	n := d.varint()
	if d.fail || n > uint64(d.end-d.i) {
		d.bad()
		return d.end, d.end
	}
	from = d.i
	d.i += int(n)
	return from, d.i
}

func (d *dec) str() string {
	from, to := d.span()
	if d.s == "" {
		return string(d.b[from:to])
	}
	return d.s[from:to]
}

// uints appends packed numbers.
func (d *dec) uints(all []int64) []int64 {
	for p := d.bytes(); len(p) > 0; {
		v, n := binary.Uvarint(p)
		if n <= 0 || v > math.MaxInt64 {
			d.bad()
			return all
		}
		all, p = append(all, int64(v)), p[n:]
	}
	return all
}

// bytes returns a slice of the message, or nil.
func (d *dec) bytes() []byte {
	from, to := d.span()
	if from == to {
		return nil
	}
	return d.b[from:to:to]
}

// msg reads a nested message with f, which must read all of it (loop over next).
func (d *dec) msg(f func()) {
	from, to := d.span()
	if d.fail {
		return
	}
	outer := d.end
	d.i, d.end = from, to
	f()
	d.i, d.end = to, outer
}

// skip passes over the field just announced by next.
func (d *dec) skip() {
	switch d.typ {
	case wireVarint:
		d.varint()
	case wireBytes:
		d.span()
	case wireFix64:
		d.i += 8
	case wireFix32:
		d.i += 4
	default:
		d.bad()
	}
	if d.i > d.end {
		d.bad()
	}
}

func (d *dec) url() canon.URL { return canon.URL(d.str()) }

func (d *dec) err(what string) error {
	if d.fail {
		return fmt.Errorf("%s: %w", what, ErrWire)
	}
	return nil
}

func checkVersion(what string, v uint64) error {
	if v > Version {
		return fmt.Errorf("%s has version %d, this process reads up to %d: %w", what, v, Version, ErrVersion)
	}
	return nil
}
