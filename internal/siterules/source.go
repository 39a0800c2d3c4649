package siterules

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
	"golang.org/x/net/http/httpguts"

	"github.com/curtsy/curtsy/internal/crawl"
)

// sourceNames are the keys of which a field, a title or a condition has exactly one.
var sourceNames = []string{"css", "xpath", "meta", "jsonld", "url", "path", "header", "const"}

// source is where values come from.
type source struct {
	name  string // one of sourceNames, "field" in a condition
	text  string // as it is written
	css   *selector
	attr  string // of the elements that css finds; empty: their text
	xpath *xpathExpr
	json  *jsonPath
	re    *regexp.Regexp // of url and path
	fixed []string       // of const
	// next are more sources of the same name, if a list is written. Their values follow.
	next []*source
}

// source reads the value of one of sourceNames, or a list of such values. It returns nil after a
// mistake.
func (r *reader) source(name string, v *yaml.Node) *source {
	if name == "const" {
		s := &source{name: name}
		r.List(v, name, func(text string, _ *yaml.Node) { s.fixed = append(s.fixed, text) })
		s.text = strings.Join(s.fixed, ", ")
		return s
	}
	if v.Kind == yaml.SequenceNode && len(v.Content) == 0 {
		r.At(v, "%s is empty; give it a value, or leave the line out", name)
		return nil
	}
	var all []*source
	r.List(v, name, func(text string, n *yaml.Node) {
		if s := r.single(name, text, n); s != nil {
			all = append(all, s)
		}
	})
	if len(all) == 0 {
		return nil
	}
	all[0].next = all[1:]
	return all[0]
}

// single reads one value of one of sourceNames. It returns nil after a mistake.
func (r *reader) single(name, text string, v *yaml.Node) *source {
	s, ok := &source{name: name, text: text}, true
	switch name {
	case "css":
		s.css = r.selector(s.text, v, name)
		ok = s.css != nil
	case "xpath":
		s.xpath = r.xpath(s.text, v, name)
		ok = s.xpath != nil
	case "jsonld":
		s.json = r.jsonPath(s.text, v, name)
		ok = s.json != nil
	case "url", "path":
		works := `'^/docs/(\d+)/'`
		if name == "url" {
			works = `'^https://([a-z]+)\.'`
		}
		s.re = r.capture(s.text, v, name, works)
		ok = s.re != nil
	case "header":
		if !httpguts.ValidHeaderFieldName(s.text) {
			r.At(v, "header %q is not the name of a header field; use for example Last-Modified", s.text)
			ok = false
		}
		s.text = http.CanonicalHeaderKey(s.text)
		if ok && slices.Contains([]string{"Set-Cookie", "Authorization", "Www-Authenticate"}, s.text) {
			r.At(v, "header %s may contain a secret and cannot be a field", s.text)
			ok = false
		}
	}
	if !ok {
		return nil
	}
	return s
}

// capture compiles an expression that has at most one group.
func (r *reader) capture(expr string, v *yaml.Node, what, works string) *regexp.Regexp {
	re := r.regexp(expr, v, 0, what, works)
	if re != nil && re.NumSubexp() > 1 {
		r.At(v, "%s `%s` has %d groups; one is the value, so write (?:…) for the others", what, expr, re.NumSubexp())
		return nil
	}
	return re
}

// captured is what an expression with at most one group finds in a text.
func captured(re *regexp.Regexp, text string, most int) (all []string) {
	for _, m := range re.FindAllStringSubmatch(text, most) {
		all = append(all, m[len(m)-1])
	}
	return all
}

// found is a node or the value of an attribute.
type found struct {
	node   *html.Node
	text   string
	isText bool
}

// values returns the raw values of a source and of those that follow it, maxMatches at most. exists
// reports whether there is anything, perhaps without a text.
func (s *source) values(in *input) (all []string, exists bool) {
	all, exists = s.own(in)
	for _, n := range s.next {
		if len(all) >= maxMatches {
			break
		}
		more, found := n.own(in)
		all, exists = append(all, more...), exists || found
	}
	return all[:min(len(all), maxMatches)], exists
}

// own returns the values of the source alone.
func (s *source) own(in *input) (all []string, exists bool) {
	switch s.name {
	case "css":
		in.page().find(s.css, &in.work, func(n *html.Node) bool {
			exists = true
			if s.attr == "" {
				all = append(all, textOf(n))
			} else if hasAttribute(n, s.attr) {
				all = append(all, attribute(n, s.attr))
			}
			return len(all) < maxMatches
		})
	case "xpath":
		nodes, value, isNodes := s.xpath.eval(in.page(), &in.work)
		if !isNodes {
			// A test such as count(//h2) > 3 exists if it is true.
			return []string{value}, value != "" && value != "false"
		}
		for _, f := range nodes {
			if !f.isText {
				f.text = textOf(f.node)
			}
			all = append(all, f.text)
		}
		exists = len(nodes) > 0
	case "meta":
		all = in.page().meta(s.text)
	case "jsonld":
		all = s.json.values(in.page(), &in.work)
	case "url":
		all = captured(s.re, string(in.URL), maxMatches)
	case "path":
		all = captured(s.re, in.URL.Path(), maxMatches)
	case "header":
		all = in.Header[s.text]
	case "const":
		all = s.fixed
	}
	return all, exists || len(all) > 0
}

// String is the source for an explanation.
func (s *source) String() string {
	text := s.name + " " + strconv.Quote(s.text)
	for _, n := range s.next {
		text += " or " + strconv.Quote(n.text)
	}
	return text
}

func hasAttribute(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// meta returns the contents of the <meta> elements with a name, a property or an itemprop.
func (p *page) meta(name string) (all []string) {
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "meta" {
			continue
		}
		for _, key := range []string{"name", "property", "itemprop", "http-equiv"} {
			if strings.EqualFold(strings.TrimSpace(attribute(n, key)), name) {
				all = append(all, attribute(n, "content"))
				break
			}
		}
		if len(all) >= maxMatches {
			break
		}
	}
	return all
}

// textOf is the text of an element as a reader sees it, in one line. It is cut beyond MaxLongText.
func textOf(n *html.Node) string {
	var b strings.Builder
	gap := false
	var walk func(n *html.Node) bool
	walk = func(n *html.Node) bool {
		if n.Type == html.TextNode {
			for _, c := range n.Data {
				if isBlank(c) {
					gap = true
					continue
				}
				if gap && b.Len() > 0 {
					b.WriteByte(' ')
				}
				gap = false
				b.WriteRune(c)
				if b.Len() > MaxLongText {
					return false
				}
			}
			return true
		}
		k := kinds[n.Data]
		if k&block != 0 {
			gap = true
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode && kinds[c.Data]&unseen != 0 {
				continue
			}
			if !walk(c) {
				return false
			}
		}
		if k&block != 0 {
			gap = true
		}
		return true
	}
	walk(n)
	return b.String()
}

func isBlank(c rune) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\f', '\v', 0xa0, 0xad, 0x200b, 0xfeff:
		return true
	}
	return false
}

// fieldValues are the values of a field by its name.
func fieldValues(fields crawl.Fields, name string) []string {
	for _, f := range fields {
		if f.Name == name {
			return f.Values
		}
	}
	return nil
}
