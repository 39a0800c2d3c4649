package shapes

import "strings"

// dataverse rewrites a dataset of a Dataverse's native API, of an export of it, or one of its
// versions.
func dataverse(m map[string]any) map[string]any {
	version := m
	for _, name := range []string{"latestVersion", "datasetVersion"} {
		if v := object(m[name]); v != nil {
			version = v
		}
	}
	d := map[string]any{
		"identifier": first(doi(version["datasetPersistentId"]), m["persistentUrl"]), "publisher": m["publisher"],
		"license": license(at(version, "license.uri"), at(version, "license.name"), at(version, "license.label"), text(version["license"])),
		"issued":  first(m["publicationDate"], version["publicationDate"], version["releaseTime"]), "modified": version["lastUpdateTime"],
		"version":      versionOf(version["versionNumber"], version["versionMinorNumber"]),
		"distribution": each(version["files"], dataverseFile),
	}
	for _, v := range list(at(version, "metadataBlocks.citation.fields")) {
		field := object(v)
		switch value := field["value"]; text(field["typeName"]) {
		case "title":
			d["title"] = value
		case "author":
			d["creator"] = each(value, property("authorName.value"))
		case "dsDescription":
			d["description"] = at(value, "dsDescriptionValue.value")
		case "keyword":
			d["keywords"] = each(value, property("keywordValue.value"))
		}
	}
	if first(d["title"]) == nil {
		return nil
	}
	return d
}

// versionOf returns a version of two numbers.
func versionOf(major, minor any) any {
	if text(major) == "" {
		return nil
	}
	if text(minor) == "" {
		return text(major) + ".0"
	}
	return text(major) + "." + text(minor)
}

// dataverseFile rewrites a file, unless it is not for everybody. Its address is that of Dataverse's
// access API, which the answer does not contain.
func dataverseFile(v any) any {
	m := object(v)
	data := object(m["dataFile"])
	id := text(data["id"])
	if restricted, _ := m["restricted"].(bool); restricted || id == "" || digits(id) == "" {
		return nil
	}
	sum := checksum(text(at(data, "checksum.type")), text(at(data, "checksum.value")))
	return map[string]any{
		"downloadURL": "/api/access/datafile/" + id, "name": first(m["label"], data["filename"]), "mediaType": data["contentType"],
		"byteSize": data["filesize"], "md5": data["md5"], "checksum": sum,
	}
}

// dataverseHit rewrites a dataset that a search of a Dataverse found. Files and collections are
// found, too, and are none.
func dataverseHit(m map[string]any) map[string]any {
	if !strings.EqualFold(text(m["type"]), "dataset") {
		return nil
	}
	return map[string]any{
		"identifier": first(doi(m["global_id"]), m["url"]), "title": m["name"], "description": m["description"],
		"publisher": first(m["publisher"], m["name_of_dataverse"]), "creator": m["authors"], "keywords": m["keywords"],
		"issued": m["published_at"], "modified": m["updatedAt"], "version": versionOf(m["majorVersion"], m["minorVersion"]),
	}
}
