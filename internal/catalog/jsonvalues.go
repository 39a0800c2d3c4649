package catalog

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog/written"
)

// The values of a JSON document: identifiers, links, licences, texts, words and counts.

// SPDX returns the SPDX identifier of a licence, or "" if the licence is unknown; see written.SPDX.
func SPDX(license string) string { return written.SPDX(license) }

// Licenses are the identifiers that SPDX returns, sorted.
func Licenses() []string { return written.Licenses() }

// DOI returns the address of a DOI in its canonical spelling, or "" if s is not a DOI.
func DOI(s string) string { return written.DOI(s) }

func resolve(base *url.URL, ref string) string { return written.Resolve(base, ref) }

// identifier returns the global identifier of a dataset: a DOI if there is one, also as its url,
// else another URL. The name of a blank node does not count. Neither does the document's own
// address with a fragment, because many pages have a "#dataset".
func (r *jsonReader) identifier(n node) string {
	var found string
	for _, name := range []string{"identifier", "doi", "@id", "sameAs", "url"} {
		for _, v := range r.list(n.keys[name]) {
			for _, s := range identifiersIn(r, v) {
				if doi := DOI(s); doi != "" {
					return doi
				}
				if found == "" && name != "url" { // which is the page for people
					found = identifier(r.iri(s))
				}
			}
		}
	}
	return found
}

// identifiersIn returns the spellings of one identifier: a text, or what a node (PropertyValue,
// adms:Identifier) gives as its value, its address and its name.
func identifiersIn(r *jsonReader, v any) (all []string) {
	if m, ok := v.(map[string]any); ok {
		if n, ok := r.node(m); ok {
			for _, name := range []string{"value", "notation", "url", "@id"} {
				all = append(all, r.text(n.keys[name]))
			}
		}
	}
	return append(all, r.text(v))
}

// link returns the first address in v, resolved, or "" if v contains no http(s) URL.
func (r *jsonReader) link(v any) string {
	if all := r.linksUpTo(v, 1); len(all) > 0 {
		return all[0]
	}
	return ""
}

// linksUpTo returns up to n different addresses in v: texts, and the @id or the url of nodes.
func (r *jsonReader) linksUpTo(v any, n int) (out []string) {
	var has map[string]bool // of several
	add := func(v any) bool {
		s, ok := v.(string)
		if !ok || s == "" || s[0] == '#' || !r.spend(costFile+len(s)+len(r.d.URL)) {
			return false
		}
		u := resolve(r.base, r.iri(s))
		if u == "" || !r.spend(len(u)) {
			return false
		}
		if len(out) > 0 && has == nil {
			has = map[string]bool{out[0]: true}
		}
		if !has[u] {
			if out = append(out, u); has != nil {
				has[u] = true
			}
		}
		return true
	}
	for _, e := range r.list(v) {
		if m, is := e.(map[string]any); !is {
			add(e)
		} else if !add(m["@id"]) {
			if n, ok := r.node(m); ok {
				add(r.plainText(n.keys["url"]))
			}
		}
		if len(out) >= n || r.left < 0 {
			break
		}
	}
	return out[:min(n, len(out))]
}

// license returns the licence in v: whichever of its address and its name stands for a known
// licence, otherwise the address, or the name if there is no address. Several licences are combined
// (oneLicense).
func (r *jsonReader) license(v any) string {
	var all []string
	for _, e := range r.list(v) {
		if r.left < 0 {
			return ""
		}
		if n, ok := r.node(e); ok {
			if _, is := e.(string); is {
				e = n.raw
			}
			id := cut(r.plainText(n.raw["@id"]))
			if identifier(id) == "" {
				id = "" // a name within the document
			}
			all = append(all, knownLicense(r.text(n.keys["url"]), id, r.text(e)))
		} else if m, is := e.(map[string]any); is {
			// it refers to a node that is not in the document
			all = append(all, cut(r.plainText(m["@id"])))
		} else {
			all = append(all, r.text(e))
		}
	}
	return r.oneLicense(all)
}

// knownLicense returns the first of several names of one licence that is known, or else the first
// name.
func knownLicense(ways ...string) (first string) {
	for _, w := range ways {
		if SPDX(w) != "" {
			return w
		}
		first = cmp.Or(first, w)
	}
	return first
}

// oneLicense charges the budget for the function oneLicense and calls it.
func (r *jsonReader) oneLicense(all []string) string {
	for _, l := range all {
		if !r.spend(costText + costLicense*len(l)) {
			return ""
		}
	}
	return oneLicense(all)
}

// oneLicense combines a list of licences: the first if all are the same, else all of them. Which of
// several applies, or whether all do, is not guessed.
func oneLicense(all []string) string {
	var out []string
	for _, l := range all {
		if l != "" && !slices.ContainsFunc(out, func(o string) bool { return sameWords(o, l) || SPDX(o) != "" && SPDX(o) == SPDX(l) }) {
			out = append(out, l)
		}
		if len(out) == 20 {
			break
		}
	}
	return cut(strings.Join(out, "; "))
}

