package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/text/transform"
)

// Office documents are zip files with parts in XML. These are their limits:
const (
	maxParts    = 10_000
	maxInflated = 64 << 20 // bytes of all parts that are read, inflated
	maxDepth    = 256      // nested elements
	maxRelated  = 100_000  // links of a document
)

// parts is an office document. Only requested parts are inflated, so other contents of the file,
// such as further archives, are never read.
type parts struct {
	files map[string]*zip.File
	left  int64
}

func openParts(b []byte) (*parts, error) {
	if bytes.HasPrefix(b, []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")) {
		return nil, fmt.Errorf("%w, or its format is too old", ErrEncrypted)
	}
	r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("as a zip file: %w", err)
	}
	if len(r.File) > maxParts {
		return nil, fmt.Errorf("%w: %d parts", ErrTooMuch, len(r.File))
	}
	p := &parts{files: make(map[string]*zip.File, len(r.File)), left: maxInflated}
	for _, f := range r.File {
		if _, twice := p.files[f.Name]; !twice {
			p.files[f.Name] = f
		}
	}
	return p, nil
}

// errMissing means that a part of a document is missing.
var errMissing = errors.New("a part is missing")

// part opens a part. Reading it ends with ErrTooMuch beyond maxInflated.
func (p *parts) part(name string) (io.ReadCloser, error) {
	f := p.files[strings.TrimPrefix(name, "/")]
	if f == nil {
		return nil, fmt.Errorf("%w: %s", errMissing, name)
	}
	if f.Flags&1 != 0 {
		return nil, ErrEncrypted
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &metered{r, p}, nil
}

// metered counts the inflated bytes.
type metered struct {
	io.ReadCloser
	p *parts
}

func (m *metered) Read(b []byte) (int, error) {
	if m.p.left <= 0 {
		return 0, ErrTooMuch
	}
	n, err := m.ReadCloser.Read(b[:min(int64(len(b)), m.p.left)])
	m.p.left -= int64(n)
	return n, err
}

// walk reads the elements of a part: it calls start at the beginning of each, end at its end, and
// text for the text between. An error of these functions ends it, and so does invalid XML. The text
// before that counts (see HTML), because start and end have received it.
func (p *parts) walk(name string, h handlers) error {
	r, err := p.part(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return walkXML(r, h)
}

// errDeep means that the elements of a part are nested deeper than maxDepth.
var errDeep = fmt.Errorf("%w: elements are nested too deep", ErrTooMuch)

// handlers are the functions that walk calls; any may be nil.
type handlers struct {
	start func(e xml.StartElement) error
	end   func(name string) error
	text  func(s string) error
}

func walkXML(r io.Reader, h handlers) error {
	d := xml.NewDecoder(transform.NewReader(r, mark()))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = charsetReader
	depth := 0
	for {
		t, err := d.RawToken()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errDeep
			}
			if h.start != nil {
				err = h.start(t)
			}
		case xml.EndElement:
			depth--
			if h.end != nil {
				err = h.end(t.Name.Local)
			}
		case xml.CharData:
			if h.text != nil {
				err = h.text(string(t))
			}
		}
		if err != nil {
			return err
		}
	}
}

// attribute returns the value of an attribute by its local name, or "".
func attribute(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// prefixed returns the value of an attribute by prefix and local name.
func prefixed(e xml.StartElement, prefix, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local && a.Name.Space == prefix {
			return a.Value
		}
	}
	return ""
}

// relation returns the relation of Office Open XML that an element names: r:id, with any prefix.
func relation(e xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "id" && a.Name.Space != "" {
			return a.Value
		}
	}
	return ""
}

// related is a target of a part of Office Open XML, inside or outside of the file.
type related struct {
	target   string // inside: the name of a part; outside: an address
	kind     string // the last word of its type: hyperlink, slide, sharedStrings …
	external bool
}

// relations returns the relations of a part, by id. A part may have none.
func (p *parts) relations(part string) (map[string]related, error) {
	all := map[string]related{}
	dir, file := path.Split(part)
	err := p.walk(dir+"_rels/"+file+".rels", handlers{start: func(e xml.StartElement) error {
		if e.Name.Local != "Relationship" || len(all) >= maxRelated {
			return nil
		}
		kind := attribute(e, "Type")
		r := related{attribute(e, "Target"), kind[strings.LastIndexByte(kind, '/')+1:], attribute(e, "TargetMode") == "External"}
		if !r.external {
			if strings.HasPrefix(r.target, "/") {
				r.target = r.target[1:]
			} else {
				r.target = path.Join(dir, r.target)
			}
		}
		all[attribute(e, "Id")] = r
		return nil
	}})
	if errors.Is(err, errMissing) {
		err = nil
	}
	return all, err
}

// maxTitle is how much of a title is read, in bytes.
const maxTitle = 1024

// properties reads title and language from a part with Dublin Core.
func (p *parts) properties(w *writer, part string) error {
	var in, title, lang string
	err := p.walk(part, handlers{
		start: func(e xml.StartElement) error { in = e.Name.Local; return nil },
		end:   func(string) error { in = ""; return nil },
		text: func(s string) error {
			if in == "title" && len(title) < maxTitle {
				title += s
			}
			if in == "language" && len(lang) < maxTitle {
				lang += s
			}
			return nil
		},
	})
	if errors.Is(err, ErrTooMuch) {
		return err
	}
	w.setTitle(title)
	w.lang = strings.TrimSpace(lang)
	return nil // properties are optional
}
