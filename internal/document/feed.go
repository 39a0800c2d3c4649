package document

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// Feeds: RSS 0.9x, 1.0 and 2.0, and Atom. Each entry becomes a heading, which is a link to the
// entry's address, and its text.

const (
	maxEntry = 1 << 20 // bytes of one entry's text that are read
	maxBase  = 4 << 10 // bytes of a base of relative addresses
)

// charsetReader decodes XML that is not in UTF-8. If an encoding declaration in ASCII letters names
// UTF-16, the text is not in UTF-16, or was already decoded.
func charsetReader(label string, r io.Reader) (io.Reader, error) {
	if strings.HasPrefix(strings.ToLower(label), "utf-16") {
		return r, nil
	}
	if e, _ := charset.Lookup(label); e != nil {
		return e.NewDecoder().Reader(r), nil
	}
	return nil, fmt.Errorf("charset %q is unknown", label)
}

// LooksLikeFeed returns the type of a feed from its first bytes, or "" if it is not a feed.
func LooksLikeFeed(first []byte) string {
	first = bytes.TrimPrefix(first, []byte("\xef\xbb\xbf"))
	for _, f := range [...]struct{ tag, kind string }{{"<rss", RSS}, {"<feed", Atom}, {"<rdf:RDF", RSS}} {
		i := bytes.Index(first, []byte(f.tag))
		if i < 0 || f.tag == "<rdf:RDF" && !bytes.Contains(first, []byte("purl.org/rss/1.0")) {
			continue
		}
		if before := bytes.TrimSpace(first[:i]); len(before) == 0 || before[0] == '<' && bytes.IndexByte(before, '<') == 0 && !bytes.Contains(before, []byte("<html")) {
			return f.kind
		}
	}
	return ""
}

// entry is the data of an item or entry, or of the feed itself.
type entry struct {
	title, text, link, id strings.Builder
	linkBase, textBase    string // the bases of the addresses in link, and in the last part of text
}

func readFeed(w *writer, f File) error {
	r := &feed{w: w}
	err := walkXML(bytes.NewReader(allowed(f.Body)), handlers{start: r.start, end: r.end, text: r.text})
	if err != nil && !errors.Is(err, errFull) && (errors.Is(err, ErrTooMuch) || !r.any) {
		return err // in a feed that is truncated, the text before that counts
	}
	if !r.any && err == nil {
		return errors.New("it is not a feed")
	}
	if r.at != &r.whole {
		err = errors.Join(err, r.write("h2", r.at))
	}
	err = errors.Join(err, r.head(true))
	w.cut = w.cut || err != nil || !r.ended
	return nil
}

var (
	reference = regexp.MustCompile(`&#(x[0-9A-Fa-f]+|[0-9]+);`)
	declared  = regexp.MustCompile(`^<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)`)
)

// allowed removes the characters that XML does not allow, because each of them would end the
// reading. Feeds have them when an entry's text was pasted from elsewhere.
func allowed(b []byte) []byte {
	b = marked(b)
	encoding := "utf-8"
	if m := declared.FindSubmatch(b); m != nil {
		encoding = strings.ToLower(string(m[1]))
	}
	switch {
	case strings.HasPrefix(encoding, "iso-2022"):
		return b // its control characters have a meaning
	case encoding != "utf-8" && !utf8.Valid(b):
		b = bytes.Clone(b)
		for i, c := range b {
			if forbidden(rune(c)) {
				b[i] = ' '
			}
		}
	default:
		b = bytes.Map(func(r rune) rune {
			if forbidden(r) {
				return ' '
			}
			return r
		}, bytes.ToValidUTF8(b, []byte("\ufffd")))
	}
	return reference.ReplaceAllFunc(b, func(ref []byte) []byte {
		digits, radix := ref[2:len(ref)-1], 10
		if digits[0] == 'x' {
			digits, radix = digits[1:], 16
		}
		n, err := strconv.ParseInt(string(digits), radix, 32)
		if err != nil || forbidden(rune(n)) {
			return []byte(" ")
		}
		return ref
	})
}

// forbidden reports whether XML does not allow a character (XML 1.0 §2.2).
func forbidden(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0xD800 && r <= 0xDFFF || r == 0xFFFE || r == 0xFFFF || r > unicode.MaxRune
}

type feed struct {
	w      *writer
	any    bool     // it is a feed
	path   []string // the open elements; "" for one whose text is ignored
	bases  []string // the bases of addresses in each (XML Base); "": the feed's own address
	at     *entry
	whole  entry
	told   bool // the feed's own title is written
	ended  bool // the end tag was read
	markup int  // depth of the Atom element whose text is XHTML; 0: none is open
}

