package page

import (
	"bytes"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxMeta is the size of the largest JSON document that is published as it is. A larger one, which
// is a catalogue or the data itself, is read in parts (catalogue.go).
const maxMeta = 1 << 20

// Linked data, by its media type or the ending of its name. Such a document describes something.
const (
	typeLD = "application/ld+json"
	extLD  = ".jsonld"
)

// metaNames are the usual names of documents that describe datasets: DCAT, Frictionless, Croissant.
var metaNames = []string{"data.json", "datapackage.json", "croissant.json"}

// metaDocument reports whether an answer of this media type certainly or possibly is such a
// document. A possible one has to look like JSON. unknown: the answer has no media type.
func metaDocument(u canon.URL, kind string, unknown bool) (certain, possible bool) {
	if kind == typeLD || kind == catalog.TypeLinkset {
		return true, false
	}
	if catalog.IsCKANSearch(u.Path()) && (kind == "application/json" || unknown) {
		return !unknown, unknown
	}
	if !strings.HasSuffix(string(u), ".json") && !strings.HasSuffix(string(u), extLD) && u.Query() == "" {
		return false, false // nearly all pages
	}
	path := u.Path()
	if !strings.HasSuffix(path, extLD) && !slices.Contains(metaNames, path[strings.LastIndexByte(path, '/')+1:]) {
		return false, false
	}
	if kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json") {
		return true, false
	}
	return false, unknown || kind == answer.Text || kind == "application/octet-stream"
}

// looksLikeJSON reports whether a document begins as an object or a list.
func looksLikeJSON(first []byte) bool {
	first = bytes.TrimLeft(bytes.TrimPrefix(first, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(first) > 0 && (first[0] == '{' || first[0] == '[')
}

// typeReason returns the reason why a page of a type that is not stored is refused.
func typeReason(kind string) crawl.Reason {
	switch kind {
	case "text/turtle", "application/rdf+xml", "application/n-triples", "application/n-quads", "application/trig", "text/n3":
		return crawl.ReasonRDF
	}
	return crawl.ReasonType
}
