package robots

import (
	"strings"
	"unicode/utf8"
)

// maxCleanParam is how long a Clean-param line may be, in characters, comment and outer blanks not counted (§1.5).
const maxCleanParam = 500

// CleanParam is one Clean-param line: on URLs whose path matches Prefix, the query parameters Params do not change the
// page, so that URLs differing in them only are one (§1.5; Yandex).
type CleanParam struct {
	Params []string // names as written, case-sensitive
	Prefix string   // start of the path, "*" for any octets; "" for all paths
	Line   int
}

func (p *parser) cleanParam(value string) {
	names, rest := cutWord(value)
	prefix, extra := cutWord(rest)
	switch {
	case utf8.RuneCountInString(p.text) > maxCleanParam:
		p.odd("Clean-param line longer than 500 characters: skipped")
		return
	case extra != "":
		p.odd("Clean-param with more than parameters and a path: skipped")
		return
	case prefix != "" && !isCleanPrefix(prefix):
		p.odd("Clean-param with a path that is none, or has other characters than A-Z a-z 0-9 . - / * _: skipped")
		return
	}
	var params []string
	for _, name := range strings.Split(names, "&") {
		if name != "" {
			params = append(params, name)
		}
	}
	if params == nil {
		p.odd("Clean-param without parameters: skipped")
		return
	}
	p.file.CleanParams = append(p.file.CleanParams, CleanParam{Params: params, Prefix: prefix, Line: p.line})
}

func isCleanPrefix(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte(".-/*_", c) < 0 {
			return false
		}
	}
	return s[0] == '/' || s[0] == '*'
}

// indexCleanParams turns the lines round, so that CleanURL looks only at what concerns the parameters a URL has.
func (f *File) indexCleanParams() {
	if len(f.CleanParams) == 0 {
		return
	}
	f.clean = make(map[string][]string)
	for _, line := range f.CleanParams {
		for _, name := range line.Params {
			name = normalize(name, false)
			f.clean[name] = append(f.clean[name], line.Prefix)
		}
	}
}

// CleanURL returns a path with query without the parameters that the file's Clean-param lines declare meaningless for it
// (§1.5), and without a fragment; if nothing is to go, what it was given. Parameters kept stay in order, as written. It is
// meant for telling URLs apart, not for access: what is fetched is matched as it is.
func (f *File) CleanURL(pathAndQuery string) string {
	s, _, _ := strings.Cut(pathAndQuery, "#")
	path, query, hasQuery := strings.Cut(s, "?")
	if !hasQuery || f.clean == nil {
		return s
	}
	normal := subject(path)
	decided := make(map[string]bool) // a parameter may come a thousand times, and lines about it too
	var kept strings.Builder
	some, dropped := false, false
	for rest, more := query, true; more; {
		var pair string
		pair, rest, more = strings.Cut(rest, "&")
		name, _, _ := strings.Cut(pair, "=")
		name = normalize(name, false)
		drop, known := decided[name]
		if !known {
			drop = matchesAny(f.clean[name], normal)
			decided[name] = drop
		}
		if drop {
			dropped = true
			continue
		}
		if some {
			kept.WriteByte('&')
		}
		some = true
		kept.WriteString(pair)
	}
	switch {
	case !dropped:
		return s
	case !some:
		return path
	default:
		return path + "?" + kept.String()
	}
}

func matchesAny(prefixes []string, path string) bool {
	for _, p := range prefixes {
		if ok, _ := glob(p, false, path); ok {
			return true
		}
	}
	return false
}
