package crawl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Decoding errors. A message that cannot be decoded now never can, so its reader drops it and
// reports the error.
var (
	ErrWire    = errors.New("crawl: malformed message")
	ErrVersion = errors.New("crawl: the message has a newer schema version: upgrade this process")
)

// The protobuf wire types in use are varint and length-delimited. Fields of fixed size are skipped.
const (
	wireVarint = 0
	wireFix64  = 1
	wireBytes  = 2
	wireFix32  = 5
)

// A codec writes or reads messages. Both use the same list of a message's fields (fields.go), which
// passes each field with its number to the codec, in ascending order. A codec that writes appends
// the field to b. It omits zero values, like proto3. A codec that reads sets the field if it is the
// next one in b, and otherwise leaves it. So a message in ascending order needs one pass over the
// list, and a message in another order needs several.
//
// Strings are slices of s, which is one copy of the whole message. So a message with a thousand
// links needs one allocation for their texts. Bytes are slices of the message itself.
type codec struct {
	b     []byte
	at    int    // writing, or the number of the next field; 0: there is none
	s     string // b as a string; empty: strings are copied one by one
	i     int    // the position in b
	end   int    // of the current message
	last  int    // where the last pass over it began; -1: there was none
	typ   int    // wire type of the next field
	fail  bool
	newer uint64 // the version of the message, if it is too new
}

// writing is the value of at of a codec that writes.
const writing = -1

func writer(b []byte) codec { return codec{b: b, at: writing} }

func reader(b []byte) codec {
	c := codec{b: b, s: string(b), end: len(b), last: -1}
	c.next()
	return c
}

// bodyReader is for messages that consist mostly of a body. Strings are copied one by one.
func bodyReader(b []byte) codec {
	c := codec{b: b, end: len(b), last: -1}
	c.next()
	return c
}

// more reports whether the current message needs a pass, or another one, over its fields. A field
// that no pass has read is unknown, and skipped.
func (c *codec) more() bool {
	if c.at != 0 && c.i == c.last {
		c.skip()
		c.next()
	}
	c.last = c.i
	return c.at != 0
}

// err is why the message could not be read.
func (c *codec) err(what string) error {
	if c.newer != 0 {
		return fmt.Errorf("%s has version %d, but this process reads only up to %d: %w", what, c.newer, Version, ErrVersion)
	}
	if c.fail {
		return fmt.Errorf("%s: %w", what, ErrWire)
	}
	return nil
}

// version is for messages that are the same since the first version.
func (c *codec) version(field int) { c.versionSince(field, 1) }

// versionSince writes or reads the version of the schema since which the message has its form. A
// message of a newer version than ours is not read any further.
func (c *codec) versionSince(field int, since uint64) {
	v := since
	c.uint(field, &v)
	if v > Version {
		c.newer = v
		c.bad()
		c.next()
	}
}

// Most fields are zero, and need no work: a codec that writes omits them, and one that reads finds
// another field next. So each type of field has one function that is small enough to be inlined,
// and another one that it calls if there is a field. Numbers on the wire are not negative.

func (c *codec) uint(field int, p *uint64) {
	if *p != 0 || c.at == field {
		c.someUint(field, p)
	}
}

func (c *codec) someUint(field int, p *uint64) {
	if c.at == writing {
		c.putUint(field, *p)
	} else if c.at == field {
		*p = c.getUint(math.MaxUint64)
	}
}

// int is a number of 31 bits.
func (c *codec) int(field int, p *int) {
	if *p != 0 || c.at == field {
		c.someInt(field, p)
	}
}

func (c *codec) someInt(field int, p *int) {
	if c.at == writing {
		if *p > 0 {
			c.putUint(field, uint64(*p))
		}
	} else if c.at == field {
		*p = int(c.getUint(math.MaxInt32))
	}
}

// word is a number of 32 bits.
func (c *codec) word(field int, p *uint32) {
	if *p != 0 && c.at == writing {
		c.putUint(field, uint64(*p))
	} else if c.at == field {
		*p = uint32(c.getUint(math.MaxUint32))
	}
}

// long is a number of 63 bits.
func (c *codec) long(field int, p *int64) {
	if *p != 0 || c.at == field {
		c.someLong(field, p)
	}
}

func (c *codec) someLong(field int, p *int64) {
	if c.at == writing {
		if *p > 0 {
			c.putUint(field, uint64(*p))
		}
	} else if c.at == field {
		*p = int64(c.getUint(math.MaxInt64))
	}
}

func (c *codec) enum(field int, p *uint8) {
	if *p != 0 || c.at == field {
		c.someEnum(field, p)
	}
}

