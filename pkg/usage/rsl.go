package usage

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// RSLNamespace is the namespace of RSL 1.0. It identifies a licence document, whatever its media
// type.
const RSLNamespace = "https://rslstandard.org/rsl"

// RSLType is the media type of links to licence documents.
const RSLType = "application/rsl+xml"

// Limits of a licence document.
const (
	MaxRSL      = 1 << 20 // bytes; a longer document is not read
	maxContents = 10_000  // content elements; a document with more is not read
)

// RSL is a licence document of Really Simple Licensing 1.0. It does not change.
type RSL struct {
	contents []rslContent
}

// rslContent is a content element: its URL pattern, and the licences offered for it.
type rslContent struct {
	pattern
	origin   string // of its url; "" for that of the document
	server   bool   // a token of a licence server is required
	licenses []rslLicense
	line     int
}

type rslLicense struct {
	permits, prohibits Purposes
	listed             bool // there is a list of permitted uses
	conditional        bool // only for some users or countries
	paid               bool // it requires something other than attribution
}

// rslUses maps the words of permits and prohibits with type="usage" to purposes.
var rslUses = map[string]Purposes{
	"all":      PurposesOf(Search, AIInput, AITrain),
	"ai-all":   PurposesOf(AIInput, AITrain),
	"ai-train": PurposesOf(AITrain),
	"ai-input": PurposesOf(AIInput),
	"ai-index": PurposesOf(AIInput),
	"search":   PurposesOf(Search),
}

// ParseRSL parses a licence document. A document that is invalid, too long, or has no element of
// RSL's namespace is an error and has no effect (formats §8.19).
func ParseRSL(body []byte) (*RSL, error) {
	if len(body) > MaxRSL {
		return nil, errors.New("the file is longer than 1 MiB: ignored")
	}
	p := rslParser{d: xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\uFEFF"))))}
	p.d.CharsetReader = oneByte
	for {
		t, err := p.d.Token()
		switch {
		case err == io.EOF && !p.ours:
			return nil, errors.New("the document has no element of the namespace " + RSLNamespace + ": ignored")
		case err == io.EOF:
			return &p.doc, nil
		case err != nil:
			return nil, fmt.Errorf("the XML is broken: ignored: %w", err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Space == RSLNamespace {
				p.ours = true
				p.start(t)
			}
		case xml.EndElement:
			if t.Name.Space == RSLNamespace {
				p.end(t.Name.Local)
			}
		case xml.CharData:
			if p.list != "" {
				p.text = append(p.text, t...)
			}
		}
		if len(p.doc.contents) > maxContents {
			return nil, errors.New("more than 10000 content elements: ignored")
		}
	}
}

type rslParser struct {
	d       *xml.Decoder
	doc     RSL
	ours    bool
	content bool   // inside a content element, the last of doc
	license bool   // inside a license element, the last of the content
	list    string // inside permits or prohibits with type usage: its name
	text    []byte // its text without comments
}

// oneByte decodes charsets with one byte per character that contain ASCII. The words of RSL are
// ASCII, so the other characters do not matter here.
func oneByte(label string, in io.Reader) (io.Reader, error) {
	label = lower(label)
	for _, known := range []string{"us-ascii", "ascii", "iso-8859-", "windows-125", "latin"} {
		if strings.HasPrefix(label, known) {
			b, err := io.ReadAll(in)
			runes := make([]rune, len(b))
			for i, c := range b {
				runes[i] = rune(c)
			}
			return strings.NewReader(string(runes)), err
		}
	}
	return nil, fmt.Errorf("the charset %.40q is unknown", label)
}

func (p *rslParser) start(t xml.StartElement) {
	switch t.Name.Local {
	case "content":
		line, _ := p.d.InputPos()
		c := rslContent{line: line, server: attr(t, "server") != ""}
		var path string
		if c.origin, path = splitURL(strings.TrimSpace(attr(t, "url"))); path != "" && path[0] != '/' && path[0] != '*' {
			path = "/" + path
		}
		c.pattern = newPattern(path)
		p.endList()
		p.doc.contents = append(p.doc.contents, c)
		p.content, p.license = true, false
	case "license":
		p.endList()
		if p.license = p.content; p.license {
			c := p.last()
			c.licenses = append(c.licenses, rslLicense{})
		}
	case "permits", "prohibits":
		l := p.offer()
		if l == nil {
			return
		}
		switch lower(strings.TrimSpace(attr(t, "type"))) {
		case "usage", "":
			p.endList() // of a list that contains this element
			p.list = t.Name.Local
			l.listed = l.listed || p.list == "permits"
		default:
			l.conditional = true
		}
	case "payment":
		if l := p.offer(); l != nil {
			for _, word := range strings.Fields(attr(t, "type")) {
				l.paid = l.paid || lower(word) != "free" && lower(word) != "attribution"
			}
		}
	}
}

func (p *rslParser) end(name string) {
	switch name {
	case "content":
		p.endList()
		p.content, p.license = false, false
	case "license":
		p.endList()
		p.license = false
	case "permits", "prohibits":
		p.endList()
	}
}

// endList applies the words of the list that ends here, if one does.
func (p *rslParser) endList() {
	if l := p.offer(); l != nil {
		for _, word := range strings.FieldsFunc(string(p.text), func(r rune) bool { return r == ',' || r <= ' ' }) {
			if p.list == "permits" {
				l.permits |= rslUses[lower(word)]
			} else {
				l.prohibits |= rslUses[lower(word)]
			}
		}
	}
	p.list, p.text = "", p.text[:0]
}

func (p *rslParser) last() *rslContent { return &p.doc.contents[len(p.doc.contents)-1] }

// offer returns the current licence, or nil outside of one.
func (p *rslParser) offer() *rslLicense {
	if !p.license {
		return nil
	}
	c := p.last()
	return &c.licenses[len(c.licenses)-1]
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// find returns the content elements that decide about a URL: the matching ones with the most
// octets.
func (r *RSL) find(url string) (found []*rslContent) {
	t := newTarget(url)
	most := -1
	for i := range r.contents {
		c := &r.contents[i]
		if c.origin != "" && t.origin != "" && c.origin != t.origin || len(c.text) > maxPattern || !c.match(t.path) {
			continue
		}
		if c.octets() > most {
			found, most = found[:0], c.octets()
		}
		if c.octets() == most {
			found = append(found, c)
		}
	}
	return found
}

// preferences returns the meaning of one content element. Its licences are offers, and one of them
// is sufficient. A use that one of them prohibits is not offered by another.
func (c *rslContent) preferences() (p Preferences) {
	for _, purpose := range []Purpose{Search, AIInput, AITrain} {
		p[purpose] = c.value(purpose)
	}
	return p
}

func (c *rslContent) value(purpose Purpose) Value {
	var free, conditional, refused bool
	for _, l := range c.licenses {
		switch {
		case l.prohibits.Has(purpose):
			return Disallow
		case l.listed && !l.permits.Has(purpose), l.paid:
			refused = true
		case l.conditional:
			conditional = true // we cannot know whether it applies to us
		case l.listed:
			free = true
		}
	}
	switch {
	case c.server:
		return Disallow
	case free:
		return Allow
	case conditional:
		return Unknown
	case refused:
		return Disallow
	}
	return Unknown
}
