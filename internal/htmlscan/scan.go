package htmlscan

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/usage"
)

const (
	// MaxLinks is how many different links of one page are kept.
	MaxLinks = 10_000
	// MaxLinkText is how many bytes these links have together. A page can be much shorter, because
	// its links are relative to a base that may be long.
	MaxLinkText = 2 << 20
	// OrdinaryLinks is how many links a Scanner gathers without asking. It keeps buffers for that:
	// with those for OrdinaryText, about 256 KiB.
	OrdinaryLinks = 1024
	// OrdinaryText is how many bytes of links a Scanner gathers without asking.
	OrdinaryText = 64 << 10
)

// Page is what Scan looks at.
type Page struct {
	URL         canon.URL // where it was fetched; the base of relative links
	Body        []byte    // decoded from its content coding, in its own charset
	ContentType string    // the header's value, for its charset parameter; may be empty
	// HTML, XHTML or Markdown. Otherwise the body is only text, without links and tags.
	HTML   bool
	Header http.Header // its Robots-Tag lines count; may be nil
	Token  string      // our product token
	// More is called once before more than OrdinaryLinks links are gathered, or more than
	// OrdinaryText bytes of them. If it returns false, no more links are gathered. nil means that
	// there is memory for all of them.
	More func() bool
}

// Result is what Scan found. Its slices belong to the Scanner and are valid until the next Scan.
// The URLs may be kept.
type Result struct {
	Links      []canon.URL          // in document order, each once; empty when Directives.NoFollow
	Directives robotstag.Directives // of headers and meta elements together
	Meta       robotstag.Directives // of meta elements alone
	// The page's own address by its <link rel=canonical>. It is empty if the page names none, or
	// several, or the address that it has.
	Canonical canon.URL
	// The robots tags of headers and markup, one by one.
	Tags []robotstag.Source
	// What the head of the page states about its use, in document order, at most 64 marks.
	Marks []Mark
	// The RSS and Atom feeds that the head of the page announces, in document order, at most
	// MaxFeeds. There are none with Directives.NoFollow.
	Feeds   []canon.URL
	Charset string // a name golang.org/x/net/html/charset knows
	Cut     bool   // there were more links than MaxLinks, MaxLinkText or More allow
	// NeedsScript: the page has scripts that may build a page, and almost no text without them.
	NeedsScript bool
}

// Mark is a statement in the head of a page about what the page may be used for (formats §8).
type Mark struct {
	Kind  MarkKind
	Line  int    // of the page, from 1
	Name  string // of a MetaMark
	Value string // the content of a meta element, the address of a link, the text of a script
}

// MarkKind is the kind of a Mark.
type MarkKind uint8

// The kinds of marks.
const (
	MetaMark    MarkKind = iota + 1 // <meta name=tdm-reservation>, and others of package usage
	LicenseLink                     // <link rel=license type=application/rsl+xml>
	LicenseText                     // <script type=application/rsl+xml>: a document in the page
)

// MaxFeeds is how many feeds of a page are kept at most.
const MaxFeeds = 4

// maxMarks is how many marks of a page are kept at most.
const maxMarks = 64

// Scanner reads one page after another and keeps its buffers. The zero value is ready for use. A
// Scanner is for one goroutine at a time.
type Scanner struct {
	set   robotstag.Set
	text  []byte // the page in UTF-8, if it was in another charset
	refs  refs
	links []canon.URL
	seen  table

	inHead     bool     // the last tag was in the head
	canonical  []byte   // address of the first <link rel=canonical> in the head
	canonicals int      // how many different ones there are
	feeds      []string // addresses of feeds as they are written
	marks      []Mark
	shell      shell
}

// Scan reads one page.
func (s *Scanner) Scan(p Page) Result {
	s.set.Reset(p.Token)
	s.set.AddHeaders(p.Header)
	said := ""
	if p.HTML && isType(p.ContentType, html.TypeMarkdown) {
		cs := html.Detect(p.Body, p.ContentType, false)
		p.Body, said = html.FromMarkdown(s.utf8(p.Body, cs)), cs.Name
		p.ContentType = "text/html; charset=utf-8"
	}
	cs := html.Detect(p.Body, p.ContentType, p.HTML)
	r := Result{Charset: cmp.Or(said, cs.Name)}
	if p.HTML {
		body := s.utf8(p.Body, cs)
		if isType(p.ContentType, html.TypeXHTML) {
			body = html.FromXHTML(body)
		}
		s.refs.reset(p.More)
		s.canonicals = 0
		s.marks, s.feeds = s.marks[:0], s.feeds[:0]
		s.shell.reset(p.URL)
		s.tokenize(body, s.set.HeaderDirectives().NoFollow)
		r.NeedsScript = s.shell.needsScript()
		r.Marks = s.marks
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
		r.Cut = s.refs.cut
	}
	// One large page must not occupy memory during all the small ones after it.
	if len(p.Body) > keepBuffers {
		s.text, s.refs.bytes, s.canonical, s.marks, s.feeds = nil, nil, nil, nil, nil
	}
	return r
}

