package shapes

import "strings"

// ckan rewrites a dataset of a CKAN, which it calls a package. Its page is not derived from the
// API's address: only a page that the package itself names is used.
func ckan(m map[string]any) map[string]any {
	_, named := m["name"].(string)
	if _, lists := m["resources"].([]any); !named || !lists {
		return nil
	}
	return map[string]any{
		"identifier": doi(m["doi"]), "title": m["title"], "description": m["notes"], "version": m["version"], "landingPage": m["url"],
		"license":   license(m["license_url"], m["license_id"], m["license_title"]),
		"publisher": first(at(m, "organization.title"), at(m, "organization.name")), "creator": m["author"],
		"issued": m["metadata_created"], "modified": m["metadata_modified"],
		"keywords": each(m["tags"], func(v any) any { return first(at(v, "display_name"), at(v, "name"), text(v)) }),
		"distribution": each(m["resources"], func(v any) any {
			res := object(v)
			f := map[string]any{
				"name": res["name"], "mediaType": first(res["mimetype"], res["format"]), "byteSize": res["size"], "checksum": checksum(text(res["hash_algorithm"]), text(res["hash"])),
			}
			switch text(res["resource_type"]) {
			case "api", "documentation": // an API answers queries: there is no file to fetch
				f["accessURL"] = res["url"]
			default:
				f["downloadURL"] = res["url"]
			}
			return f
		}),
	}
}

// doi returns v if it may be a DOI. Other identifiers of an API mean nothing elsewhere.
func doi(v any) any {
	s := text(v)
	if i := strings.Index(s, "10."); i >= 0 && strings.Contains(s[i:], "/") {
		return s
	}
	return nil
}
