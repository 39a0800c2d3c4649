package siterules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/rulefile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Parse reads the text of a file. Name is that of the file, for messages. An error is a
// *rulefile.Error, which lists the mistakes, each with its line and column and what would be
// accepted.
func Parse(name, text string) (*Rules, error) {
	p := &parser{rules: &Rules{name: name}, ids: map[string]int{}, names: map[string]*field{}}
	p.Name = name
	p.document(text)
	if p.Count() == 0 {
		p.rules.build()
		p.together()
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	p.rules.hash = (&crawl.Spec{Sites: text}).SitesHash()
	return p.rules, nil
}

type parser struct {
	reader
	rules *Rules
	ids   map[string]int    // lines of entries
	names map[string]*field // the first field with a name
}

// fileExample is a file that works.
const fileExample = `write "sites:", and below it for example "docs.example.org: {delay: 5s}"`

func (p *parser) document(text string) {
	if n := p.Document(text, MaxFile, fileExample, "write one list of sites"); n != nil {
		p.top(n)
	}
}

func (p *parser) top(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		p.At(n, "the file is a %s; %s", map[yaml.Kind]string{yaml.SequenceNode: "list", yaml.ScalarNode: "text"}[n.Kind], fileExample)
		return
	}
	found := false
	p.Each(n, "the file", func(name string, k, v *yaml.Node) {
		if name != "sites" {
			p.At(k, "unknown key %q; only sites is allowed here, with the sites below it", name)
			return
		}
		found = true
		if v.Kind == yaml.MappingNode && len(v.Content)/2 > MaxEntries {
			p.At(v, "the file has %d entries; at most %d are allowed", len(v.Content)/2, MaxEntries)
			return
		}
		p.Each(v, "sites", func(_ string, k, v *yaml.Node) { p.entry(k, v) })
	})
	if !found && p.Count() == 0 {
		p.At(n, "there is no key sites; %s", fileExample)
	}
}

// entry is what the file says of a site.
type entry struct {
	key
	line, number int
	site         Site // with its own settings only
	has          map[string]bool
	fields       []*field
}

func (p *parser) entry(k, v *yaml.Node) {
	about, ok := p.key(k)
	if ok {
		if line := p.ids[about.id()]; line > 0 {
			p.At(k, "%q is about the same URLs as the entry in line %d; merge them", k.Value, line)
		}
		p.ids[about.id()] = k.Line
	}
	e := &entry{key: about, line: k.Line, number: len(p.rules.entries), has: map[string]bool{}}
	e.site.entry = e
	if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
		v = &yaml.Node{Kind: yaml.MappingNode} // only comments follow
	}
	p.Each(v, "entry "+k.Value, func(name string, k, v *yaml.Node) {
		i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
		if i < 0 {
			p.Unknown(k, "an entry", settingNames(settings))
			return
		}
		if about.path != "" && settings[i].host {
			p.At(k, "%s is about a whole host, so it cannot be set for a path; move it to an entry %s", name, quoteKey(about.site()))
			return
		}
		e.has[name] = true
		settings[i].read(p, e, v, name)
	})
	p.rules.entries = append(p.rules.entries, e)
}

// quoteKey writes a key as YAML needs it.
func quoteKey(key string) string {
	if strings.HasPrefix(key, "*") || strings.Contains(key, ":") {
		return strconv.Quote(key)
	}
	return key
}

// words reads a list of words of a setting.
func (p *parser) words(v *yaml.Node, name string, words []string) []string {
	list := []string{}
	p.List(v, name, func(text string, n *yaml.Node) {
		for w := range strings.SplitSeq(text, ",") {
			w = strings.ToLower(strings.TrimSpace(w))
			if !slices.Contains(words, w) {
				p.At(n, "%s: unknown word %q; %s", name, w, rulefile.Suggest(w, words))
			}
			list = append(list, w)
		}
	})
	return list
}

func (p *parser) urls(v *yaml.Node, name string) (list []canon.URL) {
	p.List(v, name, func(text string, n *yaml.Node) {
		u, err := canon.Parse(text)
		if err != nil {
			p.At(n, "%s: %q is not a URL: %s; use for example https://docs.example.org/", name, text, cause(err))
			return
		}
		list = append(list, u)
	})
	return list
}

// cause is the innermost error, without what the message has already.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

func (p *parser) fields(e *entry, v *yaml.Node, what string) {
	p.Each(v, what, func(name string, k, v *yaml.Node) {
		f := p.field(name, k, v)
		if f == nil {
			return
		}
		if first := p.names[name]; first == nil {
			p.names[name] = f
		} else if first.kind != f.kind {
			p.At(k, "field %s is of type %s here and of type %s in line %d; a name has one type in the whole file", name, f.kind, first.kind, first.line)
		}
		e.fields = append(e.fields, f)
	})
	if len(e.fields) > MaxFields {
		p.At(v, "the entry has %d fields; at most %d are allowed", len(e.fields), MaxFields)
	}
}

func (p *parser) content(e *entry, v *yaml.Node, what string) {
	s := &e.site
	p.Each(v, what, func(name string, k, v *yaml.Node) {
		e.has[what+"."+name] = true
		switch name {
		case "main", "drop":
			into := &s.main
			if name == "drop" {
				into = &s.drop
			}
			p.List(v, name, func(text string, n *yaml.Node) {
				if c := p.selector(text, n, name); c != nil {
					*into = append(*into, c)
				}
			})
		case "title":
			s.title = p.override(name, v)
		case "description":
			s.description = p.override(name, v)
		default:
			p.Unknown(k, what, settingNames(contentParts))
		}
	})
}

// override reads where a title or a description comes from.
func (p *parser) override(name string, v *yaml.Node) *field {
	before := p.Count()
	f := &field{name: name, line: v.Line, kind: crawl.FieldText}
	p.Each(v, name, func(key string, k, v *yaml.Node) {
		switch {
		case slices.Contains(sourceNames, key):
			p.one(&f.from, key, k, v)
		case key != "attr" && key != "matches":
			p.Unknown(k, name, append(slices.Clone(sourceNames), "attr", "matches"))
		}
	})
	if v.Kind != yaml.MappingNode || p.Count() > before {
		return nil
	}
	if f.from == nil {
		p.At(v, "%s has no source; use for example {css: h1} or {meta: \"og:title\"}", name)
		return nil
	}
	f.matches = p.refine(f.from, v)
	return f
}

// together checks what only all entries together can have too much of.
func (p *parser) together() {
	r := p.rules
	if len(r.schema) > MaxNames {
		p.Add(1, 1, "the file has fields with %d different names; at most %d are allowed", len(r.schema), MaxNames)
	}
	for _, e := range r.entries {
		if len(e.fields) == 0 {
			continue
		}
		u, err := canon.Parse(fmt.Sprintf("%s://%s:%d%s/", either(e.scheme, "https"), e.host.Name(), cmp.Or(e.port, 443), e.path))
		if err != nil {
			continue
		}
		chain := r.chain(u)
		if len(chain) == 0 {
			continue // no URL has a host that is written in this way
		}
		if n := len(r.merged(chain).fields); n > MaxFields {
			p.Add(e.line, 1, "%q has %d fields together with those of the entries above it; at most %d are allowed", e.text, n, MaxFields)
		}
	}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
