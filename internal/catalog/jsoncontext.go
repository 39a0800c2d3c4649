package catalog

import (
	"slices"
	"strings"
)

// A JSON-LD document may call things as it likes: its context says what it means by each name. What
// a context in the document says is read. A context that stands elsewhere is not loaded; the names
// in which that of DCAT-AP 3 departs from the vocabularies are kept here.

// maxTerms bounds the names that the contexts of a document explain.
const maxTerms = 2000

// termsDCATAP are the names of DCAT-AP 3 for what the vocabularies call otherwise.
var termsDCATAP = map[string]string{
	"accessUrl": "accessURL", "datasetDistribution": "distribution", "downloadUrl": "downloadURL", "licence": "license", "listingDate": "issued",
	"modificationDate": "modified", "otherIdentifier": "identifier", "preferredLabel": "prefLabel", "releaseDate": "issued",
}

// properties are those that are read. A name that is one of them is taken for what everybody
// means by it, whatever a context says.
var properties = func() map[string]bool {
	all := map[string]bool{"@id": true, "@type": true, "@graph": true}
	for name := range strings.FieldsSeq(`title name description license publisher provider creator author keywords keyword issued datePublished modified
		dateModified version distribution contentUrl downloadURL accessURL encodingFormat mediaType format byteSize contentSize checksum checksumValue
		algorithm sha256 md5 identifier sameAs value notation landingPage url dataset recordSet field dataType containedIn variableMeasured label prefLabel`) {
		all[name] = true
	}
	return all
}()

// contexts are what a document says of the names in it.
type contexts struct {
	terms    map[string]string // properties that are read, and types: their IRIs
	prefixes map[string]string // of addresses
}

// contextsOf reads the contexts at the top of a document.
func contextsOf(root any) (c contexts) {
	tops, ok := root.([]any)
	if !ok {
		tops = []any{root}
	}
	for _, top := range tops {
		if m, ok := top.(map[string]any); ok && m["@context"] != nil {
			c.add(m["@context"], 0)
		}
	}
	return c
}

func (c *contexts) add(v any, depth int) {
	if depth > maxWalk {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			c.add(e, depth+1)
		}
	case map[string]any:
		for name, def := range v {
			if m, ok := def.(map[string]any); ok {
				c.add(m["@context"], depth+1) // of a type
				def = m["@id"]
			}
			if iri, ok := def.(string); ok && !strings.HasPrefix(name, "@") {
				c.define(name, iri)
			}
		}
	}
}

func (c *contexts) define(name, iri string) {
	if len(c.terms)+len(c.prefixes) >= maxTerms {
		return
	}
	switch {
	case iri == "" || strings.Contains(name, ":"):
	case strings.ContainsAny(iri[len(iri)-1:], "/#?="):
		if isURL(iri) {
			if c.prefixes == nil {
				c.prefixes = map[string]string{}
			}
			c.prefixes[name] = iri
		}
	case !properties[name] && (iri[0] == '@' || strings.Contains(iri, ":")) && local(iri) != name && (properties[local(iri)] || local(iri) == "Dataset"):
		if c.terms == nil {
			c.terms = map[string]string{}
		}
		if has, twice := c.terms[name]; !twice || iri < has { // of two it is always the same
			c.terms[name] = iri
		}
	}
}

// rename gives the members of an object, and its types, the names that all documents have.
func (r *jsonReader) rename(m map[string]any) {
	var others []string
	for name := range m {
		if r.called(name) != name {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	for _, name := range others {
		if !r.spend(costKey) {
			return
		}
		to, v := r.called(name), m[name]
		switch have, twice := m[to]; {
		case !twice:
			m[to] = v
		case to == "identifier": // dct's, and adms'
			m[to] = slices.Concat(list(have), list(v))
		}
		delete(m, name)
	}
	if len(r.contexts.terms) == 0 {
		return
	}
	types := slices.Clone(list(m["@type"]))
	for i, v := range types {
		if s, ok := v.(string); ok {
			if iri := r.contexts.terms[s]; iri != "" {
				types[i] = iri
			}
		}
	}
	if len(types) > 0 && r.spend(costValue*len(types)) {
		m["@type"] = types
	}
}

// called is the name by which a member is known: its own, unless a context says otherwise.
func (r *jsonReader) called(name string) string {
	if iri, ok := r.contexts.terms[name]; ok {
		return local(iri)
	}
	if known, ok := termsDCATAP[name]; ok {
		return known
	}
	return name
}

// iri is a name with the prefix that it is written with.
func (r *jsonReader) iri(s string) string {
	prefix, rest, ok := strings.Cut(s, ":")
	if ok && !strings.HasPrefix(rest, "//") {
		if full, ok := r.contexts.prefixes[prefix]; ok {
			return full + rest
		}
	}
	return s
}