// Trim releases what a page with many links has needed, and forgets the last page. The Result of
// the last Scan is not valid any more.
func (s *Scanner) Trim() {
	s.refs.trim()
	s.seen.trim()
	clear(s.links) // they would keep their strings in memory
	clear(s.marks)
	clear(s.feeds)
	if cap(s.links) > 2*OrdinaryLinks {
		s.links = nil
	}
	if cap(s.text) > keepText {
		s.text = nil
	}
	if cap(s.canonical) > OrdinaryText {
		s.canonical = nil
	}
}

// keepText is the largest buffer for a decoded page that Trim keeps.
const keepText = 256 << 10

// isType reports whether a Content-Type has the media type want.
func isType(contentType, want string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), want)
}

// keepBuffers is the largest page, in bytes, after which a Scanner keeps its buffers.
const keepBuffers = 1 << 20

// utf8 returns a body in UTF-8: body itself if it is, else decoded into the scanner's buffer.
func (s *Scanner) utf8(body []byte, e html.Encoding) []byte {
	if e.Plain() {
		return body
	}
	s.text = e.AppendUTF8(s.text[:0], body)
	return s.text
}

// tokenize passes the robots tags to s.set, the links to s.refs, and to s.shell what it needs to
// decide. headOnly ends it at the end of the head, or when s.shell has decided, because then only
// tags are wanted.
func (s *Scanner) tokenize(body []byte, headOnly bool) {
	var head robotstag.Head
	var templates int // open template elements, whose content does not belong to the page
	z := html.Reader{Page: body}
	for !headOnly || !head.Closed() || s.shell.open {
		kind, val, attrs := z.Next()
		switch kind {
		case html.End:
			return
		case html.Text:
			if !head.Closed() {
				head.Text(html.Unescape(val))
			}
			if s.shell.open && templates == 0 && head.Closed() {
				s.shell.words(val)
			}
		case html.EndTag:
			if !head.Closed() {
				head.End(atom.Lookup(val))
			}
			if templates > 0 && string(val) == "template" {
				templates--
			}
			if s.shell.open {
				s.shell.end(val)
			}
		case html.StartTag:
			metaInHead := !head.Closed() && head.Start(atom.Lookup(val))
			s.inHead = !head.Closed()
			switch string(val) {
			case "meta":
				s.meta(&z, attrs, metaInHead, templates == 0)
			case "template":
				templates++
			case "a", "area", "link", "base", "frame", "iframe":
				if templates == 0 && len(attrs) > 0 {
					s.element(&z, val, attrs)
				}
			case "script":
				if s.inHead && templates == 0 {
					s.script(&z, attrs)
				}
			}
			if s.shell.open && templates == 0 {
				s.shell.start(&z, val, attrs)
			}
		}
	}
}

// element reads an element that may have a link, and keeps the link if it may be followed.
func (s *Scanner) element(z *html.Reader, name, attrs []byte) {
	kind, key := name[0], "href" // a: a or area; l: link; b: base; f or i: frame or iframe
	if kind == 'f' || kind == 'i' {
		key = "src"
	}
	mark := len(s.refs.bytes)
	r := s.linkOf(attrs, kind, key)
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
}

// linkOf reads the attributes of an element that may have a link, and appends its address to
// s.refs.bytes. Of repeated attributes the first counts.
func (s *Scanner) linkOf(attrs []byte, kind byte, key string) link {
	r := link{typed: true}
	var rel, typ bool // seen
	for name, val, rest := html.NextAttr(attrs); name != nil; name, val, rest = html.NextAttr(rest) {
		switch {
		case !r.found && html.Is(name, key):
			r.found = true
			s.refs.bytes = html.AppendValue(s.refs.bytes, val)
		case !rel && (kind == 'a' || kind == 'l') && html.Is(name, "rel"):
			rel = true
			r.rel = relationOf(html.Value(val))
		case !typ && kind == 'l' && html.Is(name, "type"):
			typ = true
			val = html.Value(val)
			r.typed, r.data, r.rsl = pageType(val), dataType(val, "application/ld+json"), dataType(val, usage.RSLType)
			r.set = dataType(val, "application/linkset+json")
			r.feed = dataType(val, "application/rss+xml") || dataType(val, "application/atom+xml")
		}
	}
	return r
}

