package sitemap

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// readXML reads any of the XML forms. It uses tags as written, ignoring namespaces and nesting: it
// searches for the element of an entry and for the relevant elements directly inside it. So
// <image:loc> inside <url> is not mistaken for the page's own <loc>.
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

// charsetReader decodes the charset that a file declares. A file that begins with "<" is not
// UTF-16, or was already converted. With an unknown charset only non-ASCII characters are lost.
func charsetReader(label string, input io.Reader) (io.Reader, error) {
	if l := strings.ToLower(label); strings.HasPrefix(l, "utf-16") || strings.HasPrefix(l, "utf16") || strings.Contains(l, "10646-ucs-2") {
		return input, nil
	}
	if r, err := charset.NewReaderLabel(label, input); err == nil {
		return r, nil
	}
	return input, nil
}

// maxToken limits one tag, text or comment, each of which is read into memory as a whole. The
// longest in real files are articles in feeds.
const maxToken = 512 << 10

// tokens reads a file up to the first token that is too long, and stops there as at any limit. It
// also replaces characters that XML does not allow, because the decoder would refuse the whole
// file: one bad character costs its own entry at most.
type tokens struct {
	r       *bufio.Reader
	left    int    // remaining bytes of this token
	pending string // to be read before the data of r
	whole   int    // bytes of r that belong to the current character
}

const badCharacter = "\uFFFD"

func (t *tokens) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errEnough
	}
	if t.pending != "" {
		b := t.pending[0]
		t.pending = t.pending[1:]
		return b, nil
	}
	b, err := t.r.ReadByte()
	switch {
	case err != nil:
	case t.whole > 0:
		t.whole--
	case b >= utf8.RuneSelf:
		if err := t.r.UnreadByte(); err != nil {
			return 0, err
		}
		next, _ := t.r.Peek(utf8.UTFMax)
		r, size := utf8.DecodeRune(next)
		b, _ = t.r.ReadByte()
		if r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
			t.r.Discard(size - 1)
			b, t.pending = badCharacter[0], badCharacter[1:]
		} else {
			t.whole = size - 1
		}
	case b < ' ' && b != '\t' && b != '\n' && b != '\r':
		b = ' '
	case b == '&' && t.badReference():
		t.pending = "amp;"
	}
	return b, err
}

// badReference reports whether the "&" just read begins a reference to a character that XML does
// not allow.
func (t *tokens) badReference() bool {
	next, _ := t.r.Peek(12)
	digits, ok := bytes.CutPrefix(next, []byte("#"))
	if !ok {
		return false
	}
	base := 10
	if rest, ok := bytes.CutPrefix(digits, []byte("x")); ok {
		base, digits = 16, rest
	}
	end := bytes.IndexByte(digits, ';')
	if end < 0 {
		return false // not a reference
	}
	n, err := strconv.ParseUint(string(digits[:end]), base, 32)
	return err == nil && (n < ' ' && n != '\t' && n != '\n' && n != '\r' || 0xD800 <= n && n <= 0xDFFF || n == 0xFFFE || n == 0xFFFF)
}

// Read is for decoders of other charsets.
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
	field  string // the element in it whose text is read, or ""
	text   []byte
	bases  []base // of a feed; the innermost is the last
	// addresses of the entry's page in other languages (<xhtml:link rel=alternate>)
	alternates []string
}

// base is the base of addresses in an element (XML Base).
type base struct {
	depth int
	url   *url.URL
}

// maxBases is how many nested bases are used.
const maxBases = 16

// based records the base of an element.
func (x *xmlReader) based(attrs []xml.Attr) {
	for _, a := range attrs {
		if x.s.sum.Kind != Feed || a.Name.Space != "xml" || a.Name.Local != "base" || len(x.bases) >= maxBases {
			continue
		}
		if u, err := url.Parse(x.joined(strings.TrimSpace(a.Value))); err == nil && len(a.Value) <= MaxLoc {
			x.bases = append(x.bases, base{x.depth, u})
		}
	}
}

// joined resolves an address against the current base. It returns the address unchanged if there is
// no base, or if the base is itself relative to something unknown.
func (x *xmlReader) joined(address string) string {
	n := len(x.bases)
	if n == 0 || address == "" {
		return address
	}
	b := x.bases[n-1].url
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || !b.IsAbs() && !strings.HasPrefix(b.Path, "/") {
		return address
	}
	return b.ResolveReference(u).String()
}

// maxText limits the text of one field: it is more than any URL or date needs.
const maxText = MaxLoc + 1024

