package rdf

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// xmlTokens are the tags and texts of an XML document. Each end tag belongs to an element that is
// open: where end tags are missing or too many, they are added or passed over.
type xmlTokens struct {
	in       *xmlInput
	d        *xml.Decoder
	open     []xml.Name // as they are written, with prefixes
	put      xml.Token  // an end tag that closes several elements
	missing  map[string]bool
	declared int // namespaces
	report   Report
}

// begin prepares for a document in any charset.
func (x *xmlTokens) begin(r io.Reader) {
	x.in = &xmlInput{in: bufio.NewReaderSize(inUTF8(bufio.NewReaderSize(r, 64<<10)), 64<<10)}
	x.d = xml.NewDecoder(x.in)
	x.d.Strict = false
	x.d.Entity = maps.Clone(xml.HTMLEntity) // they are used in XML too, without a declaration
	x.d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
}

// inUTF8 returns the text of an XML document in UTF-8. Its charset is that of its byte order mark,
// or else that of its declaration.
func inUTF8(in *bufio.Reader) io.Reader {
	first, _ := in.Peek(1024)
	for _, mark := range []struct {
		bytes string
		order unicode.Endianness
	}{{"\xff\xfe", unicode.LittleEndian}, {"\xfe\xff", unicode.BigEndian}, {"<\x00", unicode.LittleEndian}, {"\x00<", unicode.BigEndian}} {
		if bytes.HasPrefix(first, []byte(mark.bytes)) {
			return unicode.UTF16(mark.order, unicode.UseBOM).NewDecoder().Reader(in)
		}
	}
	first, marked := bytes.CutPrefix(first, []byte("\xef\xbb\xbf"))
	if end := bytes.Index(first, []byte("?>")); end > 0 && !marked && bytes.HasPrefix(first, []byte("<?xml")) {
		_, label, _ := bytes.Cut(first[:end], []byte("encoding"))
		name := strings.ToLower(strings.Trim(string(label), "= \t\r\n\"'"))
		name, _, _ = strings.Cut(name, "\"")
		name, _, _ = strings.Cut(name, "'")
		// A document that can be read as ASCII until here is not in UTF-16, whatever it declares.
		if e, _ := charset.Lookup(name); e != nil && !strings.HasPrefix(name, "utf-16") {
			return e.NewDecoder().Reader(in)
		}
	}
	return unicode.UTF8BOM.NewDecoder().Reader(in)
}

// errToken ends a document with a token that is too long.
var errToken = errors.New("a tag or a text is longer than " + strconv.Itoa(maxToken) + " bytes")

// xmlInput is the document byte by byte, as [xml.Decoder] reads it. It limits each token, and
// replaces control characters, which no XML document may contain and which would end it.
type xmlInput struct {
	in         *bufio.Reader
	left, refs int // of the current token
	err        error
}

func (i *xmlInput) ReadByte() (byte, error) {
	b, err := i.in.ReadByte()
	if err != nil {
		i.err = err
		return 0, err
	}
	if b == '&' {
		i.refs--
	}
	if i.left--; i.left < 0 || i.refs < 0 {
		return 0, errToken
	}
	if b < ' ' && b != '\t' && b != '\n' && b != '\r' {
		b = ' '
	}
	return b, nil
}

// Read makes xmlInput an [io.Reader]. The decoder does not call it.
func (i *xmlInput) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if p[n], err = i.ReadByte(); err == nil {
			n++
		}
	}
	return n, err
}

