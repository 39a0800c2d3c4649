package catalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// writeDataTxt writes a dataset in the YAML form (formats §5.4). Every text is quoted as in JSON,
// which is valid YAML. Properties for which the format has no key have keys of our own, which
// understood reads.
func writeDataTxt(w *bufio.Writer, d *crawl.DatasetInfo) {
	if len(d.URLs) == 0 {
		return // a data.txt lists files; this dataset has none
	}
	y := yamlWriter{w, "- ", map[string]bool{"path": true, "file": true}}
	y.list("path", d.URLs)
	for _, f := range []struct{ name, value string }{
		{"name", d.Name}, {"title", d.Title}, {"description", d.Description}, {"license", d.License}, {"type", d.Type}, {"source", d.Source},
		{"rows", number(d.Rows)}, {"cols", number(d.Cols)}, {"identifier", d.Identifier}, {"page", d.Page}, {"publisher", d.Publisher},
		{"version", d.Version}, {"issued", d.Issued}, {"modified", d.Modified},
	} {
		y.text(f.name, f.value)
	}
	y.list("creators", d.Creators)
	y.list("keywords", d.Keywords)
	y.columns(d.Columns)
	y.files(d.Files)
	for _, name := range slices.Sorted(maps.Keys(d.Extra)) {
		if !y.has[strings.ToLower(name)] { // otherwise a newer value was written already
			y.any(name, d.Extra[name])
		}
	}
}

// yamlWriter writes the keys of one mapping; a dash precedes the first.
type yamlWriter struct {
	w    *bufio.Writer
	lead string
	has  map[string]bool // the keys written, in lower case
}

func (y *yamlWriter) line(s string) {
	y.w.WriteString(y.lead + s + "\n")
	y.lead = strings.Repeat(" ", len(y.lead))
}

func (y *yamlWriter) key(name, v string) {
	y.has[strings.ToLower(name)] = true
	key := yamlKey(name)
	if len(key) > longKey {
		y.line("? " + key)
		key = ""
	}
	y.line(key + ":" + v)
}

func (y *yamlWriter) text(name, v string) {
	if v != "" {
		y.key(name, " "+quoted(v))
	}
}

func (y *yamlWriter) list(name string, all []string) {
	if len(all) > 0 {
		parts := make([]string, len(all))
		for i, s := range all {
			parts[i] = quoted(s)
		}
		y.key(name, " ["+strings.Join(parts, ", ")+"]")
	}
}

// sub writes one member of a list of mappings.
func (y *yamlWriter) sub(fields ...string) {
	m := yamlWriter{y.w, "    - ", map[string]bool{}}
	for i := 0; i < len(fields); i += 2 {
		m.text(fields[i], fields[i+1])
	}
}

func (y *yamlWriter) columns(all []crawl.DatasetColumn) {
	if len(all) == 0 {
		return
	}
	y.key("columns", "")
	for _, c := range all {
		y.sub("name", c.Name, "type", c.Type, "description", c.Description)
	}
}

// files writes the details of each file.
func (y *yamlWriter) files(all []crawl.DatasetFile) {
	begun := false
	for _, f := range all {
		if f == (crawl.DatasetFile{URL: f.URL}) {
			continue
		}
		if !begun {
			begun = true
			y.key("files", "")
		}
		directory := ""
		if f.Directory {
			directory = "true"
		}
		y.sub("path", f.URL, "name", f.Name, "media_type", f.MediaType, "bytes", number(f.Bytes), "sha256", f.SHA256, "sha512", f.SHA512, "sha1", f.SHA1,
			"md5", f.MD5, "directory", directory, "bytes_about", number(f.BytesAbout))
	}
}

func (y *yamlWriter) any(name string, v any) {
	if s := flow(v); s != "" {
		y.key(name, " "+s)
	}
}

// flow returns a value in YAML's flow style.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = flow(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			key := quoted(k)
			if len(key) > longKey {
				key = "? " + key
			}
			parts = append(parts, key+": "+flow(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return ""
}

// longKey is the longest key, in bytes, that is written with a colon only: YAML limits such keys to
// 1,024 characters. A longer key gets a question mark in front.
const longKey = 1000

// yamlKey returns a key, quoted unless it is safe without quotes.
func yamlKey(name string) string {
	for i, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return quoted(name)
		}
	}
	return name
}

func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(strings.ToValidUTF8(s, "\ufffd")) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
