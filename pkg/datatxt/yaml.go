package datatxt

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// parseYAML parses the first document of a YAML file, from its first significant line on (formats
// §5.4).
func (f *File) parseYAML(text string, start position) error {
	doc := firstDocument(text[start.offset:])
	for n, line := range lines(doc) {
		if line != valid(line) {
			f.diagnose(start.line-1+n, "bytes that are not UTF-8")
		}
	}
	root, err := readTree(shield(valid(doc)), start.line-1)
	if err != nil {
		return err
	}
	y := yamlReader{file: f, shift: start.line - 1}
	if err := y.check(root, 1); err != nil {
		return err
	}
	entries := []*yaml.Node{root}
	if root.Kind == yaml.SequenceNode {
		entries = root.Content
	}
	if len(entries) > MaxEntries {
		return &Error{Err: ErrLimit, Line: y.line(root), Detail: fmt.Sprintf("more than %d entries", MaxEntries)}
	}
	seen := newSeen(f)
	for _, entry := range entries {
		if d, ok := y.entry(entry); ok && seen.add(&d) {
			f.Datasets = append(f.Datasets, d)
		}
	}
	return nil
}

// firstDocument cuts a text at the end of its first document. Otherwise the reader would read one
// token further and refuse the file for an error in a second document.
func firstDocument(text string) string {
	rest := text
	for more := true; more; {
		at := len(text) - len(rest)
		var line string
		line, rest, more = cutLine(rest)
		if isMarker(line, "---") || isMarker(line, "...") {
			return text[:at]
		}
	}
	return text
}

// yamlReader converts nodes to datasets.
type yamlReader struct {
	file  *File
	shift int // number that is added to a node's line
}

func (y yamlReader) line(n *yaml.Node) int { return n.Line + y.shift }

// check refuses anchors, aliases, merge keys and nesting that is too deep, before other code reads
// the tree.
func (y yamlReader) check(n *yaml.Node, depth int) error {
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return &Error{Err: ErrAnchor, Line: y.line(n)}
	}
	if n.Kind == yaml.ScalarNode {
		return nil
	}
	if depth > MaxDepth {
		return &Error{Err: ErrLimit, Line: y.line(n), Detail: fmt.Sprintf("nested deeper than %d", MaxDepth)}
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Kind == yaml.ScalarNode && c.Tag == "!!merge" {
			return &Error{Err: ErrAnchor, Line: y.line(c)}
		}
		if err := y.check(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// entry makes a dataset of one entry of the list, which must be a mapping with a path, or with a
// file as in the manifests of pins.
func (y yamlReader) entry(n *yaml.Node) (Dataset, bool) {
	f := y.file
	if n.Kind != yaml.MappingNode {
		f.diagnose(y.line(n), "an entry is not a mapping")
		return Dataset{}, false
	}
	fields := slices.DeleteFunc(y.fields(n), func(f Field) bool { return f.Value.absent() })
	at := indexField(fields, "path")
	if at < 0 {
		at = indexField(fields, "file")
	}
	if at < 0 {
		f.diagnose(y.line(n), "an entry has no path")
		return Dataset{}, false
	}
	d := f.newDataset(y.line(n))
	y.locate(&d, fields[at])
	if len(d.URLs) == 0 {
		return Dataset{}, false
	}
	var rest []Field
	for i, field := range fields {
		switch {
		case i == at:
		case lower(field.Name) == lower(fields[at].Name):
			f.diagnose(field.Line, "%s is given twice; the first one is used", field.Name)
		default:
			rest = append(rest, field)
		}
	}
	f.describe(&d, rest)
	return d, true
}

// locate adds the URLs of a path, which is a text or a list of texts.
func (y yamlReader) locate(d *Dataset, field Field) {
	f := y.file
	paths := field.Value.List
	if paths == nil {
		paths = []Value{field.Value}
	}
	have := map[string]bool{}
	for _, p := range paths {
		if p.List != nil || p.Map != nil {
			f.diagnose(field.Line, "%s is neither text nor a list of texts", field.Name)
			continue
		}
		u, problem := f.resolve(p.Text)
		if problem != "" {
			f.diagnose(field.Line, "%s %q: %s", field.Name, p.Text, problem)
			continue
		}
		if text := u.String(); !have[text] {
			if f.urls++; f.urls > maxURLs {
				f.diagnose(field.Line, "more than %d paths", maxURLs)
				return
			}
			have[text] = true
			f.addURL(d, u, text)
		}
	}
	if len(paths) == 0 {
		f.diagnose(field.Line, "%s is empty", field.Name)
	}
}

// indexField finds a key in any case.
func indexField(fields []Field, name string) int {
	for i := range fields {
		if lower(fields[i].Name) == name {
			return i
		}
	}
	return -1
}

// fields returns the keys of a mapping in order. Keys that are not text are left out.
func (y yamlReader) fields(n *yaml.Node) []Field {
	var fields []Field
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			y.file.diagnose(y.line(key), "a key is not text")
			continue
		}
		fields = append(fields, Field{Name: unshield(key.Value), Value: y.value(val), Line: y.line(key)})
	}
	return fields
}

// value copies a node. Scalars are text, whatever their tag; plain ones without a tag that YAML
// reads as null are absent.
func (y yamlReader) value(n *yaml.Node) Value {
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]Value, 0, len(n.Content))
		for _, c := range n.Content {
			list = append(list, y.value(c))
		}
		return Value{List: list}
	case yaml.MappingNode:
		fields := y.fields(n)
		if fields == nil {
			fields = []Field{}
		}
		return Value{Map: fields}
	}
	if n.Style == 0 && n.Tag == "!!null" {
		return Value{}
	}
	return Value{Text: unshield(n.Value)}
}
