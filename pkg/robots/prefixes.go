package robots

import (
	"slices"
	"strings"
)

// prefixes finds the longest of many plain patterns with which a path begins, in time that grows
// with the logarithm of their number: some files have tens of thousands of lines, and they are
// searched for each URL of the site.
type prefixes struct {
	rules []rule // by pattern, in octet order, no pattern twice
	// for each rule, the index of the longest other pattern that it starts with, or -1
	up []int32
}

// newPrefixes takes ownership of rules.
func newPrefixes(rules []rule) prefixes {
	slices.SortFunc(rules, func(a, b rule) int {
		if c := strings.Compare(a.pattern, b.pattern); c != 0 {
			return c
		}
		return compareStrength(&a, &b)
	})
	// keeps the strongest of equal patterns
	rules = slices.CompactFunc(rules, func(a, b rule) bool { return a.pattern == b.pattern })
	up := make([]int32, len(rules))
	for i := range rules {
		// All patterns that are prefixes of rule i come before it, and each begins with the next
		// shorter one.
		j := int32(i) - 1
		for j >= 0 && !strings.HasPrefix(rules[i].pattern, rules[j].pattern) {
			j = up[j]
		}
		up[i] = j
	}
	return prefixes{rules, up}
}

// longest returns nil if s begins with none of the patterns.
func (p prefixes) longest(s string) (best *rule, steps int) {
	lo, hi := 0, len(p.rules)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		pattern := p.rules[mid].pattern
		steps += min(len(pattern), len(s))
		if pattern <= s {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	// A prefix of s sorts no later than s. Between the longest such pattern and s, everything
	// begins with that pattern too. So it is the last pattern that is not after s, or a prefix of
	// that one.
	if lo == 0 {
		return nil, steps
	}
	i := int32(lo - 1)
	last := p.rules[i].pattern
	common := 0
	for common < len(last) && common < len(s) && last[common] == s[common] {
		common++
	}
	steps += common
	for i >= 0 && len(p.rules[i].pattern) > common {
		i = p.up[i]
		steps++
	}
	if i < 0 {
		return nil, steps
	}
	return &p.rules[i], steps
}
