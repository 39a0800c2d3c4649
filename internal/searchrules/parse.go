package searchrules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/rulefile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Parse reads the text of a file that is called search.yaml in messages; see ParseFile.
func Parse(text string) (*Rules, error) { return ParseFile("search.yaml", text) }

// ParseFile reads the text of a file. name is that of the file, for messages. An error is a
// *rulefile.Error, which lists the mistakes, each with its line and column and what would be
// accepted.
func ParseFile(name, text string) (*Rules, error) {
	p := &parser{rules: &Rules{}, synonyms: newSynonymReader(), seen: map[string]int{}}
	p.Name = name
	if n := p.Document(text, MaxFile, fileExample, "write one set of rules"); n != nil {
		p.top(n)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if p.synonyms.into.lines > 0 {
		p.rules.synonyms = p.synonyms.into
	}
	return p.rules, nil
}

// ParseSynonyms reads a file of synonyms in Solr's format, for all languages. name is that of the
// file, for messages. An error is a *rulefile.Error.
func ParseSynonyms(name, text string) (*Synonyms, error) {
	var m rulefile.Mistakes
	m.Name = name
	r := newSynonymReader()
	switch {
	case len(text) > MaxSynonymsFile:
		m.Add(1, 1, "the file has %d bytes; at most %d are allowed", len(text), MaxSynonymsFile)
	default:
		i := 0
		for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
			i++
			if err := r.line("", line); err != nil {
				m.Add(i, 1, "%v", err)
			}
			if r.into.lines > MaxLines {
				break
			}
		}
		if r.into.lines == 0 {
			m.Add(1, 1, `there are no synonyms in the file; write for example "car, automobile" or "httpd => apache"`)
		}
	}
	return r.into, m.Err()
}

type parser struct {
	rulefile.Reader
	rules    *Rules
	synonyms *synonymReader
	seen     map[string]int // lines of results, by what they are about
}

// fileExample is a phrase about a file that works.
const fileExample = `write for example "synonyms: |", and below it, indented, "car, automobile"`

// keys are those of a file.
var keys = []string{"synonyms", "results", "demote", "weights"}

func (p *parser) top(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode || n.Kind == yaml.SequenceNode {
		p.At(n, "the file is a %s; %s", map[yaml.Kind]string{yaml.SequenceNode: "list", yaml.ScalarNode: "text"}[n.Kind], fileExample)
		return
	}
	p.Each(n, "the file", func(name string, k, v *yaml.Node) {
		if v.Kind == yaml.ScalarNode && v.Tag == "!!null" && slices.Contains(keys, name) {
			return // only comments follow
		}
		switch name {
		case "synonyms":
			p.allSynonyms(v)
		case "results":
			p.results(v)
		case "demote":
			p.demotions(v)
		case "weights":
			p.weights(v)
		default:
			p.Unknown(k, "the file", keys)
		}
	})
}

// allSynonyms reads lines for all languages, or for each of several.
func (p *parser) allSynonyms(v *yaml.Node) {
	if v.Kind != yaml.MappingNode {
		p.lines("", v)
		return
	}
	p.Each(v, "synonyms", func(name string, k, v *yaml.Node) {
		switch {
		case name == "all":
			p.lines("", v)
		case isLanguage(name):
			p.lines(name, v)
		default:
			p.At(k, "%q is no language; use a code of two letters such as de, or all", name)
		}
	})
}

// lines reads synonyms: a text of several lines, or a list of lines.
func (p *parser) lines(lang string, v *yaml.Node) {
	read := func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || !p.Plain(n) {
			p.At(n, `synonyms: lines such as "car, automobile" are expected here, after a "|"`)
			return
		}
		if n.Style&yaml.FoldedStyle != 0 {
			p.At(n, `synonyms: ">" joins the lines to one; use "|"`)
			return
		}
		first := n.Line
		if n.Style&yaml.LiteralStyle != 0 {
			first++
		}
		i := 0
		for line := range strings.SplitSeq(n.Value, "\n") {
			if err := p.synonyms.line(lang, line); err != nil {
				p.Add(first+i, n.Column, "synonyms: %v", err)
			}
			if p.synonyms.into.lines > MaxLines {
				return
			}
			i++
		}
	}
	if v.Kind != yaml.SequenceNode {
		read(v)
		return
	}
	for _, n := range v.Content {
		if read(n); p.synonyms.into.lines > MaxLines {
			return
		}
	}
}

// sequence calls do for the entries of a list of at most limit.
func (p *parser) sequence(v *yaml.Node, what string, limit int, example string, do func(n *yaml.Node)) {
	switch {
	case !p.Plain(v):
		p.At(v, "%s: %s", what, rulefile.References)
	case v.Kind != yaml.SequenceNode:
		p.At(v, `%s: a list is expected here; write for example "- %s"`, what, example)
	case len(v.Content) > limit:
		p.At(v, "%s has %d entries; at most %d are allowed", what, len(v.Content), limit)
	default:
		for _, n := range v.Content {
			do(n)
		}
	}
}

