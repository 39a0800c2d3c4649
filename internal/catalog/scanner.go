package catalog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// scanner goes over JSON as it comes. What a value says is for others to see.
type scanner struct {
	in *bufio.Reader
	// nil: what is longer than it may be is cut off. Else takes what there is of a value whenever
	// that is as long as it may be, and the value goes on from nothing.
	spill func([]byte)

	name []byte
}

// next is the next byte that is no blank.
func (c *scanner) next() (byte, error) {
	for {
		b, err := c.in.ReadByte()
		if err != nil || b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, err
		}
	}
}

// members calls fn for each member of an object whose brace was read, with the first byte of its
// value. fn reads the value. A name that is none, or a very long one, is empty: nobody's.
func (c *scanner) members(fn func(name string, first byte) error) error {
	for first := true; ; first = false {
		b, end, err := c.following('}', first)
		if err != nil || end {
			return err
		}
		if b != '"' {
			return fmt.Errorf("%w: a member without a name", ErrBroken)
		}
		if c.name, _, err = c.value(b, c.name[:0], maxNote); err != nil {
			return err
		}
		var name string
		if json.Unmarshal(c.name, &name) != nil {
			name = ""
		}
		if b, err = c.next(); err != nil {
			return err
		}
		if b != ':' {
			return fmt.Errorf("%w: a member without a value", ErrBroken)
		}
		if b, err = c.next(); err != nil {
			return err
		}
		if err := fn(name, b); err != nil {
			return err
		}
	}
}

// elements calls fn for each member of a list whose bracket was read, with its first byte. fn reads
// the member.
func (c *scanner) elements(fn func(first byte) error) error {
	for first := true; ; first = false {
		b, end, err := c.following(']', first)
		if err != nil || end {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// following is the first byte of the next member, unless there is an end. Before all members but
// the first is a comma.
func (c *scanner) following(bracket byte, first bool) (b byte, end bool, err error) {
	b, err = c.next()
	switch {
	case err != nil || first && b != bracket:
		return b, false, err
	case b == bracket:
		return b, true, nil
	case b != ',':
		return b, false, fmt.Errorf("%w: no comma between members", ErrBroken)
	}
	b, err = c.next()
	return b, false, err
}

// value reads to the end of a value that begins with first. It appends the value to dst, as far as
// limit; whole says that there was room. It counts brackets and knows texts, nothing more: whether
// it is JSON is for the caller to see.
func (c *scanner) value(first byte, dst []byte, limit int) (raw []byte, whole bool, err error) {
	whole = true
	put := func(b byte) {
		if len(dst) >= limit {
			whole = false
			if c.spill == nil {
				return
			}
			c.spill(dst)
			dst = dst[:0]
		}
		dst = append(dst, b)
	}
	text := func() error {
		for {
			b, err := c.in.ReadByte()
			if err != nil {
				return err
			}
			put(b)
			switch b {
			case '"':
				return nil
			case '\\':
				if b, err = c.in.ReadByte(); err != nil {
					return err
				}
				put(b)
			}
		}
	}
	put(first)
	switch first {
	case '"':
		err = text()
		return dst, whole, err
	case '{', '[':
	case '}', ']', ',', ':':
		return dst, whole, fmt.Errorf("%w: a value is missing", ErrBroken)
	default:
		for { // a number or a word
			b, err := c.in.ReadByte()
			if err == io.EOF {
				return dst, whole, nil
			}
			if err != nil {
				return dst, whole, err
			}
			switch b {
			case ',', ']', '}', ' ', '\t', '\n', '\r':
				return dst, whole, c.in.UnreadByte()
			}
			put(b)
		}
	}
	for depth := 1; depth > 0; {
		b, err := c.in.ReadByte()
		if err != nil {
			return dst, whole, err
		}
		put(b)
		switch b {
		case '"':
			if err := text(); err != nil {
				return dst, whole, err
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return dst, whole, nil
}