// text returns the first text of v: the text itself, or the name of a node.
func (r *jsonReader) text(v any) string {
	if all := r.textsUpTo(v, 1); len(all) > 0 {
		return all[0]
	}
	return ""
}

func (r *jsonReader) texts(v any) []string { return r.textsUpTo(v, maxFiles) }

func (r *jsonReader) textsUpTo(v any, n int) (out []string) {
	for _, e := range r.list(v) {
		s := r.textOfOne(e)
		if !r.spend(costText + len(s)) {
			return out
		}
		if s = cut(folded(s)); s != "" {
			if out = append(out, s); len(out) == n {
				return out
			}
		}
	}
	return out
}

// textOfOne returns the text of a plain value as it is written: the text itself, or the name of a
// node or else its @id. Booleans have none: false often means that there is no value.
func (r *jsonReader) textOfOne(v any) (s string) {
	switch v := v.(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	case node:
		if s = r.nameOf(v); s == "" {
			s = r.plainText(v.raw["@id"])
		}
	case map[string]any:
		if n, ok := r.node(v); ok {
			return r.textOfOne(n)
		}
		s = r.plainText(v["@id"])
	}
	if strings.HasPrefix(s, "_:") {
		return "" // a name within the document
	}
	return s
}

// nameOf returns the name of a node: of a dataset or a file, a person or an organisation, a licence
// or a keyword.
func (r *jsonReader) nameOf(n node) string {
	for _, name := range []string{"name", "title", "fn", "hasName", "label", "prefLabel"} {
		if s := r.plainText(n.keys[name]); s != "" {
			return s
		}
	}
	// of FOAF and of schema.org
	for _, names := range [][2]string{{"givenName", "familyName"}, {"firstName", "lastName"}, {"givenname", "surname"}} {
		if s := r.plainText(n.keys[names[0]]) + " " + r.plainText(n.keys[names[1]]); s != " " {
			return strings.TrimSpace(s)
		}
	}
	for _, name := range []string{"legalName", "organization-name", "value"} {
		if s := r.plainText(n.keys[name]); s != "" {
			return s
		}
	}
	return ""
}

// textOf returns the text of the first of a node's properties that has one.
func (r *jsonReader) textOf(n node, names ...string) string {
	for _, name := range names {
		if s := r.text(n.keys[name]); s != "" {
			return s
		}
	}
	return ""
}

// maxRoles is how many roles may contain one another around a person.
const maxRoles = 3

// people returns the names in the first of a node's properties that has any. A Role contains the
// person under the same property.
func (r *jsonReader) people(n node, names ...string) (out []string) {
	for _, name := range names {
		if addPeople(r, &out, n.keys[name], name, 0); len(out) > 0 {
			break
		}
	}
	return out
}

func addPeople(r *jsonReader, out *[]string, v any, name string, depth int) {
	for _, e := range r.list(v) {
		if len(*out) >= maxFiles {
			return
		}
		if n, ok := r.node(e); ok {
			if role := n.keys[name]; role != nil && depth < maxRoles && r.nameOf(n) == "" {
				addPeople(r, out, role, name, depth+1)
				continue
			}
			e = n
		}
		s := r.textOfOne(e)
		if !r.spend(costText + len(s)) {
			return
		}
		if s = cut(folded(s)); s != "" {
			*out = append(*out, s)
		}
	}
}

// plainText returns the first string or number in v.
func (r *jsonReader) plainText(v any) string {
	for _, e := range r.list(v) {
		switch e := e.(type) {
		case string:
			return e
		case json.Number:
			return e.String()
		}
	}
	return ""
}

// folded returns s with one space between words. It returns s itself if that is already so.
func folded(s string) string {
	blank := true
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' && !blank:
			blank = true
		case c <= ' ', c >= 0x80 && c <= 0x85, c == 0xA0, c >= 0xE1 && c <= 0xE3:
			// or it may be part of a space beyond ASCII
			return strings.Join(strings.Fields(s), " ")
		default:
			blank = false
		}
	}
	return strings.TrimSuffix(s, " ")
}

func cut(s string) string { return Shorten(s, maxText) }

// Shorten returns the beginning of a text, n bytes at most.
func Shorten(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}

// words returns keywords: a list, or one text with commas or, without commas, semicolons.
func (r *jsonReader) words(v any) (out []string) {
	for _, s := range r.texts(v) {
		separator := ","
		if !strings.Contains(s, separator) {
			separator = ";"
		}
		for w := range strings.SplitSeq(s, separator) {
			if w = strings.TrimSpace(w); w == "" {
				continue
			}
			if len(out) == maxFiles || !r.spend(costText) {
				return out
			}
			out = append(out, w)
		}
	}
	return out
}

// mediaType shortens the address of a type in IANA's list to the type. It shortens the address of a
// type in the European list of file types, which DCAT-AP requires, to its name there.
func mediaType(s string) string {
	for _, list := range []string{"/media-types/", "/authority/file-type/"} {
		if _, name, ok := strings.Cut(s, list); ok {
			return name
		}
	}
	return s
}
