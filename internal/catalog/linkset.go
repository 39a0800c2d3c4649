package catalog

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/lenientjson"
)

// TypeLinkset is the media type of a set of links in JSON (RFC 9264). Sites use it for FAIR
// Signposting about all their pages.
const TypeLinkset = "application/linkset+json"

// maxDescribed is how many documents of one set of links are followed.
const maxDescribed = 1000

// linkContext reads a context of a set of links, which has the links of one address. It becomes a
// claim if one of its links declares the address as a dataset.
func (r *jsonReader) linkContext(context map[string]any) {
	if slices.ContainsFunc(r.targets(context, "type"), isDatasetType) {
		r.signposted(context)
	}
}

// target is the target of a link.
type target struct{ href, media, title string }

// targets returns the targets of one relation.
func (r *jsonReader) targets(context map[string]any, relation string) (all []target) {
	links, _ := context[relation].([]any)
	for _, v := range links {
		m, _ := v.(map[string]any)
		href, _ := m["href"].(string)
		if len(all) == maxFiles || !r.spend(costFile+len(href)+len(r.d.URL)) {
			return all
		}
		if href = resolve(r.base, href); href != "" {
			all = append(all, target{href, r.text(m["type"]), r.text(m["title"])})
		}
	}
	return all
}

func isDatasetType(t target) bool { return IsDatasetType(t.href) }

// IsDatasetType reports whether an address in a link with rel=type means datasets, in any
// vocabulary.
func IsDatasetType(address string) bool { return local(address) == "Dataset" }

// signposted makes a claim of a context: its address is the page for people, its cite-as link is
// the identifier, its items are the files.
func (r *jsonReader) signposted(context map[string]any) {
	kind := crawl.DatasetLinkset
	if r.d.Header {
		kind = crawl.DatasetHeader
	}
	c := r.claim(kind)
	anchor, _ := context["anchor"].(string)
	if anchor != "" && r.spend(len(anchor)+len(r.d.URL)) {
		c.Page = resolve(r.base, anchor)
	}
	for _, t := range r.targets(context, "cite-as") {
		if c.ID = identifier(t.href); c.ID != "" {
			break
		}
	}
	for _, t := range r.targets(context, "item") {
		c.Files = append(c.Files, crawl.DatasetFile{URL: t.href, MediaType: t.media, Name: t.title})
	}
	var licenses []string
	for _, t := range r.targets(context, "license") {
		licenses = append(licenses, t.href)
	}
	c.License = r.oneLicense(licenses)
	if len(c.Files) > 0 || c.ID != "" {
		r.add(c)
	}
}

// Described calls each for the documents that describe something according to a set of links
// (rel=describedby), with the address and the media type. at is the address of the set.
func Described(body []byte, at string, each func(u, media string)) {
	base, err := url.Parse(at)
	var set struct {
		Linkset []struct {
			Describedby []struct {
				Href string `json:"href"`
				Type string `json:"type"`
			} `json:"describedby"`
		} `json:"linkset"`
	}
	if err != nil {
		return
	}
	body, _ = lenientjson.Fix(body, isList)
	if json.Unmarshal(body, &set) != nil {
		return
	}
	n := 0
	for _, context := range set.Linkset {
		for _, t := range context.Describedby {
			if u := resolve(base, t.Href); u != "" {
				if n++; n > maxDescribed {
					return
				}
				each(u, t.Type)
			}
		}
	}
}