// next returns the next start tag, end tag or text. At the end of the document, and where its
// syntax ends it, it returns [io.EOF].
func (x *xmlTokens) next() (xml.Token, error) {
	if x.put != nil {
		token := x.put
		x.put = nil
		return x.end(token.(xml.EndElement))
	}
	for {
		x.in.left, x.in.refs = maxToken, maxReferences
		token, err := x.d.RawToken()
		if err != nil {
			return nil, x.ended(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			x.open = append(x.open, token.Name)
			return token.Copy(), nil
		case xml.EndElement:
			if !slices.Contains(x.open, token.Name) {
				x.forgive("an end tag of no element")
				continue
			}
			return x.end(token)
		case xml.CharData:
			return token, nil
		case xml.Directive:
			x.declare(string(token))
		}
	}
}

// end closes the innermost element, which is that of the end tag unless its own is missing.
func (x *xmlTokens) end(token xml.EndElement) (xml.Token, error) {
	last := len(x.open) - 1
	if x.open[last] != token.Name {
		x.forgive("an element is not closed")
		x.put = token
	}
	token = xml.EndElement{Name: x.open[last]}
	x.open = x.open[:last]
	return token, nil
}

// ended reports why the document ends.
func (x *xmlTokens) ended(err error) error {
	var bad *xml.SyntaxError
	switch {
	case err == errToken:
		x.report.add(x.d.InputOffset(), true, err.Error())
	case len(x.open) > 0 || err != io.EOF:
		what := "the document ends in an element"
		if errors.As(err, &bad) && x.in.err != io.EOF {
			what = bad.Msg
		} else {
			x.report.Cut = true
		}
		x.report.add(x.d.InputOffset(), true, what)
	}
	return io.EOF
}

func (x *xmlTokens) forgive(what string) { x.report.add(x.d.InputOffset(), false, what) }

// pass skips the rest of the innermost element.
func (x *xmlTokens) pass() error {
	for depth := len(x.open); len(x.open) >= depth; {
		if _, err := x.next(); err != nil {
			return err
		}
	}
	return nil
}

// markup returns the content of the innermost element as it could be written, up to its end
// (parseType="Literal").
func (x *xmlTokens) markup() (string, error) {
	var b bytes.Buffer
	name := func(n xml.Name) {
		if n.Space != "" {
			b.WriteString(n.Space + ":")
		}
		b.WriteString(n.Local)
	}
	for depth := len(x.open); ; {
		token, err := x.next()
		if err != nil {
			return "", err
		}
		if len(x.open) < depth {
			return b.String(), nil
		}
		if b.Len() > maxLiteral {
			continue
		}
		switch token := token.(type) {
		case xml.StartElement:
			b.WriteByte('<')
			name(token.Name)
			for _, a := range token.Attr {
				b.WriteByte(' ')
				name(a.Name)
				b.WriteString(`="`)
				_ = xml.EscapeText(&b, []byte(a.Value)) // a buffer takes all
				b.WriteByte('"')
			}
			b.WriteByte('>')
		case xml.EndElement:
			b.WriteString("</")
			name(token.Name)
			b.WriteByte('>')
		case xml.CharData:
			_ = xml.EscapeText(&b, token)
		}
	}
}

// declare reads the entities that a document type declares: <!ENTITY dct "http://purl.org/…">.
// External ones and those of parameters are passed over.
func (x *xmlTokens) declare(doctype string) {
	for declared := 0; declared < maxEntities; {
		_, rest, ok := strings.Cut(doctype, "<!ENTITY")
		if !ok {
			return
		}
		doctype = rest
		name, rest, _ := strings.Cut(strings.TrimLeft(rest, " \t\r\n"), " ")
		rest = strings.TrimLeft(rest, " \t\r\n")
		if name == "" || name == "%" || len(name) > maxName || rest == "" || rest[0] != '"' && rest[0] != '\'' {
			continue
		}
		value, after, ok := strings.Cut(rest[1:], rest[:1])
		if !ok {
			return
		}
		doctype = after
		if value, ok = x.expanded(value); !ok || len(value) > maxEntity {
			x.report.add(x.d.InputOffset(), true, "the value of an entity is longer than "+strconv.Itoa(maxEntity)+" bytes")
			continue
		}
		x.d.Entity[name] = value
		declared++
	}
}

// expanded replaces the references in the value of an entity. Each value is short, so the result is
// at most [maxEntity] times as long.
func (x *xmlTokens) expanded(value string) (string, bool) {
	if len(value) > maxEntity {
		return "", false
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(value, "&")
		b.WriteString(before)
		name, after, closed := strings.Cut(rest, ";")
		if !ok || !closed {
			b.WriteString(rest)
			return b.String(), b.Len() <= maxEntity
		}
		value = after
		switch text, known := x.d.Entity[name]; {
		case known:
			b.WriteString(text)
		case strings.HasPrefix(name, "#"):
			number, base := name[1:], 10
			if hex, ok := strings.CutPrefix(number, "x"); ok {
				number, base = hex, 16
			}
			if c, err := strconv.ParseUint(number, base, 20); err == nil {
				b.WriteRune(rune(c))
			}
		default:
			b.WriteString("&" + name + ";")
		}
	}
}
