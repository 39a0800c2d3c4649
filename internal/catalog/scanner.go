package catalog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// scanner reads JSON as a stream. It does not interpret values.
type scanner struct {
	in *bufio.Reader
	// spill receives values that are too long. If it is nil, such a value is truncated. Otherwise
	// spill gets the buffered part each time it reaches the limit, and the buffer is emptied.
	spill func([]byte)

	name []byte
}

// next returns the next byte that is not white space.
func (c *scanner) next() (byte, error) {
	for {
		b, err := c.in.ReadByte()
		if err != nil || b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, err
		}
	}
}

// members calls fn for each member of an object after its opening brace, with the first byte of its
// value. fn reads the value. An invalid or very long name is passed as "".
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

// elements calls fn for each member of a list after its opening bracket, with its first byte. fn
// reads the member.
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

// following returns the first byte of the next member, or end. It expects a comma before each
// member except the first.
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

// value reads to the end of a value that begins with first. It appends at most limit bytes of the
// value to dst; whole means that this is the complete value. It only counts brackets and recognises
// strings: the caller must check whether the value is valid JSON.
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
		for { // a number or a literal
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
