package shapes

import (
	"net/url"
	"strings"
)

// huggingFace rewrites a dataset of the API of a Hugging Face Hub. A file's address is that under
// which the Hub serves the files of a repository, which the answer does not contain. Files that
// describe the repository are left out, and those of a dataset that is not for everybody.
func huggingFace(m map[string]any) map[string]any {
	id := text(m["id"])
	if id == "" {
		return nil
	}
	d := map[string]any{
		"title": first(at(m, "cardData.pretty_name"), id), "description": m["description"], "creator": m["author"],
		"issued": m["createdAt"], "modified": m["lastModified"], "version": m["sha"],
	}
	licenses := list(at(m, "cardData.license"))
	known := len(licenses) > 0
	var words []any
	for _, v := range list(m["tags"]) {
		switch name, value, typed := strings.Cut(text(v), ":"); {
		case name == "license" && !known:
			licenses = append(licenses, value)
		case name == "doi":
			d["identifier"] = doi(value)
		case !typed:
			words = append(words, v)
		}
	}
	d["license"], d["keywords"] = licenses, words
	if gated := m["gated"]; gated != nil && gated != false {
		return d
	}
	folder := "/datasets/" + id + "/resolve/" + text(first(m["sha"], "main")) + "/"
	d["distribution"] = each(m["siblings"], func(v any) any {
		name := text(at(v, "rfilename"))
		if name == "" || name == ".gitattributes" || name == "README.md" {
			return nil
		}
		return map[string]any{
			"downloadURL": folder + (&url.URL{Path: name}).EscapedPath(), "name": name, "byteSize": at(v, "size"), "sha256": at(v, "lfs.sha256"),
		}
	})
	return d
}
