package shapes

import (
	"net/url"
	"slices"
)

// record rewrites a record of Zenodo or of another InvenioRDM, if it is a dataset. Both write the
// same facts in different ways: Zenodo's files are a list, others an object by name. A file that
// has no link of its own is in the record's files, under its name.
func record(m map[string]any) map[string]any {
	about := object(m["metadata"])
	if text(first(at(about, "resource_type.type"), at(about, "resource_type.id"))) != "dataset" {
		return nil
	}
	return map[string]any{
		"identifier":  first(doi(at(m, "pids.doi.identifier")), doi(m["doi"]), doi(about["doi"])),
		"landingPage": first(at(m, "links.self_html"), at(m, "links.html")),
		"title":       first(about["title"], m["title"]), "description": about["description"], "version": about["version"], "publisher": about["publisher"],
		"issued": about["publication_date"], "modified": first(m["updated"], m["modified"]),
		"creator":  each(about["creators"], func(v any) any { return first(at(v, "person_or_org.name"), at(v, "name")) }),
		"keywords": slices.Concat(list(about["keywords"]), each(about["subjects"], func(v any) any { return first(at(v, "subject"), at(v, "term")) })),
		"license": each(slices.Concat(list(about["rights"]), list(about["license"])), func(v any) any {
			return license(first(at(v, "props.url"), at(v, "link")), at(v, "id"), at(v, "title"), text(v))
		}),
		"distribution": each(recordFiles(m["files"]), func(v any) any {
			f := object(v)
			u := first(at(f, "links.content"), at(f, "links.download"), at(f, "links.self"))
			if folder := text(at(m, "links.files")); u == nil && folder != "" && text(f["key"]) != "" && text(at(m, "access.files")) != "restricted" {
				u = folder + "/" + url.PathEscape(text(f["key"])) + "/content"
			}
			return map[string]any{
				"downloadURL": u, "name": first(f["key"], f["filename"]), "mediaType": first(f["mimetype"], f["type"]),
				"byteSize": first(f["size"], f["filesize"]), "checksum": checksum("", text(f["checksum"])),
			}
		}),
	}
}

// recordFiles returns the files of a record: a list, or an object with one, or with an object that
// has each under its name.
func recordFiles(v any) (all []any) {
	if m := object(v); m != nil {
		v = m["entries"]
	}
	named := object(v)
	for _, name := range sortedKeys(named) {
		all = append(all, named[name])
	}
	if named != nil {
		return all
	}
	return list(v)
}
