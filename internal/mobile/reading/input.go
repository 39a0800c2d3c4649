package reading

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// What a robot may be asked for.
const (
	Pages = "pages" // documents as they are, for a crawl
	Facts = "facts" // what is on them, as JSON
)

// Limits of an input.
const (
	MaxToken = 64       // octets of the product token
	MaxTypes = 64       // media types
	maxType  = 127      // octets of one
	MaxBody  = 31 << 20 // octets of a body, so that a record of it fits into a record of the host
	MaxKnown = 1_000_000
	// MaxLine is the longest first line of an input, without its LF.
	MaxLine = 16 << 10
)

// ErrInput means that an input cannot be read or written. It is wrapped with the reason.
var ErrInput = errors.New("not the input of a page reader")

// Input tells the robot what to read.
type Input struct {
	Token    string   // whose robots tags count
	Want     string   // Pages or Facts
	Types    []string // media types in lower case, without parameters; empty: all
	MaxSize  int64    // octets of a body, after which it is cut; 1 to MaxBody
	MaxPages int64    // how many documents are sent at most, not counting unchanged ones; 0: all
	Known    Table    // the documents that are stored
}

// Encode returns the octets of the input: one line of JSON, and the table. They have one spelling.
func (in *Input) Encode() ([]byte, error) {
	if why := in.fault(); why != "" {
		return nil, &refusal{ErrInput, why}
	}
	b := append(make([]byte, 0, 256+len(in.Known)), `{"version":1,"token":"`...)
	b = append(append(append(b, in.Token...), `","want":"`...), in.Want...)
	b = append(b, `","types":[`...)
	for i, t := range in.Types {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), t...), '"')
	}
	b = strconv.AppendInt(append(b, `],"max_size":`...), in.MaxSize, 10)
	b = strconv.AppendInt(append(b, `,"max_pages":`...), in.MaxPages, 10)
	b = strconv.AppendInt(append(b, `,"known":`...), int64(in.Known.Len()), 10)
	return append(append(b, "}\n"...), in.Known...), nil
}

// ParseInput reads an input. Its table aliases b.
func ParseInput(b []byte) (Input, error) {
	end := bytes.IndexByte(b[:min(len(b), MaxLine+1)], '\n')
	if end < 0 {
		return Input{}, &refusal{ErrInput, "its first line does not end within 16 KiB"}
	}
	var in Input
	p := parser{rest: string(b[:end])}
	p.skip(`{"version":1,"token":"`)
	in.Token = p.until(`"`)
	p.skip(`,"want":"`)
	in.Want = p.until(`"`)
	p.skip(`,"types":[`)
	if types := p.until(`],"max_size":`); types != "" {
		for t := range strings.SplitSeq(types, ",") {
			q := parser{rest: t}
			q.skip(`"`)
			in.Types = append(in.Types, q.until(`"`))
			p.failed = p.failed || q.failed || q.rest != ""
		}
	}
	in.MaxSize = p.number()
	p.skip(`,"max_pages":`)
	in.MaxPages = p.number()
	p.skip(`,"known":`)
	known := p.number()
	p.skip(`}`)
	in.Known = Table(b[end+1:])
	switch {
	case p.failed || p.rest != "":
		return Input{}, &refusal{ErrInput, "its first line has other fields, or another order or spelling"}
	case known > MaxKnown || int64(len(in.Known)) != 8*known:
		return Input{}, &refusal{ErrInput, "the length of its table is not that in its first line"}
	}
	if why := in.fault(); why != "" {
		return Input{}, &refusal{ErrInput, why}
	}
	return in, nil
}

// fault says what is wrong with an input, or nothing.
func (in *Input) fault() string {
	switch {
	case !validToken(in.Token):
		return "its token is not 1 to 64 letters, - and _"
	case in.Want != Pages && in.Want != Facts:
		return "it wants neither pages nor facts"
	case in.MaxSize < 1 || in.MaxSize > MaxBody:
		return "max_size is not 1 to 31 MiB"
	case in.MaxPages < 0:
		return "max_pages is negative"
	case len(in.Types) > MaxTypes:
		return "it has more than 64 media types"
	case !in.Known.valid():
		return "its table is too long, or not in ascending order"
	}
	for _, t := range in.Types {
		if !validType(t) {
			return "a media type is not one in lower case without parameters"
		}
	}
	return ""
}

// Accepts reports whether documents of a media type are wanted. The type is the value of a
// Content-Type, with or without parameters, in any case.
func (in *Input) Accepts(contentType string) bool {
	if len(in.Types) == 0 {
		return true
	}
	media := MediaType(contentType)
	for _, t := range in.Types {
		if t == media {
			return true
		}
	}
	return false
}

// MediaType returns the media type of a Content-Type in lower case, without parameters.
func MediaType(contentType string) string {
	b := make([]byte, 0, 40)
	for i := range len(contentType) {
		c := contentType[i]
		if c == ';' {
			break
		}
		b = append(b, lower(c))
	}
	return string(bytes.Trim(b, " \t"))
}

func validToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '-' && c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= MaxToken
}

func validType(s string) bool {
	slash := -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '/' && slash < 0:
			slash = i
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == '_':
		default:
			return false
		}
	}
	return slash > 0 && slash < len(s)-1 && len(s) <= maxType
}

// parser reads JSON that has one spelling: known names in a known order, strings without escapes,
// and no blanks.
type parser struct {
	rest   string
	failed bool
}

// skip reads a known text.
func (p *parser) skip(text string) {
	rest, ok := strings.CutPrefix(p.rest, text)
	p.rest, p.failed = rest, p.failed || !ok
}

// until reads up to a text, and this text.
func (p *parser) until(text string) string {
	before, after, ok := strings.Cut(p.rest, text)
	p.rest, p.failed = after, p.failed || !ok
	return before
}

// number reads a number without a sign and without leading zeros.
func (p *parser) number() int64 {
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(p.rest[:n], 10, 64)
	p.failed = p.failed || err != nil || n > 1 && p.rest[0] == '0'
	p.rest = p.rest[n:]
	return v
}
