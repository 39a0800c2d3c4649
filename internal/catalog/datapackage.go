package catalog

import (
	"cmp"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// isPackage reports whether a JSON document is a Frictionless data package: it has resources with a
// path or data.
func isPackage(m map[string]any) bool {
	for _, v := range list(m["resources"]) {
		if res, ok := v.(map[string]any); ok && (res["path"] != nil || res["data"] != nil || res["url"] != nil) {
			return true
		}
	}
	return false
}

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
		switch name := r.text(person["title"]); {
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
	paths := r.list(res["path"])
	if len(paths) == 0 {
		paths = r.list(res["url"])
	}
	for _, p := range paths {
		s, ok := p.(string)
		if !ok || len(c.Files) >= maxFiles {
			continue
		}
		if !r.spend(costFile + len(s) + len(r.d.URL)) {
			return
		}
		f := crawl.DatasetFile{URL: resolve(r.base, s), Name: r.text(res["name"]), MediaType: r.text(res["mediatype"])}
		if f.URL == "" {
			continue
		}
		if f.MediaType == "" {
			f.MediaType = r.text(res["format"])
		}
		if len(paths) == 1 {
			f.Bytes = count(res["bytes"])
			packageHash(&f, r.text(res["hash"]))
		}
		c.Files = append(c.Files, f)
	}
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

// packageHash reads a digest such as "sha256:…". A digest without an algorithm is MD5.
func packageHash(f *crawl.DatasetFile, s string) {
	algorithm, value, ok := strings.Cut(s, ":")
	if !ok {
		algorithm, value = "md5", s
	}
	takeDigest(f, algorithm, value)
}

// takeDigest stores a digest under its algorithm, whose name may have several forms: "SHA-256",
// spdx:checksumAlgorithm_sha256. A digest of an unsupported algorithm is left out.
func takeDigest(f *crawl.DatasetFile, algorithm, value string) {
	for _, d := range []struct {
		name string
		size int // digits
		to   *string
	}{{"sha512", 128, &f.SHA512}, {"sha256", 64, &f.SHA256}, {"sha1", 40, &f.SHA1}, {"md5", 32, &f.MD5}} {
		if len(value) < 2*d.size && isAlgorithm(algorithm, d.name) {
			*d.to = cmp.Or(digest(value, d.size), *d.to)
		}
	}
}

// isAlgorithm reports whether a text ends with the name of an algorithm, ignoring hyphens and
// underscores in it.
func isAlgorithm(s, name string) bool {
	for ; name != ""; s = s[:len(s)-1] {
		switch n := len(s); {
		case n == 0:
			return false
		case s[n-1] == '-' || s[n-1] == '_':
		case s[n-1]|0x20 == name[len(name)-1]|0x20:
			name = name[:len(name)-1]
		default:
			return false
		}
	}
	return true
}
