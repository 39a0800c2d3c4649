package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/search/segment"
)

const (
	// maxFieldValue is the length in bytes up to which a value of a field is stored for filters,
	// facets and sorting. The rest of a longer value is not compared.
	maxFieldValue = 1024
	// maxFieldFacets is how many fields an answer counts.
	maxFieldFacets = 20
	// fewValues is the maximum number of different values in an answer with which a field is
	// counted. More values are of no use for narrowing, and cost memory.
	fewValues = 200
)

// propertiesOf are the values of a page's fields as a segment stores them.
func propertiesOf(p *pages.Page) (all []segment.Property) {
	if p.Ruled == nil {
		return nil
	}
	for _, f := range p.Ruled.Fields {
		from := len(all)
		for _, v := range f.Values {
			if len(v) > maxFieldValue {
				v = strings.ToValidUTF8(v[:maxFieldValue], "")
			}
			if property := (segment.Property{Name: f.Name, Text: v}); !slices.Contains(all[from:], property) {
				all = append(all, property)
			}
		}
	}
	return all
}

// fieldTexts are the values of a page's fields that are texts. Their words count as words of a
// heading, because they may not be in the page.
func fieldTexts(p *pages.Page) (all [][]byte) {
	if p.Ruled == nil {
		return nil
	}
	for _, f := range p.Ruled.Fields {
		for _, v := range f.Values {
			if f.Type == crawl.FieldText {
				all = append(all, []byte(v))
			}
		}
	}
	return all
}

// fieldCheck applies the filters of one field to the pages of a part.
type fieldCheck struct {
	p    *part
	name uint32 // its number in the part
	some bool   // any page of the part has the field
	// Of the filters: those of which a page must pass one, and those of which it must pass none.
	want, not []query.FieldFilter
	seen      map[uint32]verdict // by number of a value
}

// verdict is what the filters say about a value.
type verdict struct{ wanted, excluded bool }

// fieldChecks makes the checks of a query's filters for a part.
func fieldChecks(p *part, all []query.FieldFilter) (checks []*fieldCheck) {
	for _, f := range all {
		i := slices.IndexFunc(checks, func(c *fieldCheck) bool {
			return cmp.Or(len(c.want), len(c.not)) > 0 && slices.Concat(c.want, c.not)[0].Name == f.Name
		})
		if i < 0 {
			c := &fieldCheck{p: p, seen: map[uint32]verdict{}}
			c.name, c.some = nameIn(p, f.Name)
			checks, i = append(checks, c), len(checks)
		}
		if c := checks[i]; f.Not {
			c.not = append(c.not, f)
		} else {
			c.want = append(c.want, f)
		}
	}
	return checks
}

// nameIn is the number of a field in a part; ok is false if none of its pages has the field.
func nameIn(p *part, name string) (n uint32, ok bool) {
	for n = range p.PropertyNames() {
		if p.PropertyName(n) == name {
			return n, true
		}
	}
	return 0, false
}

// pass reports whether a page with these values passes.
func (c *fieldCheck) pass(values []uint32) bool {
	wanted := len(c.want) == 0
	if !c.some {
		return wanted
	}
	for _, n := range values {
		if c.p.NameOfProperty(n) != c.name {
			continue
		}
		v, ok := c.seen[n]
		if !ok {
			text := c.p.TextOfProperty(n)
			is := func(f query.FieldFilter) bool { return hasValue(f, text) }
			v = verdict{slices.ContainsFunc(c.want, is), slices.ContainsFunc(c.not, is)}
			c.seen[n] = v
		}
		if v.excluded {
			return false
		}
		wanted = wanted || v.wanted
	}
	return wanted
}

// hasValue reports whether a value is one that a filter names.
func hasValue(f query.FieldFilter, text string) bool {
	switch f.Type {
	case crawl.FieldNumber, crawl.FieldDate:
		n, ok := query.FieldNumber(f.Type, text)
		return ok && f.From <= n && n <= f.To
	case crawl.FieldText:
		words, in := wordsOf(f.Text), wordsOf(text)
		for ; len(words) > 0 && len(in) >= len(words); in = in[1:] {
			if slices.Equal(in[:len(words)], words) {
				return true
			}
		}
		return false
	}
	return query.Fold(text) == f.Text
}

// wordsOf are the words of a text, without the names that they are parts of.
func wordsOf(text string) (words []string) {
	var z analysis.Tokenizer
	z.Tokens([]byte(text), func(t analysis.Token) bool {
		if !t.Whole {
			words = append(words, string(t.Word))
		}
		return true
	})
	return words
}

// facetFields are the fields of a schema that an answer counts.
func facetFields(s query.Schema) (names []string) {
	for name, t := range s {
		if t == crawl.FieldKeyword || t == crawl.FieldNumber || t == crawl.FieldBoolean {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxFieldFacets)]
}

// fieldCounts counts the pages of a part by the values of fields.
type fieldCounts struct {
	p      *part
	counts []uint32 // by number of a value; nil: there is nothing to count
	names  []bool   // by number of a field, whether it is counted
	buf    []uint32
}

func newFieldCounts(p *part, fields []string) *fieldCounts {
	c := &fieldCounts{p: p}
	if len(fields) == 0 || !p.HasProperties() {
		return c
	}
	c.counts, c.names = make([]uint32, p.PropertyValues()), make([]bool, p.PropertyNames())
	for n := range c.names {
		c.names[n] = slices.Contains(fields, p.PropertyName(uint32(n)))
	}
	return c
}

func (c *fieldCounts) count(i uint32) {
	if c.counts == nil {
		return
	}
	c.buf = c.p.PagesProperties(c.buf[:0], i)
	for _, n := range c.buf {
		c.counts[n]++
	}
}

// flush adds what was counted to facets.
func (c *fieldCounts) flush(add func(name, value string, n int64)) {
	for n, pages := range c.counts {
		if name := c.p.NameOfProperty(uint32(n)); pages > 0 && c.names[name] {
			add(c.p.PropertyName(name), c.p.TextOfProperty(uint32(n)), int64(pages))
		}
	}
}
