package catalog

import (
	"slices"
	"strings"
)

// A JSON-LD document may use any names: its context defines the meaning of each. A context inside
// the document is read. A context elsewhere is not loaded; the names of DCAT-AP 3's context that
// differ from the vocabularies are listed here.

// maxTerms is how many names the contexts of a document may define.
const maxTerms = 2000

// termsDCATAP are the names of DCAT-AP 3 that differ from those of the vocabularies.
var termsDCATAP = map[string]string{
	"accessUrl": "accessURL", "datasetDistribution": "distribution", "downloadUrl": "downloadURL", "licence": "license", "listingDate": "issued",
	"modificationDate": "modified", "otherIdentifier": "identifier", "preferredLabel": "prefLabel", "releaseDate": "issued",
}

// properties are the names that are read. They keep their usual meaning, whatever a context
// defines.
var properties = func() map[string]bool {
	all := map[string]bool{"@id": true, "@type": true, "@graph": true}
	for name := range strings.FieldsSeq(`title name description license publisher provider creator author keywords keyword issued datePublished modified
		dateModified version distribution contentUrl downloadURL accessURL encodingFormat mediaType format byteSize contentSize size unitText unitCode
		checksum checksumValue checksumAlgorithm algorithm hash digest integrity sha512 sha256 sha1 md5 identifier propertyID additionalProperty sameAs value
		notation landingPage url dataset recordSet field dataType containedIn variableMeasured label prefLabel givenName familyName firstName lastName surname
		legalName inLanguage language`) {
		all[name] = true
	}
	return all
}()

// contexts are the definitions of names in a document.
type contexts struct {
	terms    map[string]string // properties that are read, and types: their IRIs
	prefixes map[string]string // of addresses
	language string            // of texts without a language of their own
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
		if tag, ok := v["@language"].(string); ok && c.language == "" {
			c.language = tag
		}
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
		if has, twice := c.terms[name]; !twice || iri < has { // always the same of two
			c.terms[name] = iri
		}
	}
}

// rename gives the members of an object, and its types, the usual names.
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
		case to == "identifier": // of dct, and of adms
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

// called returns the usual name of a member: its own, unless a context defines another.
func (r *jsonReader) called(name string) string {
	if iri, ok := r.contexts.terms[name]; ok {
		return local(iri)
	}
	if known, ok := termsDCATAP[name]; ok {
		return known
	}
	return name
}

// iri expands the prefix of a name.
func (r *jsonReader) iri(s string) string {
	prefix, rest, ok := strings.Cut(s, ":")
	if ok && !strings.HasPrefix(rest, "//") {
		if full, ok := r.contexts.prefixes[prefix]; ok {
			return full + rest
		}
	}
	return s
}
