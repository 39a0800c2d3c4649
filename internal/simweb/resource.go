package simweb

import (
	"strings"

	"github.com/curtsy/curtsy/internal/simweb/prose"
)

// resource is one special URL of a site: its answer, and the expected result in an obedient
// crawler.
type resource struct {
	path      string // with the query
	want      Expectation
	links     []anchor // what a crawler may follow from here, when it is stored or noindexed
	answer    func(q *request, buf *buffer) reply
	agentWant func(token string) Expectation // instead of want, if it depends on the client
	// Only nofollow links lead here: no obedient crawler requests it
	hidden bool
	robots bool // a robots.txt or a redirect on the way to one
	varies bool // the answer depends on what was requested before
}

// anchor is a link of a special page, with its spelling and its target.
type anchor struct {
	href   string // as written in the page, escaped
	target string // the URL that it means, canonical; "" if it must not be followed
	rel    string // nofollow, or another value
	markup string // the element, with % for href; "" means an <a>
}

func (a anchor) followed() bool {
	return a.target != "" && !strings.Contains(strings.ToLower(a.rel), "nofollow")
}

func appendAnchors(b []byte, list []anchor) []byte {
	for _, a := range list {
		if a.markup != "" {
			before, after, _ := strings.Cut(a.markup, "%")
			b = append(append(append(append(b, before...), a.href...), after...), '\n')
			continue
		}
		b = append(append(b, `<p><a href="`...), a.href...)
		if a.rel != "" {
			b = append(append(b, `" rel="`...), a.rel...)
		}
		b = append(append(append(b, `">`...), anchorText(a)...), "</a></p>\n"...)
	}
	return b
}

func anchorText(a anchor) string {
	t := a.target
	if t == "" {
		return "a link"
	}
	if i := strings.LastIndexByte(strings.TrimSuffix(t, "/"), '/'); i >= 0 {
		t = t[i+1:]
	}
	return "to " + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(t[:min(len(t), 40)])
}

// to links to a path of the same site, spelled from the root.
func (s *site) to(path string) anchor {
	return anchor{href: strings.ReplaceAll(path, "&", "&amp;"), target: s.url(path)}
}

// add registers a resource; enter also links to it from the home page.
func (s *site) add(r *resource) *resource {
	s.special[r.path] = r
	return r
}

func (s *site) enter(r *resource) *resource {
	s.entries = append(s.entries, s.to(r.path))
	return s.add(r)
}

// doc is a special page of ordinary HTML.
type doc struct {
	head    string // more elements for <head>
	top     string // markup that opens the body
	text    string // a sentence of its own
	anchors []anchor
	header  string // header lines, each ending in CRLF
	ctype   string // Content-Type; "" means text/html; charset=utf-8
}

const htmlType = "text/html; charset=utf-8"

// page makes a resource of a doc, to be stored unless the caller changes this.
func (s *site) page(path string, d doc) *resource {
	if d.ctype == "" {
		d.ctype = htmlType
	}
	return &resource{path: path, want: Expectation{Class: Stored}, links: d.anchors, answer: func(_ *request, buf *buffer) reply {
		s.renderDoc(buf, path, d)
		return reply{status: 200, ctype: d.ctype, header: d.header, body: buf.b}
	}}
}

func (s *site) renderDoc(buf *buffer, path string, d doc) {
	r := prose.Mix(uint64(s.web.cfg.Seed), 'd', uint64(s.index), uint64(len(path)), uint64(path[len(path)-1]))
	name := strings.Trim(strings.NewReplacer("/", " ", "-", " ", ".html", "", "&", " ", "<", "").Replace(path), " ")
	b := append(buf.b, "<!DOCTYPE html>\n<html lang=\"en\"><head>"...)
	b = append(append(append(b, d.head...), "<title>"...), name...)
	b = append(append(b, " of "...), s.name...)
	b = append(append(b, "</title></head>\n<body>"...), d.top...)
	b = append(append(append(b, "<h1>"...), name...), "</h1>\n<p>"...)
	b = append(append(b, d.text...), ' ')
	for range 3 {
		b = append(b, s.web.text[r.Next()%prose.Pool]...)
	}
	b = appendAnchors(append(b, "</p>\n"...), d.anchors)
	buf.b = append(b, "</body></html>\n"...)
}
