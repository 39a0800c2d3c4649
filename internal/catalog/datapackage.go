package catalog

import (
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// dataPackage reads a datapackage.json (Data Package 1 and 2).
func (r *jsonReader) dataPackage(m map[string]any) {
	c := r.claim(crawl.DatasetDataPackage)
	c.ID = DOI(r.text(m["id"]))
	c.Name, c.Title = r.text(m["name"]), r.text(m["title"])
	c.Description, c.Version = r.text(m["description"]), r.text(m["version"])
	c.Page = r.link(m["homepage"])
	c.Issued = r.text(m["created"])
	c.Keywords = r.words(m["keywords"])
	c.License = packageLicense(r, m["licenses"])
	if c.License == "" {
		c.License = packageLicense(r, m["license"])
	}
	for _, v := range r.list(m["contributors"]) {
		person, ok := v.(map[string]any)
		if !ok {
			continue
		}
		role := strings.ToLower(r.text(person["role"]) + " " + strings.Join(r.texts(person["roles"]), " "))
		switch name := r.text(person); {
		case name == "":
		case strings.Contains(role, "publisher"):
			c.Publisher = name
		case strings.TrimSpace(role) == "" || strings.Contains(role, "author") || strings.Contains(role, "creator"):
			c.Creators = append(c.Creators, name)
		}
	}
	for _, v := range r.list(m["resources"]) {
		if res, ok := v.(map[string]any); ok {
			r.resource(&c, res)
		}
	}
	if len(c.Files) > 0 || c.Title != "" {
		r.add(c)
	}
}

func packageLicense(r *jsonReader, v any) string {
	var all []string
	for _, e := range r.list(v) {
		if l, ok := e.(map[string]any); ok {
			all = append(all, knownLicense(r.text(l["name"]), r.text(l["path"]), r.text(l["url"]), r.text(l["title"])))
		} else {
			all = append(all, r.text(e))
		}
	}
	return r.oneLicense(all)
}

// resource adds the files of a resource. A digest and a size count only if there is exactly one
// file.
func (r *jsonReader) resource(c *crawl.DatasetClaim, res map[string]any) {
	n := node{res, res}
	paths := r.linksUpTo(first(n, "path", "url"), maxFiles)
	f := crawl.DatasetFile{Name: r.text(res["name"]), MediaType: r.textOf(n, "mediatype", "format")}
	if len(paths) == 1 {
		r.takeSize(&f, res["bytes"])
		takeDigest(&f, "md5", r.text(res["hash"])) // which it is unless the text names another
	}
	r.addFiles(c, f, paths)
	schema, ok := res["schema"].(map[string]any)
	if !ok || len(c.Columns) > 0 {
		return // only the columns of the first table are shown
	}
	for _, v := range r.list(schema["fields"]) {
		if f, ok := v.(map[string]any); ok {
			if name := r.text(f["name"]); name != "" && r.spend(costColumn) {
				c.Columns = append(c.Columns, crawl.DatasetColumn{Name: name, Type: r.text(f["type"]), Description: r.text(f["description"])})
			}
		}
	}
}
