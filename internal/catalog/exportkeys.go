package catalog

import (
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/datatxt"
)

// A data.txt that Export writes has more keys than formats §5.4 lists, for statements of other
// documents about a dataset. When such a file is read, understood recognises these keys. A value in
// a different form stays among the other keys, like every key that the format does not define.

// understood reports whether a key is one of these, and sets the field of the claim.
func understood(c *crawl.DatasetClaim, base string, field datatxt.Field) bool {
	v, name := field.Value, strings.ToLower(field.Name)
	text := v.Text
	to := map[string]*string{
		"publisher": &c.Publisher, "version": &c.Version, "issued": &c.Issued, "modified": &c.Modified, "identifier": &c.ID, "page": &c.Page,
	}[name]
	lists := map[string]*[]string{"creators": &c.Creators, "keywords": &c.Keywords}[name]
	switch {
	case to != nil:
		if name == "identifier" {
			if text = identifier(text); text != v.Text && *to == "" {
				*to = text // and it stays among the other keys as it is written
			}
		} else if name == "page" {
			text = absolute(base, text)
		}
		// Otherwise Export would not write it as it is written here.
		if text == "" || text != v.Text || *to != "" {
			return false
		}
		*to = text
		return true
	case lists != nil:
		all, ok := texts(v)
		if !ok || *lists != nil {
			return false
		}
		*lists = all
		return true
	case name == "files":
		return fileDetails(c, base, v)
	}
	return false
}

// texts returns the members of a list of texts.
func texts(v datatxt.Value) (all []string, ok bool) {
	for _, e := range v.List {
		if e.List != nil || e.Map != nil || e.Text == "" {
			return nil, false
		}
		all = append(all, e.Text)
	}
	return all, len(all) > 0
}

func absolute(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return resolve(b, ref)
}

// fileDetails reads a list of mappings that describe the dataset's files. Each contains the file's
// path.
func fileDetails(c *crawl.DatasetClaim, base string, v datatxt.Value) bool {
	at := map[string]int{}
	for i := range c.Files {
		at[c.Files[i].URL] = i
	}
	files := append([]crawl.DatasetFile(nil), c.Files...)
	for _, e := range v.List {
		var f crawl.DatasetFile
		for _, field := range e.Map {
			text := field.Value.Text
			if text == "" {
				return false
			}
			switch field.Name {
			case "path":
				f.URL = absolute(base, text)
			case "name":
				f.Name = text
			case "media_type":
				f.MediaType = text
			case "bytes":
				if f.Bytes = count(text); f.Bytes == nil {
					return false
				}
			case "bytes_about":
				if f.BytesAbout = count(text); f.BytesAbout == nil {
					return false
				}
			case "sha256":
				if f.SHA256 = digest(text, 64); f.SHA256 != text {
					return false
				}
			case "sha512":
				if f.SHA512 = digest(text, 128); f.SHA512 != text {
					return false
				}
			case "sha1":
				if f.SHA1 = digest(text, 40); f.SHA1 != text {
					return false
				}
			case "md5":
				if f.MD5 = digest(text, 32); f.MD5 != text {
					return false
				}
			case "directory":
				if f.Directory = text == "true"; !f.Directory {
					return false
				}
			default:
				return false
			}
		}
		i, ok := at[f.URL]
		if !ok {
			return false
		}
		files[i] = f
	}
	if len(v.List) == 0 {
		return false
	}
	c.Files = files
	return true
}

// identifier returns s if it is a global identifier: the address of a DOI, in its canonical
// spelling, or another URL without a fragment. Otherwise it returns "".
func identifier(s string) string {
	if doi := DOI(s); doi != "" {
		return doi
	}
	if !isURL(s) || strings.Contains(s, "#") {
		return ""
	}
	return s
}

// isURL reports whether all of s is an http or https URL that needs no encoding.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(s, " \t\r\n<>\"{}|\\^`")
}
