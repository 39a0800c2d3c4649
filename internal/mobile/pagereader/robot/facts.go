package robot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// Limits of facts, so that a record of them has at most reading.MaxFacts octets.
const (
	maxText     = 1 << 20 // octets of the text
	maxName     = 4 << 10 // octets of a title and the like
	maxLinks    = 10_000
	maxAllLinks = 512 << 10 // octets of all links
)

// facts returns the record with what is on a document.
func (r *run) facts(path string, body []byte, truncated bool) []byte {
	head := reading.Head(r.head)
	sum := sha256.Sum256(body)
	f := reading.PageFacts{
		Path: path, Status: head.Status(), Type: head.Get("Content-Type"), LastModified: head.Get("Last-Modified"),
		Digest: hex.EncodeToString(sum[:]), Size: int64(len(body)), Truncated: truncated,
	}
	r.tags.Reset(r.in.Token)
	for name, value := range head.All() {
		r.tags.AddHeader(name, value)
	}
	switch text, ok := toUTF8(body, f.Type); {
	case !ok:
	case isHTML(f.Type):
		if reading.MediaType(f.Type) == html.TypeXHTML {
			text = html.FromXHTML(text)
		}
		p := pageFacts{facts: &f, set: &r.tags, seen: map[string]bool{}}
		p.scan(text)
	case strings.HasPrefix(reading.MediaType(f.Type), "text/"):
		f.Text = string(text[:min(len(text), maxText)])
	}
	for _, source := range r.tags.Sources() {
		for _, rule := range source.Rules {
			if !slices.Contains(f.Tags, rule.Name) {
				f.Tags = append(f.Tags, rule.Name)
			}
		}
	}
	if d := r.tags.Directives(); d.At(r.now).NoIndex {
		f.Title, f.Description, f.Text = "", "", ""
	} else if d.NoFollow {
		f.Links = nil
	}
	r.out = appendFacts(append(r.out[:0], byte(reading.FactsOf)), &f)
	return r.out
}

// toUTF8 decodes a body, if it is in UTF-8, UTF-16, or a charset of Western Europe.
func toUTF8(body []byte, contentType string) ([]byte, bool) {
	page, known := asciiCompatible(body, contentType)
	page = bytes.TrimPrefix(page, []byte(bom))
	if !known || utf8.Valid(page) {
		return page, known
	}
	start := strings.ToLower(contentType + string(page[:min(len(page), 1024)]))
	_, after, said := strings.Cut(start, "charset=")
	after = strings.TrimLeft(after, "\"' ")
	for _, name := range [...]string{"iso-8859-1", "windows-1252", "latin1", "us-ascii"} {
		if rest, ok := strings.CutPrefix(after, name); !said || ok && (rest == "" || !html.IsAlnum(rest[0])) {
			return fromLatin1(page), true
		}
	}
	return nil, false
}

// fromLatin1 decodes windows-1252, which is also what browsers take ISO 8859-1 for.
func fromLatin1(body []byte) []byte {
	high := []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ") // from 0x80 on
	text := make([]byte, 0, len(body)+len(body)/8)
	for _, c := range body {
		if c >= 0x80 && c < 0xa0 {
			text = utf8.AppendRune(text, high[c-0x80])
		} else {
			text = utf8.AppendRune(text, rune(c))
		}
	}
	return text
}

// pageFacts reads a page once.
type pageFacts struct {
	facts *reading.PageFacts
	set   *robotstag.Set
	text  []byte
	seen  map[string]bool // links
	links int             // octets of them
}

func (p *pageFacts) scan(page []byte) {
	var head robotstag.Head
	templates := 0
	for z := (html.Reader{Page: page}); ; {
		kind, val, attrs := z.Next()
		switch kind {
		case html.End:
			p.facts.Text = strings.TrimSpace(string(p.text))
			return
		case html.Text:
			val = html.Unescape(val)
			head.Text(val)
			if templates == 0 && head.Closed() {
				p.words(val)
			}
		case html.EndTag:
			head.End(atom.Lookup(val))
			if templates > 0 && string(val) == "template" {
				templates--
			}
			p.between(atom.Lookup(val))
		case html.StartTag:
			tag := atom.Lookup(val)
			metaInHead := head.Start(tag)
			p.between(tag)
			switch {
			case tag == atom.Template:
				templates++
			case templates > 0:
			case tag == atom.Title && p.facts.Title == "":
				p.facts.Title = name(html.Unescape(z.Raw()))
			default:
				p.element(tag, attrs, metaInHead, !head.Closed())
			}
		}
	}
}

