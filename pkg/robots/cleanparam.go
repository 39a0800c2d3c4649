package robots

import (
	"strings"
	"unicode/utf8"
)

// maxCleanParam is the longest Clean-param line, in characters without comment and outer blanks
// (formats §1.5).
const maxCleanParam = 500

// Lines beyond these limits are skipped: a file could have 30,000, and each URL of its host is
// compared.
const (
	maxCleanLines = 1000 // Clean-param lines in a file
	// of these, lines with "*" in their path, which are tried one after another
	maxWildCleanLines = 100
	// names of parameters in all lines together: each is indexed, which takes 200 bytes, and a file
	// has space for 120,000
	maxCleanNames = 10_000
)

// CleanSteps is the largest work of CleanURL for one URL: the number of compared octets of paths
// and patterns.
const CleanSteps = 256 << 10

// CleanParam is one Clean-param line: on URLs whose path matches Prefix, the query parameters
// Params do not change the page, so URLs that differ only in them are the same page (formats §1.5;
// Yandex).
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
		p.odd("Clean-param line is longer than 500 characters: skipped")
		return
	case extra != "":
		p.odd("Clean-param has more than parameters and a path: skipped")
		return
	case prefix != "" && !isCleanPrefix(prefix):
		p.odd("Clean-param path does not start with / or *, or has other characters than A-Z a-z 0-9 . - / * _: skipped")
		return
	}
	var params []string
	for _, name := range strings.Split(names, "&") {
		if name != "" {
			params = append(params, name)
		}
	}
	if params == nil {
		p.odd("Clean-param has no parameters: skipped")
		return
	}
	wild := strings.IndexByte(prefix, '*') >= 0
	switch {
	case len(p.file.CleanParams) >= maxCleanLines:
		p.odd("more than 1000 Clean-param lines: skipped")
		return
	case wild && p.wildCleans >= maxWildCleanLines:
		p.odd("more than 100 Clean-param lines with * in their path: skipped")
		return
	case p.cleanNames+len(params) > maxCleanNames:
		p.odd("more than 10000 parameters in Clean-param lines: skipped")
		return
	case wild:
		p.wildCleans++
	}
	p.cleanNames += len(params)
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

// cleanPaths are the paths on which a parameter is removed.
type cleanPaths struct {
	plain prefixes
	globs []string
}

// indexCleanParams indexes the lines by parameter, so that CleanURL reads only lines about
// parameters of the URL.
func (f *File) indexCleanParams() {
	if len(f.CleanParams) == 0 {
		return
	}
	f.clean = make(map[string]*cleanPaths)
	plain := make(map[string][]rule)
	for _, line := range f.CleanParams {
		for _, name := range line.Params {
			name = normalize(name, false)
			if f.clean[name] == nil {
				f.clean[name] = new(cleanPaths)
			}
			if strings.IndexByte(line.Prefix, '*') >= 0 {
				f.clean[name].globs = append(f.clean[name].globs, line.Prefix)
			} else {
				plain[name] = append(plain[name], rule{pattern: line.Prefix})
			}
		}
	}
	for name, rules := range plain {
		f.clean[name].plain = newPrefixes(rules)
	}
}

// CleanURL returns a path with query without the parameters that the file's Clean-param lines
// declare meaningless for it (formats §1.5), and without a fragment. If there are none, it returns
// its argument. The other parameters keep their order and spelling. The result is for comparing
// URLs, not for access: rules are matched with the URL that is fetched. A URL that would take more
// than CleanSteps stays unchanged.
func (f *File) CleanURL(pathAndQuery string) string {
	s, _ := f.CleanURLWithin(pathAndQuery, CleanSteps)
	return s
}

// CleanURLWithin is CleanURL with a limit of steps. If it would take more, done is false and all
// parameters stay.
func (f *File) CleanURLWithin(pathAndQuery string, steps int) (clean string, done bool) {
	s, _, _ := strings.Cut(pathAndQuery, "#")
	path, query, hasQuery := strings.Cut(s, "?")
	if !hasQuery || f.clean == nil {
		return s, true
	}
	normal := subject(path)
	// a parameter may occur a thousand times, and lines about it too
	decided := make(map[string]bool)
	var kept strings.Builder
	some, dropped := false, false
	for rest, more := query, true; more; {
		var pair string
		pair, rest, more = strings.Cut(rest, "&")
		name, _, _ := strings.Cut(pair, "=")
		name = normalize(name, false)
		drop, known := decided[name]
		if !known {
			if p := f.clean[name]; p != nil {
				if drop = p.match(normal, &steps); steps < 0 {
					return s, false
				}
			}
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
		return s, true
	case !some:
		return path, true
	default:
		return path + "?" + kept.String(), true
	}
}

// match subtracts its cost from steps, and gives up when they fall below 0.
func (c *cleanPaths) match(path string, steps *int) bool {
	best, n := c.plain.longest(path)
	*steps -= n
	for _, p := range c.globs {
		if best != nil || *steps < 0 {
			break
		}
		*steps -= len(p) + len(path)
		if ok, _ := glob(p, false, path); ok {
			return *steps >= 0
		}
	}
	return best != nil && *steps >= 0
}
