package siterules

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/rulefile"
)

// field is a field of an entry.
type field struct {
	name     string
	line     int
	from     *source
	matches  *regexp.Regexp // cuts the value out of what was found; nil: all of it
	named    []named        // what is written instead of it; nil: itself
	kind     crawl.FieldType
	formats  []string
	many     bool
	required bool
	standard []string // the default, in canonical form
	node     *yaml.Node
}

var (
	fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	// columns are the columns and members of exports, the filters of the search, and the names that
	// sinks of a feed use. TestReservedNames compares them with those packages.
	columns = strings.Fields("alias_of aliases after before body canonical changed charset content cursor cut deleted depth description digest domain etag explain fetched fetched_at " +
		"fields found_on format history host html id in intitle inurl kept_until lang language languages last_changed length license like markdown max_snippet modified op page path per " +
		"per_site pages q query reason removed rendering robots rules sha256 shard site size snippet snippet_allowed sort source status text time title truncated type url usage vary verbatim withheld year")
	columnStarts = []string{"url_", "fetch_", "content_", "usage_", "curtsy_"}
)

// Reserved reports whether a name cannot be that of a field, because exports or the search use it.
func Reserved(name string) bool {
	return slices.Contains(columns, name) || slices.ContainsFunc(columnStarts, func(s string) bool { return strings.HasPrefix(name, s) })
}

var fieldKeys = append(slices.Clone(sourceNames), "attr", "matches", "map", "type", "format", "formats", "many", "default", "required")

// field reads a field. It returns nil after a mistake.
func (r *reader) field(name string, k, v *yaml.Node) *field {
	before := r.Count()
	switch {
	case !fieldName.MatchString(name):
		r.At(k, "%q is not a name of a field; use lower-case letters, digits and _, at most 64, for example doc_version", name)
	case Reserved(name):
		r.At(k, "the name %q is used by Curtsy itself; use for example doc_%s", name, name)
	}
	f := &field{name: name, line: k.Line, node: k}
	var formats, standard *yaml.Node
	typed := false
	if v.Kind == yaml.ScalarNode && r.Plain(v) {
		r.At(v, "field %s: write where it comes from, for example {css: %q}", name, either(v.Value, "h1"))
		return nil
	}
	r.Each(v, "field "+name, func(key string, k, v *yaml.Node) {
		if slices.Contains(sourceNames, key) {
			r.one(&f.from, key, k, v)
			return
		}
		switch key {
		case "attr", "matches", "map": // below
		case "type":
			f.kind, typed = r.fieldType(v), true
		case "format", "formats":
			formats = v
			r.List(v, key, func(layout string, n *yaml.Node) {
				if why := checkLayout(layout); why != "" {
					r.At(n, "%s %q: %s", key, layout, why)
				}
				f.formats = append(f.formats, layout)
			})
		case "many":
			f.many = r.Boolean(v, key)
		case "required":
			f.required = r.Boolean(v, key)
		case "default":
			standard = v
		default:
			r.Unknown(k, "a field", fieldKeys)
		}
	})
	if v.Kind != yaml.MappingNode || r.Count() > before {
		return nil
	}
	if f.from == nil {
		r.At(k, "field %s has no source; write one of css, xpath, meta, jsonld, url, path, header and const below it", name)
		return nil
	}
	f.matches = r.refine(f.from, v)
	if n := child(v, "map"); n != nil {
		f.named = r.named(f, n)
	}
	if formats != nil && typed && f.kind != crawl.FieldDate {
		r.At(formats, "field %s: only dates have a format; write type: date", name)
	} else if formats != nil {
		f.kind, typed = crawl.FieldDate, true
	}
	if !typed {
		f.kind = crawl.FieldKeyword
	}
	r.fixedValues(f, v, standard)
	if r.Count() > before {
		return nil
	}
	return f
}