// words appends text, in which any white space is one blank.
func (p *pageFacts) words(text []byte) {
	if len(text) > 0 && html.IsSpace(text[0]) {
		p.blank(' ')
	}
	for word := range bytes.FieldsSeq(text) {
		if len(p.text)+len(word)+1 > maxText {
			return
		}
		p.text = append(append(p.text, word...), ' ')
	}
	if n := len(text); n > 0 && !html.IsSpace(text[n-1]) {
		p.text = bytes.TrimSuffix(p.text, []byte(" "))
	}
}

// blank makes sure that the text ends with white space.
func (p *pageFacts) blank(c byte) {
	switch n := len(p.text); {
	case n == 0 || p.text[n-1] == '\n' || n >= maxText:
	case p.text[n-1] == ' ':
		p.text[n-1] = c
	default:
		p.text = append(p.text, c)
	}
}

// between begins a line where an element does that is no part of a line.
func (p *pageFacts) between(tag atom.Atom) {
	switch tag {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd,
		atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr:
	case atom.Td, atom.Th:
		p.blank(' ')
	default:
		p.blank('\n')
	}
}

// element reads what an element states.
func (p *pageFacts) element(tag atom.Atom, attrs []byte, metaInHead, inHead bool) {
	f := p.facts
	switch tag {
	case atom.Html:
		f.Language = name(html.Value(html.Attr(attrs, "lang")))
	case atom.Meta:
		kind, content := html.Value(html.Attr(attrs, "name")), html.Value(html.Attr(attrs, "content"))
		if metaInHead && p.set.WantsMeta(kind) {
			p.set.AddMeta(string(kind), string(content))
		}
		if html.Is(kind, "description") && f.Description == "" {
			f.Description = name(content)
		}
	case atom.Link:
		if inHead && f.Canonical == "" && html.HasWord(html.Value(html.Attr(attrs, "rel")), "canonical") {
			f.Canonical = name(html.Value(html.Attr(attrs, "href")))
		}
	case atom.Base:
		if f.Base == "" {
			f.Base = name(html.Value(html.Attr(attrs, "href")))
		}
	case atom.A, atom.Area:
		if !html.HasWord(html.Value(html.Attr(attrs, "rel")), "nofollow") {
			p.link(html.Attr(attrs, "href"))
		}
	case atom.Frame, atom.Iframe:
		p.link(html.Attr(attrs, "src"))
	}
}

// link keeps a link as the page has it, once.
func (p *pageFacts) link(raw []byte) {
	link := name(html.Value(raw))
	if link == "" || p.seen[link] || len(p.seen) == maxLinks || p.links+len(link) > maxAllLinks {
		return
	}
	p.seen[link] = true
	p.links += len(link)
	p.facts.Links = append(p.facts.Links, link)
}

// name returns a short text without white space around it.
func name(b []byte) string {
	return string(bytes.TrimSpace(b[:min(len(b), maxName)]))
}

// appendFacts appends facts as JSON. encoding/json would be a tenth of the robot.
func appendFacts(b []byte, f *reading.PageFacts) []byte {
	b = appendString(append(b, `{"path":`...), f.Path)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(f.Status), 10)
	field := func(name, value string) {
		if value != "" {
			b = appendString(append(append(append(b, `,"`...), name...), `":`...), value)
		}
	}
	list := func(name string, values []string) {
		for i, v := range values {
			if i == 0 {
				b = append(append(append(b, `,"`...), name...), `":[`...)
			} else {
				b = append(b, ',')
			}
			b = appendString(b, v)
		}
		if len(values) > 0 {
			b = append(b, ']')
		}
	}
	field("type", f.Type)
	field("last_modified", f.LastModified)
	b = append(append(append(b, `,"digest":"`...), f.Digest...), '"')
	b = strconv.AppendInt(append(b, `,"size":`...), f.Size, 10)
	if f.Truncated {
		b = append(b, `,"truncated":true`...)
	}
	field("title", f.Title)
	field("description", f.Description)
	field("language", f.Language)
	field("base", f.Base)
	field("canonical", f.Canonical)
	list("tags", f.Tags)
	list("links", f.Links)
	field("text", f.Text)
	return append(b, '}')
}

// appendString appends a JSON string. An octet that is no UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ': // means nothing, and escaped it would be six times as long
			b = append(b, ' ')
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}