func (c *codec) someEnum(field int, p *uint8) {
	if c.at == writing {
		c.putUint(field, uint64(*p))
	} else if c.at == field {
		*p = uint8(c.getUint(math.MaxUint64))
	}
}

func (c *codec) bool(field int, p *bool) {
	if *p || c.at == field {
		c.someBool(field, p)
	}
}

func (c *codec) someBool(field int, p *bool) {
	if c.at == writing {
		c.putUint(field, 1)
	} else if c.at == field {
		*p = c.getUint(math.MaxUint64) != 0
	}
}

func (c *codec) text(field int, p *string) {
	if *p != "" || c.at == field {
		c.someText(field, p)
	}
}

func (c *codec) someText(field int, p *string) {
	if c.at == writing {
		c.putText(field, *p)
	} else if c.at == field {
		*p = c.getText()
	}
}

func (c *codec) url(field int, p *canon.URL)          { c.text(field, (*string)(p)) }
func (c *codec) host(field int, p *canon.Host)        { c.text(field, (*string)(p)) }
func (c *codec) reason(field int, p *Reason)          { c.text(field, (*string)(p)) }
func (c *codec) duration(field int, p *time.Duration) { c.long(field, (*int64)(p)) }

func (c *codec) bytes(field int, p *[]byte) {
	if len(*p) != 0 || c.at == field {
		c.someBytes(field, p)
	}
}

func (c *codec) someBytes(field int, p *[]byte) {
	if c.at == writing {
		c.putBytes(field, *p)
	} else if c.at == field {
		*p = c.getBytes()
	}
}

// stamp is a clock time in Unix milliseconds. The zero time is omitted.
func (c *codec) stamp(field int, p *time.Time) {
	if c.at == writing {
		if ms := p.UnixMilli(); ms > 0 {
			c.putUint(field, uint64(ms))
		}
	} else if c.at == field {
		*p = time.Time{}
		if ms := c.getUint(math.MaxInt64); ms != 0 {
			*p = time.UnixMilli(int64(ms))
		}
	}
}

// texts is a repeated field. Empty texts are not omitted.
func texts[T ~string](c *codec, field int, all *[]T) {
	if c.at == writing {
		for _, s := range *all {
			c.putText(field, string(s))
		}
		return
	}
	for c.at == field {
		*all = append(roomFor(c, *all), T(c.getText()))
	}
}

// roomFor allocates space for all values of a repeated field that follow, if there is none for the
// next value.
func roomFor[T any](c *codec, all []T) []T {
	if len(all) == cap(all) {
		return slices.Grow(all, c.ahead())
	}
	return all
}

// ahead is how many fields in a row have the number of the next field, including it.
func (c *codec) ahead() (n int) {
	for look := *c; look.at == c.at; n++ {
		look.skip()
		look.next()
	}
	return n
}

func (c *codec) origin(field int, p *canon.Origin) {
	if c.at == writing {
		if *p != (canon.Origin{}) {
			c.putText(field, p.String())
		}
	} else if c.at == field {
		*p = canon.Origin{}
		if s := c.getText(); s != "" {
			*p = canon.URL(s + "/").Origin()
		}
	}
}

// numbers are a packed field. They are not negative.
func (c *codec) numbers(field int, all *[]int64) {
	switch {
	case c.at == field:
		for p := c.getBytes(); len(p) > 0; {
			v, n := binary.Uvarint(p)
			if n <= 0 || v > math.MaxInt64 {
				c.bad()
				c.next()
				return
			}
			*all, p = append(*all, int64(v)), p[n:]
		}
	case c.at == writing && len(*all) > 0:
		at := c.open(field)
		for _, n := range *all {
			c.b = binary.AppendUvarint(c.b, uint64(max(n, 0)))
		}
		c.close(at)
	}
}

// digest is a SHA-256. One that consists of zeros is omitted.
func (c *codec) digest(field int, p *[32]byte) {
	if c.at == writing {
		if *p != [32]byte{} {
			c.putBytes(field, p[:])
		}
	} else if c.at == field {
		copy(p[:], c.getBytes())
	}
}

// one is a nested message. The loop over it passes all of its fields to c. It is written even if it
// is empty.
func (c *codec) one(field int) iter.Seq[struct{}] {
	return func(pass func(struct{}) bool) {
		if c.at == writing {
			at := c.open(field)
			pass(struct{}{})
			c.close(at)
		} else if c.at == field {
			outer := c.enter()
			for c.more() {
				pass(struct{}{})
			}
			c.leave(outer)
		}
	}
}

