package htmlscan

import (
	"bytes"
	"net/http"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

// MaxLinks is how many different links of one page are kept.
const MaxLinks = 10_000

// Page is what Scan looks at.
type Page struct {
	URL         canon.URL   // where it was fetched; relative links are resolved against it
	Body        []byte      // content-decoded, in whatever charset
	ContentType string      // the header's value, for its charset parameter; may be empty
	HTML        bool        // HTML or XHTML; otherwise the body is only text, which has no links and no tags
	Header      http.Header // its Robots-Tag lines count; may be nil
	Token       string      // product token of the robot we are
}

// Result is what Scan found. Its slice belongs to the Scanner and holds until the next Scan; the URLs may be kept.
type Result struct {
	Links      []canon.URL          // in document order, each once; empty when Directives.NoFollow
	Directives robotstag.Directives // of headers and meta elements together
	Charset    string               // a name golang.org/x/net/html/charset knows
	Cut        bool                 // there were more than MaxLinks links
}

// Scanner reads pages one after the other and keeps its buffers between them. The zero value works. A Scanner may be
// used by one goroutine at a time.
type Scanner struct {
	set    robotstag.Set
	reader bytes.Reader
	text   []byte // the page in UTF-8, when it was not
	refs   refs
	links  []canon.URL
	seen   table
}

// Scan reads one page.
func (s *Scanner) Scan(p Page) Result {
	s.set.Reset(p.Token)
	s.set.AddHeaders(p.Header)
	cs := detect(p.Body, p.ContentType, p.HTML)
	r := Result{Charset: cs.name}
	if p.HTML {
		body := s.utf8(p.Body, cs)
		s.refs.reset()
		s.tokenize(body, s.set.HeaderDirectives().NoFollow)
		r.Cut = s.refs.cut
	}
	r.Directives = s.set.Directives()
	if p.HTML && !r.Directives.NoFollow {
		r.Links = s.resolve(p.URL, cs)
	}
	return r
}

// tokenize feeds the robots tags to s.set and the links to s.refs. With headOnly it stops where the head ends, since only
// tags are wanted.
func (s *Scanner) tokenize(body []byte, headOnly bool) {
	var head robotstag.Head
	var templates int // open template elements: their content is no part of the page
	s.reader.Reset(body)
	z := html.NewTokenizer(&s.reader)
	for {
		if headOnly && head.Closed() {
			return
		}
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if !head.Closed() {
				head.Text(z.Text())
			}
		case html.EndTagToken:
			// Only two end tags matter once the head is closed; most are not looked at.
			if head.Closed() && templates == 0 {
				continue
			}
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			head.End(tag)
			if tag == atom.Template && templates > 0 {
				templates--
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attrs := z.TagName()
			inHead := false
			if !head.Closed() {
				inHead = head.Start(atom.Lookup(name))
			}
			switch string(name) {
			case "noscript":
				z.NextIsNotRawText()
			case "template":
				templates++
			case "meta":
				if attrs {
					s.meta(z, inHead, templates == 0)
				}
			case "a", "area", "link", "base", "frame", "iframe":
				if attrs && templates == 0 {
					s.element(z, name)
				}
			}
		}
	}
}

// element takes the link of an element other than meta, if it has one that may be followed.
func (s *Scanner) element(z *html.Tokenizer, name []byte) {
	var kind byte // a: a or area; l: link; b: base; f: frame or iframe
	key := "href"
	switch string(name) {
	case "a", "area":
		kind = 'a'
	case "link":
		kind = 'l'
	case "base":
		kind = 'b'
	default:
		kind, key = 'f', "src"
	}
	var rel relation
	typed := true // a link's type, if it has one, is that of a page
	mark := len(s.refs.bytes)
	found := false
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch {
		case string(k) == key && !found:
			found = true
			s.refs.bytes = append(s.refs.bytes, v...)
		case kind == 'l' && string(k) == "type":
			typed = pageType(v)
		case (kind == 'a' || kind == 'l') && string(k) == "rel":
			rel = relationOf(v)
		}
	}
	switch {
	case !found, rel.nofollow, kind == 'l' && !(rel.page && typed):
		s.refs.bytes = s.refs.bytes[:mark]
	case kind == 'b':
		s.refs.base(mark)
	default:
		s.refs.add(mark)
	}
}

// meta takes a meta element: a robots tag if it is in the head, a refresh wherever it is.
func (s *Scanner) meta(z *html.Tokenizer, inHead, linking bool) {
	var name, content, equiv []byte
	// The tokenizer's slices hold until the next token.
	for more := true; more; {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "name":
			name = v
		case "content":
			content = v
		case "http-equiv":
			equiv = v
		}
	}
	if inHead && name != nil && s.set.WantsMeta(name) {
		s.set.AddMeta(string(name), string(content))
	}
	if linking && equalFold(equiv, "refresh") {
		if target, ok := refreshTarget(content); ok {
			mark := len(s.refs.bytes)
			s.refs.bytes = append(s.refs.bytes, target...)
			s.refs.add(mark)
		}
	}
}

// resolve makes canonical URLs of the collected references. It runs after the pass because the <base> that governs
// a reference may stand after it.
func (s *Scanner) resolve(page canon.URL, cs encodingOf) []canon.URL {
	base := canon.NewBase(page)
	if href, ok := s.refs.baseHref(); ok {
		base, _ = base.Rebase(string(href)) // a broken one leaves the page's own address
	}
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
