package catalog

import (
	"cmp"

	"github.com/curtsy/curtsy/internal/crawl"
)

// ckanResults returns the datasets in an answer of CKAN's API: several for package_search, one for
// package_show. It returns nil for other documents.
func ckanResults(root map[string]any) []any {
	result, ok := root["result"].(map[string]any)
	if !ok {
		return nil
	}
	if all, ok := result["results"].([]any); ok {
		return all
	}
	if isCKAN(result) {
		return []any{result}
	}
	return nil
}

func isCKAN(m map[string]any) bool {
	_, named := m["name"].(string)
	_, lists := m["resources"].([]any)
	return named && lists
}

// ckan reads the datasets of a CKAN, which it calls packages. Their pages are not derived from the
// API's address: only a page that the package itself names is used.
func (r *jsonReader) ckan(all []any) {
	for _, v := range all {
		m, ok := v.(map[string]any)
		if !ok || !isCKAN(m) || r.full() || !r.spend(costValue) {
			continue
		}
		c := r.claim(crawl.DatasetCKAN)
		c.ID = DOI(r.text(m["doi"]))
		c.Name, c.Title = r.text(m["name"]), r.text(m["title"])
		c.Description, c.Version = r.text(m["notes"]), r.text(m["version"])
		c.Page = r.link(m["url"])
		c.License = knownLicense(r.text(m["license_url"]), r.text(m["license_id"]), r.text(m["license_title"]))
		if org, ok := m["organization"].(map[string]any); ok {
			c.Publisher = cmp.Or(r.text(org["title"]), r.text(org["name"]))
		}
		c.Creators = r.texts(m["author"])
		c.Issued, c.Modified = r.text(m["metadata_created"]), r.text(m["metadata_modified"])
		for _, t := range r.list(m["tags"]) {
			if tag, ok := t.(map[string]any); ok && len(c.Keywords) < maxFiles {
				if word := cmp.Or(r.text(tag["display_name"]), r.text(tag["name"])); word != "" {
					c.Keywords = append(c.Keywords, word)
				}
			}
		}
		for _, v := range r.list(m["resources"]) {
			if f, ok := r.ckanFile(v); ok && len(c.Files) < maxFiles && r.spend(costFile) {
				c.Files = append(c.Files, f)
			}
		}
		r.add(c)
	}
}

// ckanFile reads one resource. CKAN's "hash" may begin with the name of its algorithm.
func (r *jsonReader) ckanFile(v any) (f crawl.DatasetFile, ok bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return f, false
	}
	f.URL = r.link(m["url"])
	f.Name = r.text(m["name"])
	f.MediaType = cmp.Or(r.text(m["mimetype"]), r.text(m["format"]))
	r.takeSize(&f, m["size"])
	takeDigest(&f, r.text(m["hash_algorithm"]), r.text(m["hash"]))
	// An API answers queries; there is no file to fetch.
	switch r.text(m["resource_type"]) {
	case "api", "documentation":
		f.Directory = true
	}
	return f, f.URL != ""
}
