package siterules

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Parse reads the text of a file. Name is that of the file, for messages. An error is an *Error,
// which lists the mistakes, each with its line and column and what would be accepted.
func Parse(name, text string) (*Rules, error) {
	p := &parser{reader: reader{mistakes{name: name}}, rules: &Rules{name: name}, ids: map[string]int{}, names: map[string]*field{}}
	p.document(text)
	if len(p.all) == 0 {
		p.rules.build()
		p.together()
	}
	if err := p.err(); err != nil {
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
	if len(text) > MaxFile {
		p.add(1, 1, "the file has %d bytes; at most %d are allowed", len(text), MaxFile)
		return
	}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(text))
	err := dec.Decode(&doc)
	switch {
	case err == io.EOF:
		p.add(1, 1, "the file is empty; %s", fileExample)
	case err != nil:
		line, why := yamlError(err)
		p.add(line, 1, "this is not valid YAML: %s", why)
	case dec.Decode(&second) != io.EOF:
		p.add(max(second.Line, 1), 1, "there is a second document in the file; write one list of sites")
	default:
		p.top(doc.Content[0])
	}
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlError cuts the line out of an error of the library.
func yamlError(err error) (line int, why string) {
	why, line = strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatchIndex(why); m != nil {
		line, _ = strconv.Atoi(why[m[2]:m[3]])
		why = why[:m[0]] + why[m[1]:]
	}
	switch {
	case strings.Contains(why, "alphabetic or numeric"):
		why += `; a name that begins with "*" needs quotes: "*.example.org":`
	case strings.Contains(why, "cannot start any token"):
		why += "; indent lines with spaces, not with tabs, and put values with special characters into quotes"
	case strings.Contains(why, "end of stream"):
		why += "; a quote or a bracket is not closed, perhaps some lines above"
	default:
		why += "; compare how far the lines are indented, and put values with : or # into quotes"
	}
	return line, why
}

func (p *parser) top(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		p.at(n, "the file is a %s; %s", map[yaml.Kind]string{yaml.SequenceNode: "list", yaml.ScalarNode: "text"}[n.Kind], fileExample)
		return
	}
	found := false
	p.each(n, "the file", func(name string, k, v *yaml.Node) {
		if name != "sites" {
			p.at(k, "unknown key %q; only sites is allowed here, with the sites below it", name)
			return
		}
		found = true
		if v.Kind == yaml.MappingNode && len(v.Content)/2 > MaxEntries {
			p.at(v, "the file has %d entries; at most %d are allowed", len(v.Content)/2, MaxEntries)
			return
		}
		p.each(v, "sites", func(_ string, k, v *yaml.Node) { p.entry(k, v) })
	})
	if !found && len(p.all) == 0 {
		p.at(n, "there is no key sites; %s", fileExample)
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
			p.at(k, "%q is about the same URLs as the entry in line %d; merge them", k.Value, line)
		}
		p.ids[about.id()] = k.Line
	}
	e := &entry{key: about, line: k.Line, number: len(p.rules.entries), has: map[string]bool{}}
	e.site.entry = e
	if v.Kind == yaml.ScalarNode && v.Tag == "!!null" {
		v = &yaml.Node{Kind: yaml.MappingNode} // only comments follow
	}
	p.each(v, "entry "+k.Value, func(name string, k, v *yaml.Node) {
		i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
		if i < 0 {
			p.unknown(k, "an entry", settingNames(settings))
			return
		}
		if about.path != "" && settings[i].host {
			p.at(k, "%s is about a whole host, so it cannot be set for a path; move it to an entry %s", name, quoteKey(about.site()))
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
	p.list(v, name, func(text string, n *yaml.Node) {
		for w := range strings.SplitSeq(text, ",") {
			w = strings.ToLower(strings.TrimSpace(w))
			if !slices.Contains(words, w) {
				p.at(n, "%s: unknown word %q; %s", name, w, Suggest(w, words))
			}
			list = append(list, w)
		}
	})
	return list
}

func (p *parser) urls(v *yaml.Node, name string) (list []canon.URL) {
	p.list(v, name, func(text string, n *yaml.Node) {
		u, err := canon.Parse(text)
		if err != nil {
			p.at(n, "%s: %q is not a URL: %s; use for example https://docs.example.org/", name, text, cause(err))
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
	p.each(v, what, func(name string, k, v *yaml.Node) {
		f := p.field(name, k, v)
		if f == nil {
			return
		}
		if first := p.names[name]; first == nil {
			p.names[name] = f
		} else if first.kind != f.kind {
			p.at(k, "field %s is of type %s here and of type %s in line %d; a name has one type in the whole file", name, f.kind, first.kind, first.line)
		}
		e.fields = append(e.fields, f)
	})
	if len(e.fields) > MaxFields {
		p.at(v, "the entry has %d fields; at most %d are allowed", len(e.fields), MaxFields)
	}
}

func (p *parser) content(e *entry, v *yaml.Node, what string) {
	s := &e.site
	p.each(v, what, func(name string, k, v *yaml.Node) {
		e.has[what+"."+name] = true
		switch name {
		case "main", "drop":
			into := &s.main
			if name == "drop" {
				into = &s.drop
			}
			p.list(v, name, func(text string, n *yaml.Node) {
				if c := p.selector(text, n, name); c != nil {
					*into = append(*into, c)
				}
			})
		case "title":
			s.title = p.override(name, v)
		case "description":
			s.description = p.override(name, v)
		default:
			p.unknown(k, what, settingNames(contentParts))
		}
	})
}

// override reads where a title or a description comes from.
func (p *parser) override(name string, v *yaml.Node) *field {
	before := len(p.all)
	f := &field{name: name, line: v.Line, kind: crawl.FieldText}
	p.each(v, name, func(key string, k, v *yaml.Node) {
		switch {
		case slices.Contains(sourceNames, key):
			p.one(&f.from, key, k, v)
		case key != "attr" && key != "matches":
			p.unknown(k, name, append(slices.Clone(sourceNames), "attr", "matches"))
		}
	})
	if v.Kind != yaml.MappingNode || len(p.all) > before {
		return nil
	}
	if f.from == nil {
		p.at(v, "%s has no source; use for example {css: h1} or {meta: \"og:title\"}", name)
		return nil
	}
	f.matches = p.refine(f.from, v)
	return f
}

// together checks what only all entries together can have too much of.
func (p *parser) together() {
	r := p.rules
	if len(r.schema) > MaxNames {
		p.add(1, 1, "the file has fields with %d different names; at most %d are allowed", len(r.schema), MaxNames)
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
			p.add(e.line, 1, "%q has %d fields together with those of the entries above it; at most %d are allowed", e.text, n, MaxFields)
		}
	}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
