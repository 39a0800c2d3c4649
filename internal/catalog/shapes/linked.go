package shapes

import "strings"

// vocabularies are what the beginning of a JSON-LD document may have in its context, its types or
// its names if it describes datasets. Those that describe other things, too, need a type.
var vocabularies = []string{"http://www.w3.org/ns/dcat#", "https://www.w3.org/ns/dcat#", "project-open-data.cio.gov/", "mlcommons.org/croissant", "w3id.org/ro/crate", "/dcat-ap", "/dcat-us"}

// datasetTypes are the local names of types that datasets and catalogues have.
var datasetTypes = map[string]bool{"Dataset": true, "DataCatalog": true, "Catalog": true, "CatalogRecord": true, "DataDownload": true, "DatasetSeries": true}

// showsLD reports whether the beginning of a document shows that it is JSON-LD about datasets: a
// vocabulary of datasets with a graph, a type or a list of it, or a type of a vocabulary that has
// others, too.
func showsLD(root any, path string, cut bool) bool {
	l := ldLook{}
	l.at(root, 0)
	if l.typed || l.listed {
		return l.context && l.typed || l.vocabulary || l.absolute
	}
	// Types may come later, behind a long description or other nodes of a graph.
	return cut && (l.vocabulary || l.graph && strings.HasSuffix(path, "ro-crate-metadata.json"))
}

// ldLook is what is found in the beginning of a document.
type ldLook struct {
	context    bool // it has a @context of schema.org or DCAT
	vocabulary bool // of datasets
	graph      bool
	typed      bool // something has a type of datasets
	listed     bool // it has a list called dataset
	absolute   bool // that type is an absolute IRI
}

func (l *ldLook) at(v any, depth int) {
	if depth > maxSketch {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			l.at(e, depth+1)
		}
	case map[string]any:
		if c, ok := v["@context"]; ok {
			l.contextAt(c, 0)
		}
		if c, ok := v["conformsTo"]; ok {
			l.contextAt(c, 0)
		}
		for _, t := range list(v["@type"]) {
			s, _ := t.(string)
			if datasetTypes[local(s)] {
				l.typed = true
				l.absolute = l.absolute || strings.HasPrefix(s, "dcat:") || strings.Contains(s, "/ns/dcat#") || strings.Contains(s, "schema.org/")
			}
		}
		if g, ok := v["@graph"]; ok {
			l.graph = true
			l.at(g, depth+1)
		}
		for name, e := range v {
			if name = local(name); name == "@context" || name == "@graph" {
				continue
			}
			l.listed = l.listed || name == "dataset"
			if name == "dataset" || name == "mainEntity" || name == "itemListElement" || name == "item" {
				l.at(e, depth+1)
			}
		}
	}
}

// contextAt looks for vocabularies in a context.
func (l *ldLook) contextAt(v any, depth int) {
	if depth > maxSketch {
		return
	}
	switch v := v.(type) {
	case string:
		v = strings.ToLower(v)
		l.context = l.context || strings.Contains(v, "schema.org")
		for _, known := range vocabularies {
			l.vocabulary = l.vocabulary || strings.Contains(v, known)
		}
	case []any:
		for _, e := range v {
			l.contextAt(e, depth+1)
		}
	case map[string]any:
		for _, e := range v {
			l.contextAt(e, depth+1)
		}
	}
}

// local returns what stands behind the prefix of a name.
func local(name string) string {
	if i := strings.LastIndexAny(name, ":/#"); i >= 0 && !strings.HasPrefix(name, "@") {
		return name[i+1:]
	}
	return name
}
