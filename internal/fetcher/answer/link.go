package answer

import (
	"iter"
	"net/http"
	"strings"
)

// Link is a link of a Link header field (RFC 8288). Its texts are as the site wrote them.
type Link struct{ Target, Rel, Type, Title, Anchor string }

// Relations returns the relation types of a link, in lower case.
func (l *Link) Relations() []string { return strings.Fields(strings.ToLower(l.Rel)) }

// Links returns the links of all Link fields of a header, without those that have neither a target
// nor a relation.
func Links(h http.Header) iter.Seq[*Link] {
	return func(yield func(*Link) bool) {
		for _, line := range h["Link"] {
			for l := range LinksIn(line) {
				if (l.Target != "" || l.Rel != "") && !yield(l) {
					return
				}
			}
		}
	}
}

// LinksIn returns the links of one Link field. What is no link is passed over, or comes as a link
// without a target.
func LinksIn(line string) iter.Seq[*Link] {
	return func(yield func(*Link) bool) {
		for len(line) > 0 {
			var l Link
			if l, line = nextLink(line); !yield(&l) {
				return
			}
		}
	}
}

// nextLink reads the first link of a Link field. If a parameter comes twice, the first counts
// (RFC 8288 §3.2, §3.3).
func nextLink(line string) (l Link, rest string) {
	_, line, ok := strings.Cut(line, "<")
	if !ok {
		return Link{}, ""
	}
	l.Target, line, _ = strings.Cut(line, ">")
	seen := map[string]bool{}
	for {
		line = strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(line, ";") {
			return l, strings.TrimPrefix(line, ",")
		}
		line = strings.TrimLeft(line[1:], " \t")
		end := strings.IndexAny(line, "=;,")
		if end < 0 {
			return l, ""
		}
		name := strings.ToLower(strings.TrimSpace(line[:end]))
		if line = line[end:]; line[0] != '=' {
			continue
		}
		var value string
		if line = strings.TrimLeft(line[1:], " \t"); strings.HasPrefix(line, `"`) {
			value, line = quoted(line[1:])
		} else if end = strings.IndexAny(line, ";,"); end < 0 {
			value, line = line, ""
		} else {
			value, line = line[:end], line[end:]
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "rel":
			l.Rel = value
		case "type":
			l.Type = value
		case "title":
			l.Title = value
		case "anchor":
			l.Anchor = value
		}
	}
}

// quoted reads a quoted string whose opening quote was read (RFC 9110 §5.6.4).
func quoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
