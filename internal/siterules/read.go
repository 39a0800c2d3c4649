package siterules

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Input is a page as its rules see it.
type Input struct {
	URL         canon.URL
	ContentType string      // the media type, with or without parameters
	Charset     string      // of the body; empty: UTF-8
	Header      http.Header // may be nil: then fields from headers keep what Earlier has
	Body        []byte      // decoded from its content coding, in its charset
	Earlier     crawl.Fields
}

// Output is what the rules make of a page.
type Output struct {
	Ruled crawl.Ruled
	// Skip says that the page is not wanted. Why names the entry and its line.
	Skip bool
	Why  string
	// Missing are required fields without a value, and Empty all fields without one.
	Missing, Empty []string
	// Cut says in words what was left out because a limit was reached.
	Cut []string
}

// input is a page while it is read.
type input struct {
	Input
	tree    *page
	shown   *page // the tree without what may not be shown; nil: not made
	showing bool  // what is read now is shown
	work    work
}

func (in *input) cut(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(in.work.cut) < MaxFields && !slices.Contains(in.work.cut, text) {
		in.work.cut = append(in.work.cut, text)
	}
}

// treeOf makes the tree of a page. Pages that are no HTML have no elements.
func treeOf(contentType, charset string, body []byte) *page {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	kind, src := html.Convert(media, html.Decode(body, charset))
	if kind != "" && kind != "text/html" {
		src = nil
	}
	p := parse(src)
	p.quiet = mayHide(src)
	return p
}

// ReadsPages reports whether Read makes anything of a page.
func (s *Site) ReadsPages() bool {
	return s != nil && (len(s.fields) > 0 || len(s.skip) > 0 || s.title != nil || s.description != nil)
}

// Read applies the rules to a page. Documents that are no HTML are given as the HTML that was made
// of them. Hostile pages cost bounded time and memory, and never panic.
func (s *Site) Read(page Input) (out Output) {
	if s == nil {
		return Output{}
	}
	out.Ruled.Rules, out.Ruled.Content = s.rules.hash, s.contentHash()
	if !s.ReadsPages() {
		return out
	}
	in := &input{Input: page, showing: true, work: work{css: maxWork, steps: maxSteps}}
	left := MaxPage
	for _, f := range s.fields {
		values := s.values(f, in)
		for i, v := range values {
			if left -= len(v); left < 0 {
				in.cut("the fields of the page have more than %d bytes", MaxPage)
				values = values[:i]
				break
			}
		}
		if len(values) == 0 {
			out.Empty = append(out.Empty, f.name)
			if f.required {
				out.Missing = append(out.Missing, f.name)
			}
			continue
		}
		out.Ruled.Fields = append(out.Ruled.Fields, crawl.Field{Name: f.name, Type: f.kind, Many: s.rules.many[f.name], Values: values})
	}
	out.Ruled.Title = s.override(s.title, in)
	out.Ruled.Description = s.override(s.description, in)
	in.showing = false
	for _, c := range s.skip {
		if s.holds(c, in, out.Ruled.Fields) {
			out.Skip, out.Why = true, c.why(s.rules.name)
			break
		}
	}
	if in.work.css < 0 {
		in.cut("the CSS selectors took too many steps; later ones found nothing")
	}
	if in.work.steps < 0 {
		in.cut("the XPath expressions took too many steps; later ones found nothing")
	}
	out.Cut = in.work.cut
	return out
}

// values returns the values of a field. A panic of a library costs only this field.
func (s *Site) values(f *field, in *input) (values []string) {
	if f.from.name == "header" && in.Header == nil {
		return fieldValues(in.Earlier, f.name)
	}
	defer func() {
		if r := recover(); r != nil {
			values = nil
			in.cut("field %s failed: %.100v", f.name, r)
		}
	}()
	return f.read(in)
}

func (s *Site) override(f *field, in *input) string {
	if f == nil {
		return ""
	}
	if values := s.values(f, in); len(values) > 0 {
		text, _ := shorten(values[0], MaxKeyword)
		return text
	}
	return ""
}

func (s *Site) holds(c *condition, in *input, fields crawl.Fields) (holds bool) {
	defer func() {
		if r := recover(); r != nil {
			holds = false
			in.cut("the condition in line %d failed: %.100v", c.line, r)
		}
	}()
	return c.holds(in, fields)
}