// resultKeys are those of an entry of results.
var resultKeys = []string{"query", "match", "pin", "hide", "boost"}

func (p *parser) results(v *yaml.Node) {
	p.sequence(v, "results", MaxResults, "{query: install, pin: [https://docs.example.org/install.html]}", func(n *yaml.Node) {
		before := p.Count()
		r := result{exact: true}
		p.Each(n, "an entry of results", func(name string, k, v *yaml.Node) {
			switch name {
			case "query":
				r.query = p.Text(v, name)
			case "match":
				if text := p.Text(v, name); text != "" {
					if r.exact = text == "exact"; !r.exact && text != "words" {
						p.At(v, "match: unknown word %q; %s", text, rulefile.Suggest(text, []string{"exact", "words"}))
					}
				}
			case "pin":
				r.pin = p.urls(v, name, MaxPins)
			case "hide":
				r.hide = p.urls(v, name, MaxHidden)
			case "boost":
				p.sequence(v, name, MaxBoosts, "{url: https://docs.example.org/guide/, by: 2}", func(n *yaml.Node) {
					r.boost = append(r.boost, p.factor(n, name, "url", MaxBoost, p.url))
				})
			default:
				p.Unknown(k, "an entry of results", resultKeys)
			}
		})
		if p.Count() > before {
			return
		}
		r.words = wordsOfQuery(query.Parse(r.query))
		switch {
		case len(r.words) == 0:
			p.At(n, `an entry of results has no query with words; write for example "query: install"`)
		case len(r.pin)+len(r.hide)+len(r.boost) == 0:
			p.At(n, "the entry for %q has no rule for its results; use pin, hide or boost", r.query)
		}
		for _, u := range r.pin {
			if slices.Contains(r.hide, u) {
				p.At(n, "%s is both pinned and hidden for %q; leave one out", u, r.query)
			}
		}
		id := fmt.Sprint(r.exact, r.words)
		if line := p.seen[id]; line > 0 {
			p.At(n, "%q is about the same queries as the entry in line %d; merge them", r.query, line)
		}
		p.seen[id] = n.Line
		p.rules.results = append(p.rules.results, r)
	})
}

// urls reads a list of URLs, each once.
func (p *parser) urls(v *yaml.Node, what string, limit int) (list []string) {
	read := func(n *yaml.Node) {
		if u := p.url(n, what); u != "" && !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	if v.Kind == yaml.ScalarNode {
		read(v)
		return list
	}
	p.sequence(v, what, limit, "https://docs.example.org/install.html", read)
	return list
}

// url reads a URL. It returns "" after a mistake.
func (p *parser) url(n *yaml.Node, what string) string {
	text := p.Text(n, what)
	if text == "" {
		return ""
	}
	u, err := canon.Parse(text)
	if err != nil {
		p.At(n, "%s: %q is not a URL: %v; use for example https://docs.example.org/", what, text, innermost(err))
	}
	return string(u)
}

// innermost is the cause of an error, without what the message has already.
func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// factor reads a mapping of two keys: of (read by value) and by, a number from 0 to limit.
func (p *parser) factor(n *yaml.Node, what, of string, limit float64, value func(n *yaml.Node, what string) string) (f Factor) {
	f.By = -1
	before := p.Count()
	p.Each(n, what, func(name string, k, v *yaml.Node) {
		switch name {
		case of:
			f.Of = value(v, what)
		case "by":
			f.By = p.number(v, what+": by", limit)
		default:
			p.Unknown(k, what, []string{of, "by"})
		}
	})
	if p.Count() == before && (f.Of == "" || f.By < 0) {
		p.At(n, "%s needs %s and by", what, of)
	}
	return f
}

// number reads a number from 0 to limit.
func (p *parser) number(n *yaml.Node, what string, limit float64) float64 {
	text := p.Text(n, what)
	if text == "" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > limit {
		p.At(n, "%s %q is not a number from 0 to %v; use for example 0.5", what, text, limit)
		return 0
	}
	return x
}

func (p *parser) demotions(v *yaml.Node) {
	p.sequence(v, "demote", MaxDemotions, "{site: docs.example.org/archive, by: 0.5}", func(n *yaml.Node) {
		f := p.factor(n, "demote", "site", 1, func(n *yaml.Node, what string) string {
			text := p.Text(n, what)
			if text == "" {
				return ""
			}
			if f := query.Parse(`site:"` + text + `"`).Filters; len(f.Sites) == 1 && !strings.ContainsAny(text, `" `) {
				return f.Sites[0]
			}
			p.At(n, "%s: %q is not a site; use for example docs.example.org or docs.example.org/archive", what, text)
			return ""
		})
		p.rules.demote = append(p.rules.demote, f)
	})
}

func (p *parser) weights(v *yaml.Node) {
	p.rules.weights = map[string]float64{}
	p.Each(v, "weights", func(name string, k, v *yaml.Node) {
		if !slices.Contains(WeightNames(), name) {
			p.Unknown(k, "weights", WeightNames())
			return
		}
		p.rules.weights[name] = p.number(v, name, MaxBoost)
	})
}
