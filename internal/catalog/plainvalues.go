package catalog

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Publishers write one value in many ways: as it is, in a list, in lists of lists, as {"@value"},
// {"@list"} or {"@set"}, in several languages. The function list is the one place that knows these
// ways. All fields of all documents are read through it.

// maxLanguages is how many entries a language map may have; a larger object is not a language map.
const maxLanguages = 200

// list returns the plain values in v: strings, json.Numbers, booleans and nodes. Of a value in
// several languages it returns those of one language: of English or no language, else of the
// document's language, else of the language that comes first. It returns at most maxFiles values,
// and none if the budget is not sufficient.
func (r *jsonReader) list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case string, json.Number, bool:
		if !r.spend(costValue) {
			return nil
		}
		return []any{v}
	case []any:
		if v = v[:min(len(v), maxFiles)]; !slices.ContainsFunc(v, isWrapper) {
			if !r.spend(costValue * len(v)) {
				return nil
			}
			return v
		}
	}
	p := plainValues{r: r}
	if p.add(v, "", 0); r.left < 0 {
		return nil
	}
	return p.inOneLanguage()
}

// isWrapper reports whether a value may have to be replaced by what it contains.
func isWrapper(v any) bool {
	switch v.(type) {
	case string, json.Number, bool:
		return false
	}
	return true
}

// plainValues collects plain values.
type plainValues struct {
	r    *jsonReader
	all  []any
	tags []string // the language of each value; nil while none has a language
}

func (p *plainValues) add(v any, tag string, depth int) {
	if depth > maxWalk || len(p.all) >= maxFiles || v == nil || !p.r.spend(costValue) {
		return
	}
	switch v := v.(type) {
	case []any:
		v = v[:min(len(v), maxFiles)]
		p.all = slices.Grow(p.all, min(len(v), maxFiles-len(p.all)))
		for _, e := range v {
			p.add(e, tag, depth+1)
		}
		return
	case map[string]any:
		if p.wrapped(v, tag, depth) {
			return
		}
	}
	p.all = append(p.all, v)
	if tag != "" && p.tags == nil {
		p.tags = make([]string, len(p.all)-1, cap(p.all))
	}
	if p.tags != nil {
		p.tags = append(p.tags, tag)
	}
}

// wrapped adds the values in an object that only contains values. It reports whether it is one.
func (p *plainValues) wrapped(m map[string]any, tag string, depth int) bool {
	if v, ok := m["@value"]; ok {
		own, _ := m["@language"].(string)
		p.add(v, cmp.Or(own, tag), depth+1)
		return true
	}
	for _, name := range []string{"@list", "@set"} {
		if v, ok := m[name]; ok {
			p.add(v, tag, depth+1)
			return true
		}
	}
	if !p.isLanguageMap(m) {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		p.add(m[name], strings.TrimPrefix(name, "@none"), depth+1)
	}
	return true
}

// inOneLanguage returns the values of the best language.
func (p *plainValues) inOneLanguage() []any {
	if p.tags == nil {
		return p.all
	}
	best, tag := 3, ""
	for _, t := range p.tags {
		if rank := p.languageRank(t); rank < best {
			best, tag = rank, t
		}
	}
	kept := p.all[:0]
	for i, v := range p.all {
		if rank := p.languageRank(p.tags[i]); rank == best && (rank < 2 || p.tags[i] == tag) {
			kept = append(kept, v)
		}
	}
	return kept
}

// languageRank orders languages, the best first. A value without a language has the document's, or
// if the document names none, any.
func (p *plainValues) languageRank(tag string) int {
	tag = cmp.Or(tag, p.r.contexts.language, "en")
	switch {
	case sameLanguage(tag, "en"):
		return 0
	case sameLanguage(tag, p.r.contexts.language):
		return 1
	}
	return 2
}

// sameLanguage reports whether two tags have the same first part.
func sameLanguage(a, b string) bool {
	return strings.EqualFold(primaryLanguage(a), primaryLanguage(b))
}

// primaryLanguage is the part of a tag before its region: "pt" of pt-BR and pt_BR.
func primaryLanguage(tag string) string {
	if i := strings.IndexAny(tag, "-_"); i >= 0 {
		tag = tag[:i]
	}
	return tag
}

// isLanguageMap reports whether m is a language map ("title": {"en": "Rain", "de": "Regen"}): its
// names are language tags and its values texts.
func (p *plainValues) isLanguageMap(m map[string]any) bool {
	if len(m) == 0 || len(m) > maxLanguages || m["@type"] != nil || m["@id"] != nil || !p.r.spend(costKey*len(m)) {
		return false
	}
	for tag, v := range m {
		if !isLanguage(tag) || !p.allTexts(v) {
			return false
		}
	}
	return true
}

// isLanguage reports whether a key has the form of a language tag and is not a name of the
// vocabularies.
func isLanguage(tag string) bool {
	if tag == "@none" {
		return true
	}
	primary := primaryLanguage(tag)
	if len(primary) < 2 || len(primary) > 3 || strings.Trim(primary, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	return len(tag) <= 35 && tag != "fn" && tag != "url" && tag != "id"
}

func (p *plainValues) allTexts(v any) bool {
	all := list(v)
	if !p.r.spend(costValue * len(all)) {
		return false
	}
	for _, e := range all {
		if _, ok := e.(string); !ok && e != nil {
			return false
		}
	}
	return true
}
