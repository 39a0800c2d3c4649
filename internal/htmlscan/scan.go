package htmlscan

import (
	"bytes"
	"cmp"
	"html"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/curtsy/curtsy/internal/mdhtml"
	"github.com/curtsy/curtsy/internal/xhtml"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/usage"
)

// MaxLinks is how many different links of one page are kept.
const MaxLinks = 10_000

// Page is what Scan looks at.
type Page struct {
	URL         canon.URL // where it was fetched; relative links are resolved against it
	Body        []byte    // content-decoded, in whatever charset
	ContentType string    // the header's value, for its charset parameter; may be empty
	// HTML or XHTML; otherwise the body is only text, which has no links and no tags
	HTML   bool
	Header http.Header // its Robots-Tag lines count; may be nil
	Token  string      // product token of the robot we are
}

// Result is what Scan found. Its slice belongs to the Scanner and is valid until the next Scan;
// the URLs may be kept.
type Result struct {
	Links      []canon.URL          // in document order, each once; empty when Directives.NoFollow
	Directives robotstag.Directives // of headers and meta elements together
	Meta       robotstag.Directives // of meta elements alone
	// the page's own address by its <link rel=canonical>; empty when it names none, several,
	// or the address it has
	Canonical canon.URL
	// what the robots tags of headers and markup are, one by one
	Tags []robotstag.Source
	// what the page's head says of the use of the page, in document order, 64 at most
	Marks []Mark
	// The RSS and Atom feeds that the page's head announces, in document order, MaxFeeds at most;
	// none with Directives.NoFollow.
	Feeds   []canon.URL
	Charset string // a name golang.org/x/net/html/charset knows
	Cut     bool   // there were more than MaxLinks links
}

// Mark is something in a page's head that says what the page may be used for (formats §8).
type Mark struct {
	Kind  MarkKind
	Line  int    // where it stands in the page, from 1
	Name  string // of a MetaMark
	Value string // a meta element's content, the address of a link as written, the text of a script
}

// MarkKind is the kind of a Mark.
type MarkKind uint8

// The kinds of marks.
const (
	MetaMark    MarkKind = iota + 1 // <meta name=tdm-reservation>, and others of package usage
	LicenseLink                     // <link rel=license type=application/rsl+xml>
	LicenseText                     // <script type=application/rsl+xml>: a document in the page
)

// MaxFeeds is how many feeds of a page are kept.
const MaxFeeds = 4

// maxMarks is how many marks of a page are kept.
const maxMarks = 64

// Scanner reads pages one after the other and keeps its buffers between them. The zero value works.
// A Scanner may be used by one goroutine at a time.
type Scanner struct {
	set   robotstag.Set
	attrs []attr
	lower [16]byte // a tag's name
	text  []byte   // the page in UTF-8, when it was not
	refs  refs
	links []canon.URL
	seen  table

	decoded    int      // tags decoded in full
	inHead     bool     // where the tokenizer stands
	canonical  []byte   // address of the first <link rel=canonical> in the head
	canonicals int      // different ones of these
	feeds      []string // addresses of feeds, as they are written
	marks      []Mark
}

// Scan reads one page.
func (s *Scanner) Scan(p Page) Result {
	s.set.Reset(p.Token)
	s.set.AddHeaders(p.Header)
	said := ""
	if p.HTML && isType(p.ContentType, mdhtml.MediaType) {
		cs := detect(p.Body, p.ContentType, false)
		p.Body, said = mdhtml.HTML(s.utf8(p.Body, cs)), cs.name
		p.ContentType = "text/html; charset=utf-8"
	}
	cs := detect(p.Body, p.ContentType, p.HTML)
	r := Result{Charset: cmp.Or(said, cs.name)}
	if p.HTML {
		body := s.utf8(p.Body, cs)
		if isType(p.ContentType, xhtml.MediaType) {
			body = xhtml.HTML(body)
		}
		s.refs.reset()
		s.canonicals, s.decoded = 0, 0
		s.marks, s.feeds = s.marks[:0], s.feeds[:0]
		s.tokenize(body, s.set.HeaderDirectives().NoFollow)
		r.Cut, r.Marks = s.refs.cut, s.marks
	}
	r.Tags = s.set.Sources()
	r.Directives, r.Meta = s.set.Directives(), s.set.MetaDirectives()
	if p.HTML {
		base := s.base(p.URL)
		r.Canonical = s.ownAddress(p.URL, base, cs)
		if !r.Directives.NoFollow {
			r.Links = s.resolve(p.URL, base, cs)
			r.Feeds = s.announced(base, cs)
		}
	}
	// one large page must not take memory from all the small ones that follow
	if len(p.Body) > keepBuffers {
		s.text, s.refs.bytes, s.attrs, s.canonical, s.marks, s.feeds = nil, nil, nil, nil, nil, nil
	}
	return r
}

// isType reports whether a Content-Type has the media type want.
func isType(contentType, want string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), want)
}

