package page

import (
	"bytes"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/catalog/shapes"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/rdf"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxMeta is the size of the largest JSON document that is published as it is. A larger one, which
// is a catalogue or the data itself, is read in parts (catalogue.go).
const maxMeta = 1 << 20

// Linked data, by its media type or the ending of its name. Such a document describes something.
const (
	typeLD   = "application/ld+json"
	typeJSON = "application/json"
	extLD    = ".jsonld"
)

// metaNames are the usual names of documents that describe datasets: DCAT, Frictionless, Croissant.
var metaNames = []string{"data.json", "datapackage.json", "croissant.json"}

// metaSign is what an answer needs beside its address and media type to be a document that
// describes datasets.
type metaSign int

const (
	metaNever  metaSign = iota
	metaShown           // its first bytes must show it: see shapes.Shows
	metaJSON            // its first bytes must look like JSON
	metaAlways          // nothing
)

// metaDocument returns what an answer of this media type needs to be a document that describes
// datasets. unknown: the answer has no media type.
func metaDocument(u canon.URL, kind string, unknown bool) metaSign {
	if kind == typeLD || kind == catalog.TypeLinkset || rdf.FormatOf(kind) != rdf.Unknown {
		return metaAlways
	}
	usual := usualName(u)
	switch {
	case isJSON(kind):
		if usual {
			return metaAlways
		}
		return metaShown
	case unknown || kind == answer.Text || kind == "application/octet-stream":
		if usual {
			return metaJSON
		}
	case kind != answer.HTML:
		return metaNever
	}
	if usual || unknown || jsonName(u) {
		return metaShown
	}
	return metaNever
}

// named reports whether the address and the media type alone say that an answer is such a document,
// at least if it is JSON.
func (s metaSign) named() bool { return s >= metaJSON }

// isJSON reports whether a media type is one of JSON.
func isJSON(kind string) bool {
	return kind == typeJSON || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// usualName reports whether an address ends in a name that such documents usually have.
func usualName(u canon.URL) bool {
	if !strings.HasSuffix(string(u), ".json") && !strings.HasSuffix(string(u), extLD) && u.Query() == "" {
		return false // nearly all pages
	}
	path := u.Path()
	return strings.HasSuffix(path, extLD) || slices.Contains(metaNames, path[strings.LastIndexByte(path, '/')+1:])
}

// jsonName reports whether an address is likely to be one of JSON, whatever its server calls it.
func jsonName(u canon.URL) bool {
	path := u.Path()
	return strings.HasSuffix(path, ".json") || strings.Contains(path, "/api/")
}

// looksLikeJSON reports whether a document begins as an object or a list.
func looksLikeJSON(first []byte) bool {
	first = bytes.TrimLeft(bytes.TrimPrefix(first, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(first) > 0 && (first[0] == '{' || first[0] == '[')
}

// isMeta reports whether the first bytes of an answer are those of a document that describes
// datasets. kind is its media type.
func (s metaSign) isMeta(u canon.URL, kind string, first []byte) bool {
	switch {
	case s == metaNever:
		return false
	case s == metaJSON && kind != answer.HTML && looksLikeJSON(first):
		return true
	}
	return shapes.Shows(first, u.Path())
}

// typeReason returns the reason why a page of a type that is not stored is refused.
func typeReason(kind string) crawl.Reason {
	if kind == "text/n3" {
		return crawl.ReasonRDF
	}
	return crawl.ReasonType
}
