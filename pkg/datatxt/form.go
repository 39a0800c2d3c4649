package datatxt

import (
	"regexp"
	"strings"
)

// position is the position of the first significant line.
type position struct {
	offset int // of the line, or of the text after "---" on it
	line   int // from 1
}

// detect returns the form of a text, or "" (formats §5.2), and the position of its first
// significant line.
func detect(text string) (Form, position) {
	first, pos := firstSignificant(text)
	switch {
	case first == "":
		return "", pos
	case first == "-", strings.HasPrefix(first, "- "), strings.HasPrefix(first, "-\t"), first[0] == '[', first[0] == '{':
		return YAML, pos
	case hasAgentLine(text):
		return Records, pos
	case mappingLine.MatchString(first):
		return YAML, pos
	}
	return "", pos
}

// mappingLine matches a line such as "name: value", with the name quoted or not. A name of several
// words is more likely prose than a key.
var mappingLine = regexp.MustCompile(`^(?:"[^"]+"|'[^']+'|[A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?:[ \t]|$)`)

// firstSignificant skips blank lines, comments, directives and document markers, and returns the
// next line without surrounding blanks.
func firstSignificant(text string) (string, position) {
	offset := 0
	for n, line := range lines(text) {
		rest := line
		if isMarker(line, "---") {
			rest = line[3:]
		}
		if trimmed := strings.Trim(rest, blanks); trimmed != "" && trimmed[0] != '#' && line[0] != '%' {
			return trimmed, position{offset + len(line) - len(rest), n}
		}
		offset += len(line) + 1
		if offset < len(text) && text[offset-1] == '\r' && text[offset] == '\n' {
			offset++
		}
	}
	return "", position{}
}

// isMarker reports whether a line is a YAML document marker, "---" or "...".
func isMarker(line, marker string) bool {
	rest, ok := strings.CutPrefix(line, marker)
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// hasAgentLine reports whether any line is a user-agent line at column 0.
func hasAgentLine(text string) bool {
	const name = "user-agent"
	for _, line := range lines(text) {
		if len(line) > len(name) && lower(line[:len(name)]) == name &&
			strings.HasPrefix(strings.TrimLeft(line[len(name):], blanks), ":") {
			return true
		}
	}
	return false
}
