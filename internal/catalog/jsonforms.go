package catalog

import (
	"maps"
	"slices"
	"strings"
)

// Forms of JSON-LD that do not occur in a site's own pages but in other documents, above all in the
// DCAT-AP of portals.

// maxLanguages is how many entries a language map may have; a larger object is not a language map.
const maxLanguages = 200

// inLanguage returns a value of a language map ("title": {"en": "Rain", "de": "Regen"}): the
// English one, or else that of the first tag in alphabetical order. ok is false if m is not a
// language map.
func (r *jsonReader) inLanguage(m map[string]any) (v any, ok bool) {
	if len(m) == 0 || len(m) > maxLanguages || !r.spend(costKey*len(m)) {
		return nil, false
	}
	for tag, v := range m {
		if !isLanguage(tag) || !r.allTexts(v) {
			return nil, false
		}
	}
	tags := slices.Sorted(maps.Keys(m))
	if i := slices.IndexFunc(tags, func(tag string) bool { return tag == "en" || strings.HasPrefix(tag, "en-") }); i >= 0 {
		return m[tags[i]], true
	}
	return m[tags[0]], true
}

// isLanguage reports whether a key has the form of a language tag and is not a name of the
// vocabularies.
func isLanguage(tag string) bool {
	if tag == "@none" {
		return true
	}
	primary, _, _ := strings.Cut(tag, "-")
	if len(primary) < 2 || len(primary) > 3 || strings.Trim(primary, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	return len(tag) <= 35 && tag != "fn" && tag != "url" && tag != "id"
}

func (r *jsonReader) allTexts(v any) bool {
	for _, e := range r.list(v) {
		if _, ok := e.(string); !ok {
			return false
		}
	}
	return true
}

// named returns the node of the document whose @id is this string ("distribution": "ex:2").
func (r *jsonReader) named(id string) (n node, ok bool) {
	if !strings.ContainsAny(id, ":#/") {
		return n, false
	}
	n, ok = r.byID[id]
	return n, ok
}

// access returns the address of a distribution without a download address: it leads to the data,
// but is not a file.
func (r *jsonReader) access(n node) string { return r.link(n.keys["accessURL"]) }

// follow replaces strings that name nodes of the document by those nodes.
func (r *jsonReader) follow(v any) any {
	all := r.list(v)
	if !slices.ContainsFunc(all, func(e any) bool { _, is := e.(string); return is }) {
		return v
	}
	out := make([]any, 0, len(all))
	for _, e := range all {
		if id, is := e.(string); is {
			if n, ok := r.named(id); ok {
				e = n.raw
			}
		}
		out = append(out, e)
	}
	return out
}
