package catalog

import (
	"cmp"
	"net/url"

	"github.com/curtsy/curtsy/internal/catalog/shapes"
	"github.com/curtsy/curtsy/internal/crawl"
)

// lists are the properties of JSON-LD whose lists are divided when a long document is read in
// parts, and ways those in which a list is searched for; those of the other shapes come on top.
var (
	lists = map[string]bool{"dataset": true, "@graph": true, "itemListElement": true}
	ways  = map[string]bool{"mainEntity": true}
)

// datasets reads the datasets of a document: in the shape that it shows, or else as JSON-LD. If
// that has none, the document may be an answer with few properties. The JSON-LD of a page for
// people, which is a list, has no other shape.
func (r *jsonReader) datasets(root any) {
	if _, isList := root.([]any); r.d.Page && isList {
		r.linkedData(root)
		return
	}
	path := ""
	if u, err := url.Parse(r.d.URL); err == nil {
		path = u.Path
	}
	if s := shapes.Of(root, path); s != nil {
		r.shaped(s, root)
	}
	if len(r.claims) == 0 {
		r.linkedData(root)
	}
	for s := range shapes.Possible(root) {
		if len(r.claims) > 0 || r.left < 0 {
			return
		}
		r.shaped(s, root)
	}
}

// Whole returns the addresses of the whole descriptions of the datasets that a list at this address
// has: maxDescribed at most, on the same origin.
func Whole(body []byte, address string) (all []string) {
	base, err := url.Parse(address)
	list, isList := decoded(body).([]any)
	if err != nil || !isList {
		return nil
	}
	s := shapes.Of(list, base.Path)
	if s == nil {
		return nil
	}
	for m := range s.Datasets(list) {
		u, err := base.Parse(s.Whole(m))
		if s.Whole(m) != "" && err == nil && u.Scheme == base.Scheme && u.Host == base.Host && len(all) < maxDescribed {
			all = append(all, u.String())
		}
	}
	return all
}

// linkedData reads the datasets of a document in JSON-LD.
func (r *jsonReader) linkedData(root any) {
	r.index(root, 0)
	if crate := shapes.Crate(root); crate != nil {
		r.dataset(r.newNode(crate))
		return
	}
	r.walk(root, false, 0)
}

// shaped reads the datasets of a document of a shape.
func (r *jsonReader) shaped(s *shapes.Shape, root any) {
	defer func() { r.kind, r.name = "", "" }()
	for m := range s.Datasets(root) {
		if r.full() || !r.spend(costKeys) {
			return
		}
		switch s.Kind {
		case shapes.Package:
			r.dataPackage(m)
		case shapes.Linkset:
			r.linkContext(m)
		case shapes.Listed:
			r.listed(s.Rewritten(m))
		default:
			d := s.Rewritten(m)
			if d == nil {
				continue
			}
			if r.kind = crawl.DatasetAPI; s.Kind == shapes.CKAN {
				r.kind, r.name = crawl.DatasetCKAN, r.text(m["name"])
			}
			r.dataset(node{d, d})
			if n := len(r.claims); n > 1 && r.claims[n-1].ID != "" && r.claims[n-1].ID == r.claims[n-2].ID {
				r.claims = r.claims[:n-1] // an older version of it
			}
		}
	}
}

// listed reads a dataset of a catalogue's list. In version 1.0 of Project Open Data a dataset with
// one file has its address itself.
func (r *jsonReader) listed(m map[string]any) {
	if u := cmp.Or(m["downloadURL"], m["accessURL"]); m["@type"] == nil && m["distribution"] == nil && u != nil {
		m["distribution"] = map[string]any{"downloadURL": u, "mediaType": m["format"]}
	}
	r.index(m, 0)
	r.walk(m, true, 0)
}
