package catalog

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Limits of a catalogue that is read as it comes.
const (
	MaxCatalogue = 64 << 20  // bytes, unless told otherwise
	PartBytes    = 256 << 10 // of a part; only a single long dataset makes one longer
	maxMember    = 512 << 10 // bytes of one dataset; a longer one is left out
	maxNote      = 8 << 10   // bytes of a value beside the list that is looked at, a context too
	maxCutDepth  = 3         // objects that are gone into on the way to a list
)

var (
	// ErrCatalogueLarge says that a catalogue is longer than Cut may read.
	ErrCatalogueLarge = errors.New("longer than is read of one catalogue")
	// ErrNoCatalogue says that a document has no list that could be cut into parts.
	ErrNoCatalogue = errors.New("no list of datasets that could be read in parts")
	// ErrBroken says that a document is no JSON, or ends before its end.
	ErrBroken = errors.New("not JSON to its end")
)

// Summary is what Cut has seen of a document.
type Summary struct {
	Parts   int
	Members int // of its lists, handed on in parts
	LeftOut int // members that are no JSON, or longer than one may be
	Bytes   int64
	SHA256  [32]byte
	Pages   Paging
}

// lists are the properties whose lists are cut: of a catalogue in DCAT and schema.org, of an answer
// of CKAN, of a JSON-LD document, of a set of links.
var lists = map[string]bool{"dataset": true, "@graph": true, "results": true, "itemListElement": true, "linkset": true}

// ways are the properties that are gone into in search of a list.
var ways = map[string]bool{"result": true, "mainEntity": true}

// Cut reads a JSON document of any length and hands on what its lists of datasets hold as
// documents of their own, about PartBytes each: a part can be read by ReadJSON as if there were no
// other. It holds one part in memory. part must not keep its argument; an error of it ends Cut and
// is returned. What else may be returned is an error of r, ErrCatalogueLarge past limit bytes,
// ErrNoCatalogue, also past MaxParts, or ErrBroken; what was handed on by then is not all of the
// document.
//
// Each of the datasets has to stand for itself. Nodes of a @graph refer to one another, so a @graph
// is gone over for what it says of other pages, and not handed on.
func Cut(r io.Reader, limit int64, part func([]byte) error) (Summary, error) {
	src := &counted{r: r, left: limit, sum: sha256.New()}
	c := &cutter{in: bufio.NewReaderSize(src, 64<<10), part: part, most: MaxParts(limit)}
	err := c.document()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: it ends in the middle", ErrBroken)
	}
	switch {
	case src.err != nil:
		err = src.err // whatever it made of the document
	case err == nil && c.s.Parts == 0:
		err = ErrNoCatalogue
	}
	c.s.Bytes = src.n
	src.sum.Sum(c.s.SHA256[:0])
	return c.s, err
}

// MaxParts is how many parts a document of so many bytes may have. Each list ends one, and a list
// of a few bytes costs those who keep it as much as one of PartBytes.
func MaxParts(limit int64) int { return 64 + int(2*limit/PartBytes) }

// counted reads no more than so many bytes, and remembers why it stopped.
type counted struct {
	r       io.Reader
	n, left int64
	sum     hash.Hash
	err     error // but io.EOF
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	if int64(n) > c.left {
		n, err = int(c.left), ErrCatalogueLarge
	}
	c.left -= int64(n)
	c.n += int64(n)
	c.sum.Write(p[:n])
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// cutter goes over one document.
type cutter struct {
	in   *bufio.Reader
	part func([]byte) error
	most int // parts
	s    Summary

	context     []byte // of the document: what it says that names in it mean
	open, close []byte // what stands round the members of a part
	out         []byte // the part that is being filled
	member      []byte
	path        []string
}

// next is the next byte that is no blank.
func (c *cutter) next() (byte, error) {
	for {
		b, err := c.in.ReadByte()
		if err != nil || b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, err
		}
	}
}

func (c *cutter) document() error {
	if mark, _ := c.in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = c.in.Discard(3)
	}
	b, err := c.next()
	switch {
	case err != nil:
	case b == '{':
		err = c.object(0)
	case b == '[':
		err = c.list("")
	default:
		err = fmt.Errorf("%w: it is neither an object nor a list", ErrBroken)
	}
	if err != nil {
		return err
	}
	if _, err := c.next(); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("%w: something stands behind its end", ErrBroken)
		}
		return err
	}
	return nil
}

