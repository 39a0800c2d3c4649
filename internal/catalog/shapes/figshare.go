package shapes

// figshare rewrites an article of Figshare, if it is a dataset. In a list, an article has no files.
func figshare(m map[string]any) map[string]any {
	switch text(m["defined_type_name"]) {
	case "dataset", "fileset":
	default:
		return nil
	}
	return map[string]any{
		"identifier": doi(m["doi"]), "landingPage": first(m["url_public_html"], m["figshare_url"]), "title": m["title"], "description": m["description"],
		"version": m["version"], "license": license(at(m, "license.url"), at(m, "license.name")), "issued": m["published_date"], "modified": m["modified_date"],
		"creator": each(m["authors"], property("full_name")), "keywords": first(m["tags"], m["keywords"]),
		"distribution": each(m["files"], func(v any) any {
			file := object(v)
			f := map[string]any{"name": file["name"], "mediaType": file["mimetype"]}
			if elsewhere, _ := file["is_link_only"].(bool); elsewhere {
				// It may be a page, and its size is 0.
				f["accessURL"] = file["download_url"]
				return f
			}
			f["downloadURL"], f["byteSize"], f["md5"] = file["download_url"], file["size"], first(file["computed_md5"], file["supplied_md5"])
			return f
		}),
	}
}
