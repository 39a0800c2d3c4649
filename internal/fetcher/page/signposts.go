package page

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/rdf"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxSignposts bounds the documents that the header of one page leads to.
const maxSignposts = 20

// signposts returns the documents that describe what a page is about, from its Link fields (FAIR
// Signposting; RFC 8288): those with rel=describedby whose type or name says that they are JSON-LD,
// and sets of links in JSON (rel=linkset; RFC 9264), which say what else belongs to it. Other types
// cannot be read.
func signposts(h http.Header, at canon.URL) (links []canon.URL) {
	base := canon.NewBase(at)
	for l := range answer.Links(h) {
		if len(links) >= maxSignposts {
			break
		}
		u, err := base.Join(l.Target)
		if err != nil || l.Target == "" {
			continue
		}
		media, rels := answer.MediaType(l.Type), l.Relations()
		inRDF := rdf.FormatOf(media) != rdf.Unknown // sites that have it usually have JSON-LD, too
		wanted := slices.Contains(rels, "describedby") && metaDocument(u, media, l.Type == "").named() && !inRDF ||
			slices.Contains(rels, "linkset") && media == catalog.TypeLinkset
		if wanted && !slices.Contains(links, u) {
			links = append(links, u)
		}
	}
	return links
}

// signs are the relations of links in a header that describe the dataset that a page is about.
var signs = []string{"type", "cite-as", "license", "item"}

// signposted returns what a page's Link fields say about the dataset that the page is about, as a
// set of links in JSON. It is nil if they say nothing, or more than a page may have; sites that
// have more to say use a set of links (rel=linkset). A link with another anchor is not about the
// page.
func signposted(h http.Header, at canon.URL) []byte {
	type target struct {
		Href  string `json:"href"`
		Type  string `json:"type,omitempty"`
		Title string `json:"title,omitempty"`
	}
	stated, isDataset := map[string][]target{}, false
	for l := range answer.Links(h) {
		if l.Target == "" || l.Anchor != "" && !isPage(l.Anchor, at) {
			continue
		}
		for _, rel := range l.Relations() {
			if slices.Contains(signs, rel) {
				stated[rel] = append(stated[rel], target{l.Target, l.Type, l.Title})
				isDataset = isDataset || rel == "type" && catalog.IsDatasetType(l.Target)
			}
		}
	}
	if !isDataset || len(stated["item"])+len(stated["cite-as"]) == 0 {
		return nil
	}
	context := map[string]any{"anchor": at}
	for rel, targets := range stated {
		context[rel] = targets
	}
	set, err := json.Marshal(map[string]any{"linkset": []any{context}})
	if err != nil || len(set) > crawl.MaxSignposts {
		return nil
	}
	return set
}

// isPage reports whether an anchor is the page itself, and not a part of it.
func isPage(anchor string, at canon.URL) bool {
	u, err := canon.NewBase(at).Join(anchor)
	return err == nil && u == at && !strings.Contains(anchor, "#")
}