func (r *feed) start(e xml.StartElement) error {
	name, base := e.Name.Local, ""
	if n := len(r.bases); n > 0 {
		base = r.bases[n-1]
	}
	if own := prefixed(e, "xml", "base"); own != "" && len(base)+len(own) <= maxBase {
		base = joined(base, own)
	}
	r.path, r.bases = append(r.path, name), append(r.bases, base)
	if r.markup > 0 {
		r.at.take(&r.at.text, "<"+name+` href="`+html.EscapeString(joined(base, attribute(e, "href")))+`">`)
		return nil
	}
	switch name {
	case "rss", "feed", "RDF":
		r.any = true
		if lang := attribute(e, "lang"); r.w.lang == "" {
			r.w.lang = lang
		}
		if r.at == nil {
			r.at = &r.whole
		}
	case "item", "entry":
		if err := r.head(false); err != nil {
			return err
		}
		r.at = new(entry)
	case "title":
		// The first title counts. media:title is the title of a picture.
		if r.at != nil && (e.Name.Space == "media" || filled(&r.at.title)) {
			r.path[len(r.path)-1] = ""
		}
	case "link":
		if r.at == nil {
			return nil
		}
		if filled(&r.at.link) {
			r.path[len(r.path)-1] = ""
			return nil
		}
		r.at.linkBase = base
		if rel := attribute(e, "rel"); (rel == "" || rel == "alternate") && r.says() == &r.at.link {
			r.at.link.WriteString(attribute(e, "href"))
		}
	case "guid", "id":
		if attribute(e, "isPermaLink") == "false" {
			r.path[len(r.path)-1] = ""
		}
	case "description", "summary", "content", "encoded", "subtitle":
		if r.at == nil || r.says() != &r.at.text {
			return nil
		}
		if filled(&r.at.text) {
			r.at.text.WriteString("<p>") // separates it from the text before
		}
		if base != r.at.textBase {
			r.at.text.WriteString(`<base href="` + html.EscapeString(base) + `">`)
			r.at.textBase = base
		}
		if attribute(e, "type") == "xhtml" {
			r.markup = len(r.path)
		}
	}
	return nil
}

func filled(b *strings.Builder) bool { return strings.TrimSpace(b.String()) != "" }

func (r *feed) end(name string) error {
	if n := len(r.path); n > 0 {
		r.path, r.bases = r.path[:n-1], r.bases[:n-1]
	}
	if r.markup > 0 {
		if len(r.path) >= r.markup {
			r.at.take(&r.at.text, "</"+name+">")
			return nil
		}
		r.markup = 0
	}
	switch name {
	case "item", "entry":
		e := r.at
		r.at = &r.whole
		if e == nil || e == &r.whole {
			return nil
		}
		return r.write("h2", e)
	case "rss", "feed", "RDF":
		r.ended = true
	}
	return nil
}

// head writes the feed's own title and address once: before its first entry, or at the end if there
// was no title before.
func (r *feed) head(last bool) error {
	if r.told || !last && !filled(&r.whole.title) {
		return nil
	}
	r.told = true
	r.w.setTitle(r.whole.title.String())
	return r.write("h1", &r.whole)
}

func (r *feed) write(block string, e *entry) error {
	w := r.w
	w.begin(block)
	if u := strings.TrimSpace(e.link.String()); u != "" {
		w.startLink(joined(e.linkBase, u))
	} else if id := strings.TrimSpace(e.id.String()); strings.HasPrefix(id, "https://") || strings.HasPrefix(id, "http://") {
		w.startLink(id) // the address if there is no other
	}
	if err := w.say(plain(e.title.String())); err != nil {
		return err
	}
	w.end()
	return prose(w, e.text.String())
}

// joined resolves an address against a base. It returns the address unchanged if there is no base,
// or if the base is itself relative to something unknown.
func joined(base, address string) string {
	address = strings.TrimSpace(address)
	b, err := url.Parse(base)
	if err != nil || !b.IsAbs() && !strings.HasPrefix(base, "/") || address == "" || address[0] == '#' {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() {
		return address
	}
	return b.ResolveReference(u).String()
}

// text adds the text of an element, unless that is ignored.
func (r *feed) text(s string) error {
	if r.at == nil {
		return nil
	}
	if r.markup > 0 {
		s = html.EscapeString(s)
	}
	if to := r.says(); to != nil {
		r.at.take(to, s)
	}
	return nil
}

// says returns the part of an entry, or of the feed, that the innermost open element belongs to. It
// returns nil if it belongs to none, or to a description of something else: an image, the author,
// the feed from which an entry was copied.
func (r *feed) says() (to *strings.Builder) {
	for i := len(r.path) - 1; i >= 0; i-- {
		switch r.path[i] {
		case "title":
			to = &r.at.title
		case "link":
			to = &r.at.link
		case "guid", "id":
			to = &r.at.id
		case "description", "summary", "content", "encoded", "subtitle":
			to = &r.at.text
		case "author", "image", "textinput", "textInput", "source":
			return nil
		case "item", "entry", "channel", "feed":
			return to
		}
	}
	return to
}

// take adds to a part of an entry, within the limit.
func (e *entry) take(to *strings.Builder, s string) {
	if to.Len()+len(s) <= maxEntry {
		to.WriteString(s)
	}
}

// plain returns the text of HTML without its tags.
func plain(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}

// prose writes only the text and the links of HTML in a feed.
func prose(w *writer, s string) error {
	z := html.NewTokenizer(strings.NewReader(s))
	hidden, base := "", ""
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			w.end()
			return nil
		}
		switch kind {
		case html.TextToken:
			if hidden == "" {
				if err := w.say(html.UnescapeString(string(z.Raw()))); err != nil {
					return err
				}
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			switch t.Data {
			case "script", "style", "noscript", "template":
				if kind == html.StartTagToken {
					hidden = t.Data
				}
			case "a":
				for _, a := range t.Attr {
					if a.Key == "href" && hidden == "" {
						w.startLink(joined(base, a.Val))
					}
				}
			case "base":
				for _, a := range t.Attr {
					if a.Key == "href" {
						base = a.Val
					}
				}
			case "p", "div", "li", "br", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table":
				w.begin("p")
			default:
				w.gap()
			}
		case html.EndTagToken:
			t := z.Token()
			if t.Data == hidden {
				hidden = ""
			}
			switch t.Data {
			case "a":
				w.endLink()
			case "p", "div", "li", "tr", "blockquote", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table":
				w.end()
			}
		}
	}
}
