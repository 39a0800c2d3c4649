package siterules

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/lenientjson"
)

// jsonPath is a path to values of JSON-LD.
type jsonPath struct {
	text  string
	kind  string // only in objects of this @type, at the top; empty: any
	steps []jsonStep
}

// jsonStep is a member of an object, or an element of an array.
type jsonStep struct {
	name  string
	index int // -1: a member
}

// jsonPath compiles a path such as "author.name", "@graph[0].name" or "Article:author.name". It
// returns nil after a mistake.
func (r *reader) jsonPath(text string, n *yaml.Node, what string) *jsonPath {
	const works = "use for example author.name, or Article:author.name for the type Article only"
	p := &jsonPath{text: text}
	rest, at := text, 0
	if kind, after, ok := strings.Cut(text, ":"); ok && !strings.ContainsAny(kind, ".[") {
		if kind == "" || after == "" {
			r.At(n, "%s %q: a type and a path are expected around the colon; %s", what, text, works)
			return nil
		}
		p.kind, rest, at = kind, after, len(kind)+1
	}
	bad := func(why string) *jsonPath {
		r.Within(n, at, "%s %q: %s; %s", what, text, why, works)
		return nil
	}
	if strings.HasPrefix(rest, "$") {
		return bad("a path begins with a name, not with $")
	}
	for first := true; rest != ""; first = false {
		if rest[0] == '[' {
			digits, after, ok := strings.Cut(rest[1:], "]")
			i, err := strconv.Atoi(digits)
			switch {
			case !ok:
				return bad("a ] is missing")
			case digits == "*": // arrays are walked anyway
			case err != nil || i < 0:
				return bad("a number such as [0] is expected in brackets")
			default:
				p.steps = append(p.steps, jsonStep{index: i})
			}
			at, rest = at+len(digits)+2, after
			continue
		}
		if !first {
			if rest[0] != '.' {
				return bad("a dot is expected here")
			}
			rest, at = rest[1:], at+1
		}
		end := strings.IndexAny(rest, ".[]")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return bad("a name is missing here")
		}
		p.steps = append(p.steps, jsonStep{rest[:end], -1})
		rest, at = rest[end:], at+end
	}
	if len(p.steps) == 0 {
		return bad("a name is missing")
	}
	return p
}

// jsonLD reads the JSON-LD of a page, once.
func (p *page) jsonLD(w *work) []any {
	if p.read {
		return p.data
	}
	p.read = true
	left := maxJSONLD
	for n := range p.root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "script" || n.FirstChild == nil {
			continue
		}
		kind, _, _ := strings.Cut(attribute(n, "type"), ";")
		if !strings.EqualFold(strings.TrimSpace(kind), "application/ld+json") {
			continue
		}
		text := n.FirstChild.Data
		if left -= len(text); left < 0 {
			w.cut = append(w.cut, "the page has more than 1 MiB of JSON-LD")
			break
		}
		if v, ok := readJSON([]byte(text)); ok {
			p.data = append(p.data, v)
		}
	}
	return p.data
}

func readJSON(text []byte) (v any, ok bool) {
	fixed, _ := lenientjson.Fix(text, func([]byte) bool { return false })
	if fixed == nil {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(fixed, []byte("\ufeff"))))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// values returns the values at the path in all JSON-LD of a page.
func (j *jsonPath) values(p *page, w *work) (all []string) {
	c := collector{left: maxVisits}
	for _, v := range p.jsonLD(w) {
		j.top(v, &c, 0)
	}
	if c.left < 0 {
		w.cut = append(w.cut, "jsonld "+strconv.Quote(j.text)+" passes too many values")
	}
	return c.all
}

type collector struct {
	all  []string
	left int
}

// top looks for the object in which a path begins: also in arrays and in @graph.
func (j *jsonPath) top(v any, c *collector, depth int) {
	if c.left--; c.left < 0 || depth > 8 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			j.top(e, c, depth+1)
		}
	case map[string]any:
		if j.kind == "" || isType(v["@type"], j.kind) {
			j.walk(v, 0, c)
		}
		if graph, ok := v["@graph"]; ok && j.steps[0].name != "@graph" {
			j.top(graph, c, depth+1)
		}
	}
}

func isType(v any, kind string) bool {
	switch v := v.(type) {
	case string:
		return v == kind || strings.HasSuffix(v, "/"+kind) || strings.HasSuffix(v, ":"+kind)
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok && isType(s, kind) {
				return true
			}
		}
	}
	return false
}

func (j *jsonPath) walk(v any, i int, c *collector) {
	if c.left--; c.left < 0 || len(c.all) >= maxMatches {
		return
	}
	if list, ok := v.([]any); ok {
		if i < len(j.steps) && j.steps[i].index >= 0 {
			if n := j.steps[i].index; n < len(list) {
				j.walk(list[n], i+1, c)
			}
			return
		}
		for _, e := range list {
			j.walk(e, i, c)
		}
		return
	}
	if i == len(j.steps) {
		if s := scalar(v, 0); s != "" {
			c.all = append(c.all, s)
		}
		return
	}
	switch {
	case j.steps[i].index == 0:
		j.walk(v, i+1, c) // in JSON-LD a list of one value needs no brackets
	case j.steps[i].index > 0:
	default:
		if m, ok := v.(map[string]any); ok {
			if next, ok := m[j.steps[i].name]; ok {
				j.walk(next, i+1, c)
			}
		}
	}
}

// scalar is a value as text. Of an object it is what names it.
func scalar(v any, depth int) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case map[string]any:
		for _, name := range []string{"@value", "name", "@id"} {
			if s := scalar(v[name], depth+1); s != "" && depth < 3 {
				return s
			}
		}
	}
	return ""
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
