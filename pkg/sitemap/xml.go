package sitemap

import (
	"bufio"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
)

// readXML reads any of the XML forms. It takes tags as written, without minding namespaces or whether they are well nested:
// what it looks for is an entry's element and, directly in it, the few that say something. So <image:loc> inside <url> is not
// taken for the page's own <loc>.
func (s *reader) readXML(in *bufio.Reader) error {
	t := &tokens{r: in}
	d := xml.NewDecoder(t)
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = charsetReader
	x := &xmlReader{s: s}
	for {
		t.left = maxToken
		tok, err := d.RawToken()
		if err != nil {
			if errors.Is(err, io.EOF) && (x.depth <= 0 || s.sum.Kind == Unknown) {
				return nil
			}
			return err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			err = x.start(tok)
		case xml.EndElement:
			err = x.end(tok.Name)
		case xml.CharData:
			x.add(tok)
		}
		if err != nil {
			return err
		}
	}
}

// charsetReader decodes what a file says it is written in. What has begun with "<" is not UTF-16, or not any more, and a charset that
// nobody knows costs no more than the letters that are odd in it.
func charsetReader(label string, input io.Reader) (io.Reader, error) {
	if l := strings.ToLower(label); strings.HasPrefix(l, "utf-16") || strings.HasPrefix(l, "utf16") || strings.Contains(l, "10646-ucs-2") {
		return input, nil
	}
	if r, err := charset.NewReaderLabel(label, input); err == nil {
		return r, nil
	}
	return input, nil
}

// maxToken bounds one tag, text, or comment, each of which is read into memory as a whole: the longest there are in earnest are
// articles in feeds.
const maxToken = 512 << 10

// tokens reads a file up to the token that is too long, where reading ends as at any limit.
type tokens struct {
	r    *bufio.Reader
	left int // of this token
}

func (t *tokens) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errEnough
	}
	return t.r.ReadByte()
}

// Read is for a decoder of another charset.
func (t *tokens) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, errEnough
	}
	n, err := t.r.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, err
}

// xmlReader is the state between two tags.
type xmlReader struct {
	s      *reader
	depth  int
	prefix string // of the root element's name
	entry  *Entry // begun and not ended
	at     int    // depth of its element
	field  string // the element in it whose text is being read, or ""
	text   []byte
}

// maxText bounds the text of one field: more than any URL or date needs.
const maxText = MaxLoc + 1024

func (x *xmlReader) start(t xml.StartElement) error {
	x.depth++
	name := strings.ToLower(t.Name.Local)
	if x.s.sum.Kind == Unknown {
		kind := map[string]Kind{"urlset": URLSet, "sitemapindex": Index, "rss": Feed, "feed": Feed, "rdf": Feed}[name]
		if kind == Unknown {
			return ErrNotSitemap
		}
		x.s.sum.Kind, x.prefix = kind, t.Name.Space
		return nil
	}
	switch {
	case x.entry == nil:
		if x.opens(name, t.Name.Space) {
			x.entry, x.at = &Entry{Priority: 0.5, Sitemap: x.s.sum.Kind == Index}, x.depth
		}
	case x.depth == x.at+1:
		x.field, x.text = "", x.text[:0]
		if t.Name.Space == x.prefix || x.s.sum.Kind == Feed && (t.Name.Space == "" || t.Name.Space == "dc" || t.Name.Space == "atom") {
			x.field = name
			x.link(name, t.Attr)
		}
	}
	return nil
}

// opens reports whether an element of this name is an entry's.
func (x *xmlReader) opens(name, space string) bool {
	switch x.s.sum.Kind {
	case URLSet:
		return name == "url" && space == x.prefix
	case Index:
		return name == "sitemap" && space == x.prefix
	}
	return name == "item" || name == "entry"
}

// link takes the address from Atom's <link href>, unless it leads to something other than the page.
func (x *xmlReader) link(name string, attrs []xml.Attr) {
	if x.s.sum.Kind != Feed || name != "link" {
		return
	}
	href, rel := "", ""
	for _, a := range attrs {
		switch strings.ToLower(a.Name.Local) {
		case "href":
			href = strings.TrimSpace(a.Value)
		case "rel":
			rel = strings.ToLower(strings.TrimSpace(a.Value))
		}
	}
	if href != "" && (rel == "" || rel == "alternate") && x.entry.Loc == "" {
		x.entry.Loc = href
	}
}

func (x *xmlReader) add(text []byte) {
	if x.field != "" && len(x.text) <= maxText {
		x.text = append(x.text, text[:min(len(text), maxText+1-len(x.text))]...)
	}
}

func (x *xmlReader) end(name xml.Name) error {
	defer func() { x.depth-- }()
	if x.entry == nil {
		return nil
	}
	// An entry ends with its own tag, also where one inside it was never closed.
	ends := x.opens(strings.ToLower(name.Local), name.Space) || x.depth == x.at
	if x.depth == x.at+1 || ends {
		x.take()
	}
	if !ends {
		return nil
	}
	e := *x.entry
	x.entry, x.depth = nil, x.at
	return x.s.entry(e)
}

// take notes what the field that just ended says.
func (x *xmlReader) take() {
	v := strings.TrimSpace(string(x.text))
	field := x.field
	x.field, x.text = "", x.text[:0]
	if v == "" {
		return
	}
	e := x.entry
	switch field {
	case "loc":
		if x.s.sum.Kind != Feed && e.Loc == "" {
			e.Loc = v
		}
	case "link":
		if x.s.sum.Kind == Feed && e.Loc == "" {
			e.Loc = v
		}
	case "guid", "id": // of a feed's entry: its address where it has no other
		if x.s.sum.Kind == Feed && e.Loc == "" && looksLikeURL([]byte(v)) {
			e.Loc = v
		}
	case "lastmod", "pubdate", "date", "updated", "modified", "published":
		if t := ParseDate(v); t.After(e.LastMod) {
			e.LastMod = t
		}
	case "changefreq":
		switch v = strings.ToLower(v); v {
		case "always", "hourly", "daily", "weekly", "monthly", "yearly", "never":
			e.ChangeFreq = v
		}
	case "priority":
		if p, err := strconv.ParseFloat(v, 64); err == nil && p >= 0 && p <= 1 {
			e.Priority = p
		}
	}
}
