package rulefile

import (
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document reads a file of at most limit bytes with one document of YAML, and returns the node of
// its content. It returns nil after a mistake. example is a phrase about a file that works, and one
// says what to write if there is a second document.
func (r *Reader) Document(text string, limit int, example, one string) *yaml.Node {
	if len(text) > limit {
		r.Add(1, 1, "the file has %d bytes; at most %d are allowed", len(text), limit)
		return nil
	}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(text))
	err := dec.Decode(&doc)
	switch {
	case err == io.EOF:
		r.Add(1, 1, "the file is empty; %s", example)
	case err != nil:
		line, why := yamlError(err)
		r.Add(line, 1, "this is not valid YAML: %s", why)
	case dec.Decode(&second) != io.EOF:
		r.Add(max(second.Line, 1), 1, "there is a second document in the file; %s", one)
	default:
		return doc.Content[0]
	}
	return nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlError cuts the line out of an error of the library.
func yamlError(err error) (line int, why string) {
	why, line = strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := yamlLine.FindStringSubmatchIndex(why); m != nil {
		line, _ = strconv.Atoi(why[m[2]:m[3]])
		why = why[:m[0]] + why[m[1]:]
	}
	switch {
	case strings.Contains(why, "alphabetic or numeric"):
		why += `; a name that begins with "*" needs quotes: "*.example.org":`
	case strings.Contains(why, "cannot start any token"):
		why += "; indent lines with spaces, not with tabs, and put values with special characters into quotes"
	case strings.Contains(why, "end of stream"):
		why += "; a quote or a bracket is not closed, perhaps some lines above"
	default:
		why += "; compare how far the lines are indented, and put values with : or # into quotes"
	}
	return line, why
}
