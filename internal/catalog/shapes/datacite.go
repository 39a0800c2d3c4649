package shapes

import "strings"

// datacite rewrites the metadata of a DOI as DataCite writes it: an object of its API, or the
// document that repositories export.
func datacite(m map[string]any) map[string]any {
	if about := object(m["attributes"]); about != nil {
		m = about
	}
	if !strings.EqualFold(text(at(m, "types.resourceTypeGeneral")), "Dataset") {
		return nil
	}
	d := map[string]any{
		"identifier": first(doi(m["doi"]), doi(m["id"])), "landingPage": m["url"], "title": at(m, "titles.title"), "version": m["version"],
		"publisher": first(at(m, "publisher.name"), text(m["publisher"])), "creator": each(m["creators"], property("name")),
		"keywords": each(m["subjects"], property("subject")), "issued": m["publicationYear"],
		"license": each(m["rightsList"], func(v any) any { return license(at(v, "rightsUri"), at(v, "rightsIdentifier"), at(v, "rights")) }),
	}
	for _, v := range list(m["descriptions"]) {
		if kind := text(at(v, "descriptionType")); d["description"] == nil || kind == "Abstract" {
			d["description"] = at(v, "description")
		}
	}
	for _, v := range list(m["dates"]) {
		switch date := at(v, "date"); text(at(v, "dateType")) {
		case "Issued":
			d["issued"] = date
		case "Available":
			if len(text(d["issued"])) <= len("2006") { // only the year is known so far
				d["issued"] = date
			}
		case "Updated":
			d["modified"] = date
		}
	}
	d["distribution"] = each(m["contentUrl"], func(v any) any { return map[string]any{"downloadURL": v} })
	return d
}
