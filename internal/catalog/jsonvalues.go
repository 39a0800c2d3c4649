package catalog

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The values of a JSON document: identifiers, links, licences, texts, words and counts.

// identifier returns the global identifier of a dataset: a DOI if there is one, else another URL.
// The name of a blank node does not count. Neither does the document's own address with a fragment,
// because many pages have a "#dataset".
func (r *jsonReader) identifier(n node) string {
	var found string
	candidates := slices.Clone(r.list(n.keys["identifier"]))
	for _, name := range []string{"@id", "sameAs"} {
		candidates = append(candidates, r.list(n.keys[name])...)
	}
	for _, v := range candidates {
		s := r.text(v)
		if m, ok := r.node(v); ok {
			// PropertyValue, adms:Identifier
			if value := r.text(first(m, "value", "notation")); value != "" {
				s = value
			}
		}
		if doi := DOI(s); doi != "" {
			return doi
		}
		if found == "" {
			found = identifier(r.iri(s))
		}
	}
	return found
}

// DOI returns the address of a DOI in its canonical spelling, or "" if s is not a DOI.
func DOI(s string) string {
	s = strings.TrimSpace(s)
	lower := strings.ToLower(s)
	for _, prefix := range []string{"https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/", "doi:"} {
		lower = strings.TrimSpace(strings.TrimPrefix(lower, prefix))
	}
	if !strings.HasPrefix(lower, "10.") {
		return ""
	}
	prefix, suffix, ok := strings.Cut(lower, "/")
	if !ok || len(prefix) < 7 || suffix == "" || strings.ContainsAny(lower, " \t\"<>") {
		return ""
	}
	return "https://doi.org/" + lower
}

// link returns an address, resolved, or "" if v contains no http(s) URL.
func (r *jsonReader) link(v any) string {
	for _, e := range r.list(v) {
		s, ok := e.(string)
		if m, is := e.(map[string]any); is {
			s, ok = m["@id"].(string)
			if !ok {
				s, ok = m["@value"].(string)
			}
			if !ok {
				s, ok = m["url"].(string)
			}
		}
		if !ok {
			continue
		}
		if !r.spend(costFile + len(s)) {
			return ""
		}
		if u := resolve(r.base, r.iri(s)); u != "" {
			r.spend(len(u))
			return u
		}
	}
	return ""
}

// resolve resolves ref against base and removes the fragment. It returns "" if the result is not an
// http(s) URL.
func resolve(base *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > 2048 {
		return ""
	}
	u, err := base.Parse(strings.ReplaceAll(ref, " ", "%20"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
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
		} else if m, is := e.(map[string]any); is && m["@value"] == nil {
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
		s := ""
		switch e := e.(type) {
		case string:
			s = e
		case json.Number:
			s = e.String()
		case map[string]any:
			if v, ok := r.inLanguage(e); ok {
				if out = append(out, r.textsUpTo(v, n-len(out))...); len(out) >= n {
					return out
				}
				continue
			}
			if value, ok := e["@value"]; ok {
				if t, ok := value.(string); ok {
					s = t
				} else if t, ok := value.(json.Number); ok {
					s = t.String()
				}
			} else if m, ok := r.node(e); ok {
				s = r.plainText(first(m, "name", "title", "fn", "hasName", "label", "prefLabel"))
				if s == "" {
					s = r.plainText(m.raw["@id"])
				}
			} else {
				s = r.plainText(e["@id"])
			}
			if strings.HasPrefix(s, "_:") {
				s = "" // a name within the document
			}
		}
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

// plainText returns the first string in v.
func (r *jsonReader) plainText(v any) string {
	for _, e := range r.list(v) {
		switch e := e.(type) {
		case string:
			return e
		case map[string]any:
			if s, ok := e["@value"].(string); ok {
				return s
			}
			if v, ok := r.inLanguage(e); ok {
				return r.plainText(v)
			}
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

// words returns keywords: a list, or one text with commas.
func (r *jsonReader) words(v any) (out []string) {
	for _, s := range r.texts(v) {
		for w := range strings.SplitSeq(s, ",") {
			if w = strings.TrimSpace(w); w != "" && len(out) < maxFiles && r.spend(costText) {
				out = append(out, w)
			}
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

// count returns a number of bytes if v is only a number: "12 MB" is too imprecise.
func count(v any) *int64 { return countWithin(v, maxWalk) }

func countWithin(v any, depth int) *int64 {
	if depth == 0 {
		return nil
	}
	var s string
	switch e := v.(type) {
	case json.Number:
		s = e.String()
	case string:
		s = strings.TrimSpace(e)
		for _, unit := range []string{" B", " bytes", " Bytes", " byte"} {
			s = strings.TrimSuffix(s, unit)
		}
	case map[string]any:
		return countWithin(e["@value"], depth-1)
	case []any:
		if len(e) > 0 {
			return countWithin(e[0], depth-1)
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64) // byteSize was a decimal in an earlier DCAT
		if ferr != nil || f != float64(int64(f)) {
			return nil
		}
		n = int64(f)
	}
	if n < 0 {
		return nil
	}
	return &n
}

// digest returns s in lower case if it is n hexadecimal digits.
func digest(s string, n int) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) != n || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}
