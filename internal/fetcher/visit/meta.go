package visit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxMeta is the largest JSON document that is handed over as it is. A larger one, which is a
// catalogue or the data itself, is read in parts: see catalogue.go.
const maxMeta = 1 << 20

// Linked data: whoever names it so, by its type or in its name, means it to be
// read for what it tells.
const (
	typeLD = "application/ld+json"
	extLD  = ".jsonld"
)

// metaNames are the names under which sites keep documents that tell of datasets: DCAT,
// Frictionless, Croissant.
var metaNames = []string{"data.json", "datapackage.json", "croissant.json"}

// metaDocument reports whether an answer of this media type, or of none, certainly or possibly is
// such a document. A possible one has to look like JSON.
func metaDocument(u canon.URL, kind string, untold bool) (certain, possible bool) {
	if kind == typeLD || kind == catalog.TypeLinkset {
		return true, false
	}
	if catalog.IsCKANSearch(u.Path()) && (kind == "application/json" || untold) {
		return !untold, untold
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
	return false, untold || kind == typeText || kind == "application/octet-stream"
}

// looksLikeJSON reports whether a document begins as an object or a list.
func looksLikeJSON(first []byte) bool {
	first = bytes.TrimLeft(bytes.TrimPrefix(first, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(first) > 0 && (first[0] == '{' || first[0] == '[')
}

// typeReason is why a document of a type is not kept that is none of those that are.
func typeReason(kind string) crawl.Reason {
	switch kind {
	case "text/turtle", "application/rdf+xml", "application/n-triples", "application/n-quads", "application/trig", "text/n3":
		return crawl.ReasonRDF
	}
	return crawl.ReasonType
}