// keepBuffers is the size of page up to which a Scanner keeps the buffers it needed.
const keepBuffers = 1 << 20

// tokenize feeds the robots tags to s.set and the links to s.refs. With headOnly it stops where the
// head ends, because only tags are wanted.
func (s *Scanner) tokenize(body []byte, headOnly bool) {
	var head robotstag.Head
	var templates int // open template elements: their content is no part of the page
	z := tokenizer{b: body, attrs: s.attrs[:0]}
	defer func() { s.attrs = z.attrs }()
	for !headOnly || !head.Closed() {
		switch z.next() {
		case endOfPage:
			return
		case textToken:
			if !head.Closed() {
				head.Text(plainText(z.text))
			}
		case endTag:
			if !head.Closed() {
				head.End(s.atom(z.name))
			}
			if templates > 0 && equalFold(z.name, "template") {
				templates--
			}
		case startTag:
			metaInHead := !head.Closed() && head.Start(s.atom(z.name))
			s.inHead = !head.Closed()
			switch {
			case len(z.attrs) > 0:
				if equalFold(z.name, "meta") {
					s.meta(&z, metaInHead, templates == 0)
				} else if templates == 0 {
					s.element(&z)
				}
			case equalFold(z.name, "template"):
				templates++
			case s.inHead && templates == 0 && z.raw == "script":
				s.script(&z)
			}
		}
	}
}

// atom looks up a tag's name.
func (s *Scanner) atom(name []byte) atom.Atom {
	if len(name) > len(s.lower) {
		return 0
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		s.lower[i] = c
	}
	return atom.Lookup(s.lower[:len(name)])
}

// plainText decodes the character references of text in the head, where it only matters whether the
// text is white space.
func plainText(b []byte) []byte {
	if bytes.IndexByte(b, '&') < 0 {
		return b
	}
	return []byte(html.UnescapeString(string(b)))
}

// element takes the link of an element other than meta, if it has one that may be followed.
func (s *Scanner) element(z *tokenizer) {
	var kind byte // a: a or area; l: link; b: base; f: frame or iframe
	key := "href"
	switch {
	case equalFold(z.name, "a"), equalFold(z.name, "area"):
		kind = 'a'
	case equalFold(z.name, "link"):
		kind = 'l'
	case equalFold(z.name, "base"):
		kind = 'b'
	case equalFold(z.name, "frame"), equalFold(z.name, "iframe"):
		kind, key = 'f', "src"
	default:
		return
	}
	mark := len(s.refs.bytes)
	r := s.linkOf(z.attrs, kind, key, false)
	if !r.plain {
		s.refs.bytes = s.refs.bytes[:mark]
		if s.decoded++; s.decoded > maxDecoded {
			s.refs.cut = true
			return
		}
		z.attrs = decode(z.tag, z.attrs)
		r = s.linkOf(z.attrs, kind, key, true)
	}
	if kind == 'l' && r.found && r.rel.canonical && s.inHead {
		s.callsItself(s.refs.bytes[mark:])
	}
	if kind == 'l' && r.found && r.feed && r.rel.alternate && !r.rel.nofollow && s.inHead && len(s.feeds) < MaxFeeds {
		s.feeds = append(s.feeds, string(s.refs.bytes[mark:]))
	}
	if kind == 'l' && r.found && r.rel.license && r.rsl && s.inHead {
		s.mark(z, Mark{Kind: LicenseLink, Value: string(s.refs.bytes[mark:])})
	}
	switch {
	case !r.found, r.rel.nofollow, kind == 'l' && !(r.rel.page && r.typed || r.rel.described && r.data || r.rel.linkset && r.set):
		s.refs.bytes = s.refs.bytes[:mark]
	case kind == 'b':
		s.refs.base(mark)
	default:
		s.refs.add(mark)
	}
}

type link struct {
	found bool
	rel   relation
	typed bool // its type, if it has one, is that of a page
	data  bool // its type is that of linked data
	set   bool // its type is that of a set of links in JSON
	rsl   bool // its type is that of licence documents
	feed  bool // its type is that of a feed
	plain bool // no attribute needed more decoding than appendValue does
}

// linkOf reads the attributes of an element that may be a link, and appends its address to
// s.refs.bytes. Of a repeated attribute the first counts.
func (s *Scanner) linkOf(attrs []attr, kind byte, key string, decoded bool) link {
	r := link{typed: true, plain: true}
	var rel, typ bool // seen
	for _, a := range attrs {
		switch {
		case !r.found && equalFold(a.key, key):
			r.found = true
			if decoded {
				s.refs.bytes = append(s.refs.bytes, a.value...)
			} else {
				s.refs.bytes, r.plain = appendValue(s.refs.bytes, a.value)
			}
		case !rel && (kind == 'a' || kind == 'l') && equalFold(a.key, "rel"):
			rel = true
			if r.plain = decoded || !needsDecoding(a.value); r.plain {
				r.rel = relationOf(a.value)
			}
		case !typ && kind == 'l' && equalFold(a.key, "type"):
			typ = true
			if r.plain = decoded || !needsDecoding(a.value); r.plain {
				r.typed, r.data, r.rsl = pageType(a.value), dataType(a.value, "application/ld+json"), dataType(a.value, usage.RSLType)
				r.set = dataType(a.value, "application/linkset+json")
				r.feed = dataType(a.value, "application/rss+xml") || dataType(a.value, "application/atom+xml")
			}
		}
		if !r.plain {
			break
		}
	}
	return r
}

