package crawl

import (
	"encoding/binary"
	"errors"
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

// A codec writes or reads messages. Both use the same list of a message's fields (fields.go), which
// passes each field with its number to the codec, in ascending order. A codec that writes appends
// the field to its output. It omits zero values, like proto3. A codec that reads sets the field if
// it is the next one of its input, and otherwise leaves it. So a message in ascending order needs
// one pass over the list, and a message in another order needs several.
//
// wireformat.go has what is below a field: numbers, texts and nested messages as bytes.
type codec struct {
	output
	input // its at is writing in a codec that writes
}

// writing is the value of at of a codec that writes.
const writing = -1

func writer(b []byte) codec { return codec{output: output{b}, input: input{at: writing}} }

func reader(b []byte) codec {
	c := bodyReader(b)
	c.s = string(b)
	return c
}

// bodyReader is for messages that consist mostly of a body. Strings are copied one by one.
func bodyReader(b []byte) codec {
	c := codec{input: input{b: b, end: len(b), last: -1}}
	c.next()
	return c
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
			c.out = binary.AppendUvarint(c.out, uint64(max(n, 0)))
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
