package siterules

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/crawl"
)

// condition is an element of skip.
type condition struct {
	line    int
	from    *source
	matches *regexp.Regexp
	equals  string
	text    string // for explanations
}

var conditionKeys = append(append([]string{"field"}, sourceNames[:len(sourceNames)-1]...), "attr", "equals", "matches")

// conditions reads the value of skip.
func (r *reader) conditions(v *yaml.Node) (list []*condition) {
	if v.Kind != yaml.SequenceNode {
		r.At(v, `skip: a list is expected; use for example skip: [{css: "body.error404"}]`)
		return nil
	}
	if len(v.Content) > MaxList {
		r.At(v, "skip has %d elements; at most %d are allowed", len(v.Content), MaxList)
		return nil
	}
	for _, n := range v.Content {
		if c := r.condition(n); c != nil {
			list = append(list, c)
		}
	}
	return list
}

func (r *reader) condition(v *yaml.Node) *condition {
	before := r.Count()
	c := &condition{line: v.Line}
	r.Each(v, "skip", func(key string, k, v *yaml.Node) {
		switch {
		case key == "field":
			if c.from != nil {
				r.At(k, "field: there is a source already, %s; a condition has exactly one", c.from.name)
			} else if text := r.Text(v, key); text != "" {
				c.from = &source{name: key, text: text}
			}
		case key == "equals":
			c.equals = r.Text(v, key)
		case key == "attr" || key == "matches":
		case key != "const" && slices.Contains(sourceNames, key):
			r.one(&c.from, key, k, v)
		default:
			r.Unknown(k, "a condition", conditionKeys)
		}
	})
	if v.Kind != yaml.MappingNode || r.Count() > before {
		return nil
	}
	if c.from == nil {
		r.At(v, `skip: a condition needs what it looks at; use for example {css: "body.error404"} or {meta: kind, equals: stub}`)
		return nil
	}
	c.matches = r.refine(c.from, v)
	if c.matches != nil && c.equals != "" {
		r.At(v, "skip: a condition has equals or matches, not both")
	}
	c.text = c.from.String()
	if c.matches != nil {
		c.text += " matches " + strconv.Quote(c.matches.String())
	} else if c.equals != "" {
		c.text += " equals " + strconv.Quote(c.equals)
	}
	if r.Count() > before {
		return nil
	}
	return c
}

// holds reports whether the condition is true of a page with these fields.
func (c *condition) holds(in *input, fields crawl.Fields) bool {
	var all []string
	var exists bool
	if c.from.name == "field" {
		all = fieldValues(fields, c.from.text)
		exists = len(all) > 0
	} else {
		all, exists = c.from.values(in)
	}
	if c.matches == nil && c.equals == "" {
		return exists
	}
	return slices.ContainsFunc(all, func(v string) bool {
		v = squeeze(v)
		if c.matches != nil {
			return c.matches.MatchString(v)
		}
		return v == c.equals
	})
}

func (c *condition) why(name string) string { return fmt.Sprintf("%s:%d: %s", name, c.line, c.text) }