// meta takes a meta element: a robots tag if it is in the head, a refresh wherever it is.
func (s *Scanner) meta(z *tokenizer, inHead, linking bool) {
	for _, a := range z.attrs {
		if needsDecoding(a.value) {
			if s.decoded++; s.decoded > maxDecoded {
				z.attrs = decodeAsText(z.attrs)
			} else {
				z.attrs = decode(z.tag, z.attrs)
			}
			break
		}
	}
	var name, content, equiv []byte
	for _, a := range z.attrs {
		switch {
		case name == nil && equalFold(a.key, "name"):
			name = a.value
		case content == nil && equalFold(a.key, "content"):
			content = a.value
		case equiv == nil && equalFold(a.key, "http-equiv"):
			equiv = a.value
		}
	}
	if inHead && s.set.WantsMeta(name) {
		s.set.AddMeta(string(name), string(content))
	}
	if inHead && usage.WantsMeta(name) {
		s.mark(z, Mark{Kind: MetaMark, Name: string(name), Value: string(content)})
	}
	if linking && equalFold(equiv, "refresh") {
		if target, ok := refreshTarget(content); ok {
			mark := len(s.refs.bytes)
			s.refs.bytes = append(s.refs.bytes, target...)
			s.refs.add(mark)
		}
	}
}

// script takes a licence document that stands in the head. A tag that mentions its type in an
// attribute of another name is no harm: the text is read as such a document, or not at all.
func (s *Scanner) script(z *tokenizer) {
	if bytes.Contains(z.tag, []byte(usage.RSLType)) {
		text := z.b[z.i:rawEnd(z.b, z.i, "script")]
		s.mark(z, Mark{Kind: LicenseText, Value: string(text[:min(len(text), usage.MaxRSL+1)])})
	}
}

// mark keeps what the tag that was just read says.
func (s *Scanner) mark(z *tokenizer, m Mark) {
	if len(s.marks) < maxMarks {
		m.Line = 1 + bytes.Count(z.b[:z.i-len(z.tag)], []byte("\n"))
		s.marks = append(s.marks, m)
	}
}

// base is what the page's references are relative to.
func (s *Scanner) base(page canon.URL) *canon.Base {
	base := canon.NewBase(page)
	if href, ok := s.refs.baseHref(); ok {
		base, _ = base.Rebase(string(href)) // a broken one leaves the page's own address
	}
	return base
}

// callsItself notes what a <link rel=canonical> says, as it is written.
func (s *Scanner) callsItself(address []byte) {
	switch {
	case s.canonicals == 0:
		s.canonical = append(s.canonical[:0], address...)
		s.canonicals++
	case string(s.canonical) != string(address):
		s.canonicals++
	}
}

// announced are the feeds that the page's head announces, each once.
func (s *Scanner) announced(base *canon.Base, cs encodingOf) (feeds []canon.URL) {
	for _, raw := range s.feeds {
		ref := []byte(raw)
		if cs.legacyQuery {
			ref = cs.queryBytes(ref)
		}
		if u, err := base.JoinBytes(ref); err == nil && !slices.Contains(feeds, u) {
			feeds = append(feeds, u)
		}
	}
	return feeds
}

// ownAddress makes a URL of what the page calls its own address. A page that
// names several has none.
func (s *Scanner) ownAddress(page canon.URL, base *canon.Base, cs encodingOf) canon.URL {
	if s.canonicals != 1 {
		return ""
	}
	ref := s.canonical
	if cs.legacyQuery {
		ref = cs.queryBytes(ref)
	}
	u, err := base.JoinBytes(ref)
	if err != nil || u == page {
		return ""
	}
	return u
}

// resolve makes canonical URLs of the collected references. It runs after the pass because the
// <base> that governs a reference may stand after it.
func (s *Scanner) resolve(page canon.URL, base *canon.Base, cs encodingOf) []canon.URL {
	s.links = s.links[:0]
	s.seen.reset(len(s.refs.list))
	for _, r := range s.refs.list {
		ref := s.refs.bytes[r.from:r.to]
		if cs.legacyQuery {
			ref = cs.queryBytes(ref)
		}
		u, err := base.JoinBytes(ref)
		if err != nil || u == page {
			continue
		}
		n := len(s.links)
		if s.seen.add(hashString(string(u)), int32(n), func(i int32) bool { return s.links[i] == u }) {
			s.links = append(s.links, u)
		}
	}
	return s.links
}