// meta reads a meta element: a robots tag if it is in the head, and a refresh anywhere.
func (s *Scanner) meta(z *html.Reader, attrs []byte, inHead, linking bool) {
	var name, content, equiv []byte
	for key, val, rest := html.NextAttr(attrs); key != nil; key, val, rest = html.NextAttr(rest) {
		var of *[]byte
		switch {
		case html.Is(key, "name"):
			of = &name
		case html.Is(key, "content"):
			of = &content
		case html.Is(key, "http-equiv"):
			of = &equiv
		default:
			continue
		}
		if *of == nil {
			*of = html.Value(val)
		}
	}
	if inHead && s.set.WantsMeta(name) {
		s.set.AddMeta(string(name), string(content))
	}
	if inHead && usage.WantsMeta(name) {
		s.mark(z, Mark{Kind: MetaMark, Name: string(name), Value: string(content)})
	}
	if linking && html.Is(equiv, "refresh") {
		if target, ok := refreshTarget(content); ok {
			mark := len(s.refs.bytes)
			s.refs.bytes = append(s.refs.bytes, target...)
			s.refs.add(mark)
		}
	}
}

// script keeps a licence document in the head. It also keeps the text of a script that mentions the
// media type in another attribute. This does no harm, because its reader accepts only licence
// documents.
func (s *Scanner) script(z *html.Reader, attrs []byte) {
	if bytes.Contains(attrs, []byte(usage.RSLType)) {
		m := Mark{Kind: LicenseText}
		text := z.Raw()
		m.Value = string(text[:min(len(text), usage.MaxRSL+1)])
		s.mark(z, m)
	}
}

// mark keeps what the last tag states.
func (s *Scanner) mark(z *html.Reader, m Mark) {
	if len(s.marks) < maxMarks {
		m.Line = z.Line()
		s.marks = append(s.marks, m)
	}
}

// base returns the base of the page's references.
func (s *Scanner) base(page canon.URL) *canon.Base {
	base := canon.NewBase(page)
	if href, ok := s.refs.baseHref(); ok {
		base, _ = base.Rebase(string(href)) // an invalid one leaves the address of the page
	}
	return base
}

// callsItself stores the address of a <link rel=canonical> as it is written.
func (s *Scanner) callsItself(address []byte) {
	switch {
	case s.canonicals == 0:
		s.canonical = append(s.canonical[:0], address...)
		s.canonicals++
	case string(s.canonical) != string(address):
		s.canonicals++
	}
}

// announced returns the feeds that the head of the page announces, each once.
func (s *Scanner) announced(base *canon.Base, cs html.Encoding) (feeds []canon.URL) {
	for _, raw := range s.feeds {
		if u, err := base.JoinBytes(cs.Reference([]byte(raw))); err == nil && !slices.Contains(feeds, u) {
			feeds = append(feeds, u)
		}
	}
	return feeds
}

// ownAddress returns the URL that the page states as its own address, or "" if it states several.
func (s *Scanner) ownAddress(page canon.URL, base *canon.Base, cs html.Encoding) canon.URL {
	if s.canonicals != 1 {
		return ""
	}
	u, err := base.JoinBytes(cs.Reference(s.canonical))
	if err != nil || u == page {
		return ""
	}
	return u
}

// resolve makes canonical URLs of the collected references. It runs after the whole page was read,
// because the <base> may be after the links.
func (s *Scanner) resolve(page canon.URL, base *canon.Base, cs html.Encoding) []canon.URL {
	s.links = s.links[:0]
	s.seen.reset(len(s.refs.list))
	text := 0
	for _, r := range s.refs.list {
		u, err := base.JoinBytes(cs.Reference(s.refs.bytes[r.from:r.to]))
		if err != nil || u == page {
			continue
		}
		n := len(s.links)
		if s.seen.add(hashString(string(u)), int32(n), func(i int32) bool { return s.links[i] == u }) {
			if text += len(u); text > MaxLinkText || text > OrdinaryText && !s.refs.mayGrow() {
				s.refs.cut = true
				break
			}
			s.links = append(s.links, u)
		}
	}
	return s.links
}
