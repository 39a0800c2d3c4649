package siterules

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// specName is the name of the file in what the rules of a spec say, because the spec has only its
// text.
const specName = "site rules"

// compiled are the rules that Of made last. The parts of one process all ask for the same ones.
var compiled struct {
	mu    sync.Mutex
	text  string
	rules *Rules
}

// Of returns the rules of a crawl, nil if it has none.
func Of(spec *crawl.Spec) (*Rules, error) {
	if spec.Sites == "" {
		return nil, nil
	}
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	if compiled.rules == nil || compiled.text != spec.Sites {
		rules, err := Parse(specName, spec.Sites)
		if err != nil {
			return nil, err
		}
		compiled.text, compiled.rules = spec.Sites, rules
	}
	return compiled.rules, nil
}

// InputOf is a page as rules read it, from its unpacked body as it is stored. Header may be nil. A
// document that is no page, such as a PDF file, is stored as HTML, and is read as such.
func InputOf(p *crawl.Page, header http.Header, body []byte) Input {
	in := Input{URL: p.URL, ContentType: p.ContentType, Charset: p.Charset, Header: header, Body: body}
	switch p.ContentType {
	case "text/html", html.TypeXHTML, html.TypeMarkdown, "text/plain":
	default:
		in.ContentType = "text/html"
	}
	if p.Ruled != nil {
		in.Earlier = p.Ruled.Fields
	}
	return in
}

// Reader returns the rules of a URL if they make anything of its page: fields, a decision to skip
// it, or another content. Otherwise it returns nil.
func (r *Rules) Reader(u canon.URL) *Site {
	if site := r.For(u); site != nil && (site.ReadsPages() || site.HasContent()) {
		return site
	}
	return nil
}

// contentHash identifies the rules about the content of a page, 0 if there are none. Whoever shows
// or indexes the content reads the page again when it changes.
func (s *Site) contentHash() uint64 {
	if !s.HasContent() {
		return 0
	}
	h := fnv.New64a()
	for _, list := range [][]*selector{s.main, s.drop} {
		for _, c := range list {
			fmt.Fprintf(h, "%q,", c.text)
		}
		h.Write([]byte{'|'})
	}
	return max(h.Sum64(), 1)
}
