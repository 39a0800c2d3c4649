package shapes

import (
	"slices"
	"time"
)

// socrata rewrites a dataset of Socrata's catalogue, which has no addresses of files.
func socrata(m map[string]any) map[string]any {
	res := object(m["resource"])
	types, texts := list(res["columns_datatype"]), list(res["columns_description"])
	var columns []any
	for i, name := range list(res["columns_name"]) {
		var kind, description any
		if i < len(types) {
			kind = types[i]
		}
		if i < len(texts) {
			description = texts[i]
		}
		if c := column(name, kind, description); c != nil {
			columns = append(columns, c)
		}
	}
	return map[string]any{
		"identifier": doi(res["doi"]), "title": res["name"], "description": res["description"], "landingPage": first(m["permalink"], m["link"]),
		"publisher": res["attribution"], "license": license(nil, at(m, "metadata.license")),
		"issued": first(res["publication_date"], res["createdAt"]), "modified": first(res["data_updated_at"], res["updatedAt"]),
		"keywords":         slices.Concat(list(at(m, "classification.tags")), list(at(m, "classification.domain_tags"))),
		"variableMeasured": columns,
	}
}

// socrataView rewrites a dataset of Socrata's views. Charts and maps of it are views, too. Its
// accessPoints are the files of a dataset that is stored elsewhere.
func socrataView(m map[string]any) map[string]any {
	switch text(m["displayType"]) {
	case "chart", "calendar", "map", "form", "story", "data_lens", "measure", "visualization":
		return nil
	}
	var files []any
	points := object(at(m, "metadata.accessPoints"))
	for _, kind := range sortedKeys(points) {
		files = append(files, map[string]any{"downloadURL": points[kind], "mediaType": kind})
	}
	return map[string]any{
		"title": m["name"], "description": m["description"], "publisher": first(m["attribution"], at(m, "tableAuthor.displayName")),
		"license": license(at(m, "license.termsLink"), at(m, "license.name"), m["licenseId"]),
		"issued":  since1970(m["publicationDate"], time.Second), "modified": first(since1970(m["rowsUpdatedAt"], time.Second), since1970(m["viewLastModified"], time.Second)),
		"keywords": m["tags"], "distribution": files,
		"variableMeasured": each(m["columns"], func(v any) any { return column(at(v, "name"), at(v, "dataTypeName"), at(v, "description")) }),
	}
}