func (x *xmlReader) start(t xml.StartElement) error {
	x.depth++
	name := strings.ToLower(t.Name.Local)
	if x.s.sum.Kind == Unknown {
		kind := map[string]Kind{"urlset": URLSet, "sitemapindex": Index, "rss": Feed, "feed": Feed, "rdf": Feed}[name]
		if kind == Unknown || x.s.feed && kind != Feed {
			return ErrNotSitemap
		}
		x.s.sum.Kind, x.prefix = kind, t.Name.Space
		x.based(t.Attr)
		return nil
	}
	x.based(t.Attr)
	switch {
	case x.entry == nil:
		if x.field, x.text = "", x.text[:0]; x.opens(name, t.Name.Space) {
			x.entry, x.at = &Entry{Priority: 0.5, Sitemap: name == "sitemap"}, x.depth
			x.alternates = x.alternates[:0]
		} else if x.s.sum.Kind == Feed && x.depth <= feedHead {
			x.head(name, t.Attr)
		}
	case x.depth == x.at+1:
		x.field, x.text = "", x.text[:0]
		if t.Name.Space == x.prefix || x.s.sum.Kind == Feed && (t.Name.Space == "" || t.Name.Space == "dc" || t.Name.Space == "atom") {
			if x.field = name; name == "guid" && noAddress(t.Attr) {
				x.field = ""
			}
			x.link(name, t.Attr)
		}
		if x.s.sum.Kind == URLSet && name == "link" && len(x.alternates) < maxAlternates {
			if href, rels := linkOf(t.Attr); slices.Contains(rels, "alternate") {
				x.alternates = append(x.alternates, href)
			}
		}
	}
	return nil
}

// opens reports whether an element with this name is an entry.
func (x *xmlReader) opens(name, space string) bool {
	switch x.s.sum.Kind {
	case URLSet, Index: // some files use the element of the other form
		return (name == "url" || name == "sitemap") && space == x.prefix
	}
	return name == "item" || name == "entry"
}

// feedHead is the depth of elements that describe a feed as a whole: in RSS they are inside the
// channel, in Atom inside the root.
const feedHead = 3

// head processes an element outside of the entries, which describes the feed.
func (x *xmlReader) head(name string, attrs []xml.Attr) {
	switch name {
	case "ttl":
		x.field = name
	case "link":
		href, rels := linkOf(attrs)
		href = x.joined(href)
		if href == "" || len(href) > MaxLoc {
			return
		}
		for _, rel := range rels {
			switch {
			case rel == "self" && x.s.sum.Self == "":
				x.s.sum.Self = href
			case rel == "hub" && len(x.s.sum.Hubs) < MaxHubs:
				x.s.sum.Hubs = append(x.s.sum.Hubs, href)
			}
		}
	}
}

// linkOf returns the target of an Atom link, and its relations in lower case.
func linkOf(attrs []xml.Attr) (href string, rels []string) {
	for _, a := range attrs {
		switch strings.ToLower(a.Name.Local) {
		case "href":
			href = strings.TrimSpace(a.Value)
		case "rel":
			rels = strings.Fields(strings.ToLower(a.Value))
		}
	}
	return href, rels
}

// noAddress reports whether a guid states that it is not an address.
func noAddress(attrs []xml.Attr) bool {
	return slices.ContainsFunc(attrs, func(a xml.Attr) bool {
		return strings.EqualFold(a.Name.Local, "isPermaLink") && strings.EqualFold(strings.TrimSpace(a.Value), "false")
	})
}

// link reads the address of Atom's <link href>, unless it leads to something other than the page.
func (x *xmlReader) link(name string, attrs []xml.Attr) {
	if x.s.sum.Kind != Feed || name != "link" {
		return
	}
	href, rels := linkOf(attrs)
	if href != "" && (len(rels) == 0 || slices.Contains(rels, "alternate")) && x.entry.Loc == "" {
		x.entry.Loc = x.joined(href)
	}
}

func (x *xmlReader) add(text []byte) {
	if x.field != "" && len(x.text) <= maxText {
		x.text = append(x.text, text[:min(len(text), maxText+1-len(x.text))]...)
	}
}

func (x *xmlReader) end(name xml.Name) error {
	defer func() {
		x.depth--
		for n := len(x.bases); n > 0 && x.bases[n-1].depth > x.depth; n-- {
			x.bases = x.bases[:n-1]
		}
	}()
	if x.entry == nil {
		x.takeHead()
		return nil
	}
	// An entry ends with its own tag, even if an element inside it was never closed.
	ends := x.opens(strings.ToLower(name.Local), name.Space) || x.depth == x.at
	if x.depth == x.at+1 || ends {
		x.take()
	}
	if !ends {
		return nil
	}
	e := *x.entry
	x.entry, x.depth = nil, x.at
	if x.s.sum.Kind == Index && !e.Sitemap {
		e.Sitemap = sitemapName.MatchString(e.Loc)
	}
	if err := x.s.entry(e); err != nil {
		return err
	}
	for _, loc := range x.alternates {
		if err := x.s.alternate(loc, &e); err != nil {
			return err
		}
	}
	return nil
}

// sitemapName matches the addresses of sitemaps in an index whose entries are <url> elements.
var sitemapName = regexp.MustCompile(`(?i)\.(xml|txt)(\.gz)?(\?|$)`)

// maxAlternates is how many addresses in other languages one entry may have.
const maxAlternates = 200

// takeHead stores the value of a field of the feed itself that just ended.
func (x *xmlReader) takeHead() {
	if x.field == "ttl" && x.s.sum.TTL == 0 {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(x.text)), 10, 32); err == nil {
			x.s.sum.TTL = time.Duration(n) * time.Minute
		}
	}
	x.field, x.text = "", x.text[:0]
}

// take stores the value of the field that just ended.
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
			e.Loc = x.joined(v)
		}
	case "guid", "id": // in a feed's entry: its address if there is no other
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