// each is a repeated message. The loop over it passes all fields of each message to c.
func each[T any](c *codec, field int, all *[]T) iter.Seq[*T] {
	return func(pass func(*T) bool) {
		if c.at == writing {
			for i := range *all {
				at := c.open(field)
				pass(&(*all)[i])
				c.close(at)
			}
			return
		}
		for c.at == field {
			*all = append(roomFor(c, *all), *new(T))
			outer := c.enter()
			for c.more() {
				pass(&(*all)[len(*all)-1])
			}
			c.leave(outer)
		}
	}
}

// open begins a nested message. close writes its length afterwards, as a padded varint of four
// bytes, which protobuf allows. So no second buffer and no second pass are needed.
func (c *codec) open(field int) (at int) {
	c.tag(field<<3 | wireBytes)
	c.b = append(c.b, 0, 0, 0, 0)
	return len(c.b)
}

func (c *codec) close(at int) {
	n := uint32(len(c.b) - at)
	c.b[at-4] = byte(n) | 0x80
	c.b[at-3] = byte(n>>7) | 0x80
	c.b[at-2] = byte(n>>14) | 0x80
	c.b[at-1] = byte(n>>21) & 0x7f
}

// tag begins a field with its number and wire type, whose combination is below 2,048.
func (c *codec) tag(t int) {
	if t < 0x80 {
		c.b = append(c.b, byte(t))
	} else {
		c.b = append(c.b, byte(t)|0x80, byte(t>>7))
	}
}

func (c *codec) putUint(field int, v uint64) {
	c.tag(field<<3 | wireVarint)
	c.b = binary.AppendUvarint(c.b, v)
}

func (c *codec) putText(field int, s string) {
	c.tag(field<<3 | wireBytes)
	c.b = append(binary.AppendUvarint(c.b, uint64(len(s))), s...)
}

func (c *codec) putBytes(field int, p []byte) {
	c.tag(field<<3 | wireBytes)
	c.b = append(binary.AppendUvarint(c.b, uint64(len(p))), p...)
}

func (c *codec) bad() uint64 { c.fail, c.i = true, c.end; return 0 }

func (c *codec) varint() uint64 {
	if i := c.i; i < c.end && c.b[i] < 0x80 {
		c.i++
		return uint64(c.b[i])
	}
	return c.longVarint()
}

func (c *codec) longVarint() uint64 {
	v, n := binary.Uvarint(c.b[c.i:c.end])
	if n <= 0 {
		return c.bad()
	}
	c.i += n
	return v
}

// next reads the number and type of the next field.
func (c *codec) next() {
	c.at = 0
	if c.fail || c.i >= c.end {
		return
	}
	t := uint64(c.b[c.i])
	if c.i++; t >= 0x80 {
		c.i--
		t = c.longVarint()
	}
	c.typ = int(t & 7)
	if t>>3 == 0 || t>>3 > 1<<28 {
		c.bad()
		return
	}
	c.at = int(t >> 3)
}

// The get functions read the current field and move to the next one. A field with a wrong wire type
// is skipped, and its value is zero.

func (c *codec) getUint(limit uint64) (v uint64) {
	if c.typ != wireVarint {
		c.skip()
	} else if v = c.varint(); v > limit {
		v = c.bad()
	}
	c.next()
	return v
}

func (c *codec) getText() (s string) {
	from, to := c.span()
	if c.s == "" {
		s = string(c.b[from:to])
	} else {
		s = c.s[from:to]
	}
	c.next()
	return s
}

// getBytes returns a slice of the message, or nil.
func (c *codec) getBytes() (p []byte) {
	if from, to := c.span(); from != to {
		p = c.b[from:to:to]
	}
	c.next()
	return p
}

func (c *codec) span() (from, to int) {
	if c.typ != wireBytes {
		c.skip()
		return c.i, c.i
	}
	n := c.varint()
	if c.fail || n > uint64(c.end-c.i) {
		c.bad()
		return c.end, c.end
	}
	from = c.i
	c.i += int(n)
	return from, c.i
}

// skip skips the current field.
func (c *codec) skip() {
	switch c.typ {
	case wireVarint:
		c.varint()
	case wireBytes:
		c.span()
	case wireFix64:
		c.i += 8
	case wireFix32:
		c.i += 4
	default:
		c.bad()
	}
	if c.i > c.end {
		c.bad()
	}
}

// enter begins a nested message, and leave returns to the outer one after it.
func (c *codec) enter() (outer frame) {
	outer = frame{c.end, c.last}
	c.i, c.end = c.span()
	c.last = -1
	c.next()
	return outer
}

func (c *codec) leave(outer frame) {
	c.i, c.end, c.last = c.end, outer.end, outer.last
	c.next()
}

// frame is the position of a codec in an outer message.
type frame struct{ end, last int }