// object goes over the members of an object whose brace was read.
func (c *cutter) object(depth int) error {
	for first := true; ; first = false {
		b, err := c.next()
		if err != nil {
			return err
		}
		switch {
		case b == '}':
			return nil
		case first:
		case b != ',':
			return fmt.Errorf("%w: no comma between members", ErrBroken)
		default:
			if b, err = c.next(); err != nil {
				return err
			}
		}
		if b != '"' {
			return fmt.Errorf("%w: a member without a name", ErrBroken)
		}
		raw, _, err := c.value(b, c.member[:0], maxNote)
		c.member = raw
		if err != nil {
			return err
		}
		var name string
		if json.Unmarshal(raw, &name) != nil {
			name = "" // nobody's
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
		switch known := local(name); {
		case b == '[' && lists[known]:
			err = c.list(name)
		case b == '{' && ways[known] && depth < maxCutDepth:
			c.path = append(c.path, name)
			err = c.object(depth + 1)
			c.path = c.path[:len(c.path)-1]
		default:
			var whole bool
			if raw, whole, err = c.value(b, c.member[:0], maxNote); whole && err == nil {
				c.s.Pages.note(known, raw)
				if name == "@context" && depth == 0 && json.Valid(raw) {
					c.context = bytes.Clone(raw)
				}
			}
			c.member = raw
		}
		if err != nil {
			return err
		}
	}
}

// list hands on the members of a list whose bracket was read; name is the property it stands under.
func (c *cutter) list(name string) error {
	c.open, c.close = c.open[:0], c.close[:0]
	for _, p := range append(c.path[:len(c.path):len(c.path)], name) {
		if p != "" {
			quoted, _ := json.Marshal(p) // a text always can be
			c.open = append(c.open, '{')
			if c.context != nil && len(c.open) == 1 {
				c.open = append(append(append(c.open, `"@context":`...), c.context...), ',')
			}
			c.open = append(append(c.open, quoted...), ':')
			c.close = append(c.close, '}')
		}
	}
	c.open, c.close = append(c.open, '['), append([]byte{']'}, c.close...)
	c.out = append(c.out[:0], c.open...)
	for first := true; ; first = false {
		b, err := c.next()
		if err != nil {
			return err
		}
		switch {
		case b == ']':
			return c.flush()
		case first:
		case b != ',':
			return fmt.Errorf("%w: no comma between members", ErrBroken)
		default:
			if b, err = c.next(); err != nil {
				return err
			}
		}
		raw, whole, err := c.value(b, c.member[:0], maxMember)
		c.member = raw
		if err != nil {
			return err
		}
		if !whole || !json.Valid(raw) {
			c.s.LeftOut++
			continue
		}
		c.s.Pages.member(raw)
		if local(name) == "@graph" {
			continue
		}
		if len(c.out) > len(c.open) && len(c.out)+len(raw) > PartBytes {
			if err := c.flush(); err != nil {
				return err
			}
		}
		if len(c.out) > len(c.open) {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, raw...)
		c.s.Members++
	}
}

// flush hands the part on that is being filled, and begins the next.
func (c *cutter) flush() error {
	if len(c.out) > len(c.open) {
		if c.s.Parts++; c.s.Parts > c.most {
			return fmt.Errorf("%w: it has more than %d lists", ErrNoCatalogue, c.most)
		}
		if err := c.part(append(c.out, c.close...)); err != nil {
			return err
		}
	}
	c.out = append(c.out[:0], c.open...)
	return nil
}

// value reads to the end of a value that begins with first. It appends the value to dst, as far as
// limit; whole says that there was room. It counts brackets and knows texts, nothing more: whether
// it is JSON is for the caller to see.
func (c *cutter) value(first byte, dst []byte, limit int) (raw []byte, whole bool, err error) {
	whole = true
	put := func(b byte) {
		if len(dst) < limit {
			dst = append(dst, b)
		} else {
			whole = false
		}
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
