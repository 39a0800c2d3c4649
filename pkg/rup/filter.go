package rup

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxProgram is the largest number of instructions of the compiled patterns of one request. A
// thousand bytes of pattern may compile to millions, and each changed URL is tested against all of
// them.
const maxProgram = 4000

// Filter decides which URLs a report lists (formats §6.2). The zero Filter lists all. It may be
// used concurrently.
type Filter struct {
	exclude, includeOnly []*regexp.Regexp
}

// NewFilter compiles the patterns of a registration. At most one of the lists may have patterns.
func NewFilter(exclude, includeOnly []string) (*Filter, error) {
	if len(exclude) > 0 && len(includeOnly) > 0 {
		return nil, errBoth
	}
	if n := len(exclude) + len(includeOnly); n > MaxPatterns {
		return nil, fmt.Errorf("there are %d patterns; the limit is %d", n, MaxPatterns)
	}
	f, size := new(Filter), 0
	compile := func(patterns []string) (list []*regexp.Regexp, err error) {
		for _, pattern := range patterns {
			if err := checkPattern(pattern); err != nil {
				return nil, fmt.Errorf("pattern %q: %w", brief(pattern), err)
			}
			// The size is checked before compiling, because compiling takes the memory.
			if size += programSize(pattern); size > maxProgram {
				return nil, fmt.Errorf("pattern %q: the compiled pattern is too large for one request", brief(pattern))
			}
			list = append(list, regexp.MustCompile(pattern))
		}
		return list, nil
	}
	var err error
	if f.exclude, err = compile(exclude); err != nil {
		return nil, err
	}
	f.includeOnly, err = compile(includeOnly)
	return f, err
}

var errBoth = errors.New("Exclude and IncludeOnly cannot be used together")

// Wants reports whether a changed URL should be listed. A pattern may match anywhere in the URL's
// path, or in the whole URL if the pattern contains "://".
func (f *Filter) Wants(u string) bool {
	if len(f.includeOnly) > 0 {
		return matches(f.includeOnly, u)
	}
	return len(f.exclude) == 0 || !matches(f.exclude, u)
}

func matches(patterns []*regexp.Regexp, u string) bool {
	path := pathOf(u)
	for _, re := range patterns {
		subject := path
		if strings.Contains(re.String(), "://") {
			subject = u
		}
		if re.MatchString(subject) {
			return true
		}
	}
	return false
}

// pathOf returns the path of an absolute URL as it is written.
func pathOf(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 || rest[i] != '/' {
		return "/"
	}
	path := rest[i:]
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	return path
}

// checkPattern returns why a pattern can neither be offered nor sent. In a request, patterns are
// separated by blanks (formats §6.2), and they must be RE2 within limits.
func checkPattern(pattern string) error {
	switch {
	case len(pattern) > MaxPattern:
		return fmt.Errorf("it is longer than %d bytes", MaxPattern)
	case pattern == "" || strings.ContainsAny(pattern, " \t\r\n"):
		return errors.New("it contains a space, which separates patterns")
	case programSize(pattern) > maxProgram:
		return errors.New("it is not a regular expression (RE2) within the limits")
	}
	return nil
}

// programSize estimates the number of instructions of a compiled pattern. For an invalid pattern it
// is more than maxProgram.
func programSize(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return maxProgram + 1
	}
	return min(size(re), maxProgram+1)
}

func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/8 // the cost of a class depends on its ranges
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpLiteral {
		n += len(re.Rune)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxProgram+1)
}

// accepts returns why a site that offers these patterns refuses a list of them. A pattern is
// accepted if exactly this pattern is offered, or if ".*" is offered (formats §6.2).
func accepts(offered, patterns []string) error {
	for _, pattern := range patterns {
		taken := false
		for _, o := range offered {
			taken = taken || o == pattern || o == ".*"
		}
		if !taken {
			return fmt.Errorf("pattern %q is not offered at %s", brief(pattern), InfoPath)
		}
	}
	return nil
}

// sameOrigin reports whether two absolute URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool { return originOf(a) == originOf(b) }

// originOf returns scheme, host and port, the port always explicit (formats §0).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
		if lower(u.Scheme) == "http" {
			port = "80"
		}
	}
	return lower(u.Scheme) + "://" + lower(u.Hostname()) + ":" + port
}
