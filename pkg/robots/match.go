package robots

import (
	"cmp"
	"slices"
	"strings"
)

// Match reports whether a URL may be fetched: the rule whose pattern has the most octets decides,
// allow wins a tie, and without a matching rule the URL is allowed (RFC 9309 §2.2.2, formats §1.4).
// /robots.txt itself is always allowed.
//
// pathAndQuery is the path of the canonical URL with "?" and query, if it has one. An empty path
// counts as "/", and a fragment is ignored. Match does not allocate if pathAndQuery is ASCII and in
// percent normal form, as canonical URLs usually are.
func (r *Rules) Match(pathAndQuery string) Verdict {
	v, _ := r.match(subject(pathAndQuery))
	return v
}

// subject converts the subject to normal form.
func subject(s string) string {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	if s == "" {
		return "/"
	}
	if s[0] != '/' {
		s = "/" + s
	}
	return normalize(s, false)
}

// match also returns the largest number of comparisons of a byte-by-byte matcher.
func (r *Rules) match(s string) (v Verdict, steps int) {
	if s == "/robots.txt" {
		return Verdict{Allowed: true}, 0
	}
	if r.denyAll {
		return Verdict{}, 0
	}
	best, steps := r.plain.longest(s)
	for i := range r.globs {
		g := &r.globs[i]
		if best != nil && !stronger(g, best) {
			break // nor does any rule after it
		}
		ok, n := glob(g.pattern, g.anchored, s)
		steps += n
		if ok {
			best = g
			break
		}
	}
	if best == nil {
		return Verdict{Allowed: true}, steps
	}
	return Verdict{Allowed: best.allow, Line: int(best.line), Rule: best.text}, steps
}

// stronger reports whether a decides if both match. Of two equal rules, the first in the file is
// named.
func stronger(a, b *rule) bool { return compareStrength(a, b) < 0 }

func compareStrength(a, b *rule) int {
	if c := cmp.Compare(b.octets(), a.octets()); c != 0 {
		return c
	}
	if a.allow != b.allow {
		if a.allow {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.line, b.line)
}

// index prepares rules for matching. It reorders them.
func index(rules []rule) (prefixes, []rule) {
	// Plain patterns come first. The order within each part does not matter yet.
	n := 0
	for i := range rules {
		if !rules[i].wild && !rules[i].anchored {
			rules[n], rules[i] = rules[i], rules[n]
			n++
		}
	}
	globs := rules[n:]
	slices.SortFunc(globs, func(a, b rule) int { return compareStrength(&a, &b) })
	return newPrefixes(rules[:n:n]), globs
}

// glob reports whether pattern, in which "*" stands for any octets, matches the start of s, or all
// of s if anchored.
//
// Each piece between two "*" is searched for after the previous one, at the leftmost position. A
// later position would only leave less for the rest, so no backtracking is needed. steps is the
// largest cost, where a search for m octets among n counts m·n; it is less than
// (len(pattern)+1)·(len(s)+1).
func glob(pattern string, anchored bool, s string) (ok bool, steps int) {
	star := strings.IndexByte(pattern, '*')
	if star < 0 {
		if anchored {
			return s == pattern, min(len(s), len(pattern))
		}
		return strings.HasPrefix(s, pattern), min(len(s), len(pattern))
	}
	steps = min(len(s), star)
	if !strings.HasPrefix(s, pattern[:star]) {
		return false, steps
	}
	s, pattern = s[star:], pattern[star+1:]
	for {
		star = strings.IndexByte(pattern, '*')
		if star < 0 {
			break
		}
		if star > 0 { // "**" is "*"
			i := strings.Index(s, pattern[:star])
			if i < 0 {
				return false, steps + len(s)*star
			}
			steps += (i + 1) * star
			s = s[i+star:]
		}
		pattern = pattern[star+1:]
	}
	if anchored {
		return strings.HasSuffix(s, pattern), steps + min(len(s), len(pattern))
	}
	return strings.Contains(s, pattern), steps + len(s)*len(pattern)
}