// fixedValues checks the values of const and default, which must be of the field's type.
func (r *reader) fixedValues(f *field, v, standard *yaml.Node) {
	check := func(text string, n *yaml.Node, what string) {
		value, ok, cut := canonical(f.kind, f.formats, text)
		if !ok || cut {
			r.At(n, "%s %q of field %s is not of type %s%s", what, text, f.name, f.kind, typeHint(f.kind))
		}
		if what == "default" {
			f.standard = append(f.standard, value)
		}
	}
	if standard != nil {
		if f.required {
			r.At(standard, "field %s is required, so it cannot have a default; leave one of them out", f.name)
		}
		r.List(standard, "default", func(text string, n *yaml.Node) { check(text, n, "default") })
		if len(f.standard) > 1 && !f.many {
			r.At(standard, "field %s has several defaults; write many: true", f.name)
		}
	}
	if f.from.name == "const" {
		if n := child(v, "const"); n.Kind == yaml.SequenceNode {
			if len(n.Content) > 1 && !f.many {
				r.At(n, "field %s has several values; write many: true", f.name)
			}
			for _, c := range n.Content {
				check(c.Value, c, "value")
			}
		} else {
			check(n.Value, n, "value")
		}
	}
}

// one reads a source of which there may be only one.
func (r *reader) one(into **source, key string, k, v *yaml.Node) {
	if *into != nil {
		r.At(k, "%s: there is a source already, %s; a field has exactly one", key, (*into).name)
		return
	}
	if s := r.source(key, v); s != nil {
		*into = s
	}
}

// refine reads attr and matches, which follow a source.
func (r *reader) refine(s *source, v *yaml.Node) (re *regexp.Regexp) {
	if n := child(v, "attr"); n != nil {
		s.attr = strings.ToLower(r.Text(n, "attr"))
		if s.css == nil {
			r.At(n, "attr is only for css; in xpath write //a/@href")
		}
		for _, next := range s.next {
			next.attr = s.attr
		}
	}
	if n := child(v, "matches"); n != nil {
		if text := r.Text(n, "matches"); text != "" {
			re = r.capture(text, n, "matches", `'version (\d+)'`)
		}
	}
	return re
}

// child is the value of a key, nil if there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

var typeNames = []string{"text", "keyword", "number", "date", "boolean"}

func (r *reader) fieldType(n *yaml.Node) crawl.FieldType {
	text := r.Text(n, "type")
	if i := slices.Index(typeNames, text); i >= 0 || text == "" {
		return crawl.FieldType(max(i, 0))
	}
	r.At(n, "unknown type %q; %s", text, rulefile.Suggest(text, typeNames))
	return 0
}

func typeHint(t crawl.FieldType) string {
	switch t {
	case crawl.FieldNumber:
		return "; use for example 16.2"
	case crawl.FieldDate:
		return "; use for example 2006-01-02"
	case crawl.FieldBoolean:
		return "; use true or false"
	case crawl.FieldText:
		return ", which has at most 16 KiB"
	}
	return ", which has at most 1 KiB"
}

// read returns the values of a field on a page.
func (f *field) read(in *input) (values []string) {
	raw, _ := f.from.values(in)
	for _, v := range raw {
		parts := []string{v}
		if f.matches != nil {
			most := 1
			if f.many {
				most = maxMatches
			}
			parts = captured(f.matches, squeeze(v), most)
		}
		for _, part := range parts {
			if f.named != nil {
				part = rename(f.named, squeeze(part))
			}
			value, ok, cut := canonical(f.kind, f.formats, part)
			if !ok || slices.Contains(values, value) {
				continue
			}
			if cut {
				in.cut("field %s: a value is longer than %d bytes", f.name, most(f.kind))
			}
			if len(values) == MaxValues {
				in.cut("field %s has more than %d values", f.name, MaxValues)
				return values
			}
			if values = append(values, value); !f.many {
				return values
			}
		}
	}
	if len(values) == 0 {
		return slices.Clone(f.standard)
	}
	return values
}

func most(t crawl.FieldType) int {
	if t == crawl.FieldText {
		return MaxLongText
	}
	return MaxKeyword
}
