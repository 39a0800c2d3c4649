package robots

import (
	"slices"
	"strings"
)

// UsageKind is the kind of a line about the use of pages, as opposed to fetching them.
type UsageKind uint8

// The kinds of lines about use (formats §8).
const (
	ContentUsage  UsageKind = iota + 1 // draft-ietf-aipref-attach-05
	ContentSignal                      // Cloudflare's content signals policy
	License                            // RSL 1.0: the address of a licence document
)

// String returns the name of the record.
func (k UsageKind) String() string {
	switch k {
	case ContentUsage:
		return "Content-Usage"
	case ContentSignal:
		return "Content-Signal"
	case License:
		return "License"
	}
	return ""
}

// UsageLine is a line about the use of pages. Package usage interprets its statement.
type UsageLine struct {
	Kind      UsageKind
	Path      string // of Content-Usage: the path as written, "" if it has none
	Statement string // the statement, without the path
	Line      int    // counted from 1
	Text      string // the line as written, without comment
}

// Lines of these kinds apply to every URL of the origin, so their number in a file is limited to
// more than anyone would need.
const maxOriginWide = 100

// usageRecord is a UsageLine with its scope.
type usageRecord struct {
	scope
	UsageLine
	rule // of Content-Usage: the pattern of its path
}

// usage processes a line about use. For Allow and Disallow it is one of the other records: it
// closes no group, and counts for its own block (formats §8.6).
func (p *parser) usage(kind UsageKind, value string) {
	u := usageRecord{scope: p.scope(), UsageLine: UsageLine{Kind: kind, Statement: value, Line: p.line, Text: p.text}}
	if kind == ContentUsage {
		// Any first character but "/" begins the statement: then there is no path.
		if value != "" && value[0] == '/' {
			u.Path, u.Statement = cutWord(value)
		}
		if u.rule = newRule(u.Path); u.rule.octets() > maxPattern {
			p.odd("the path is longer than 8 KiB: skipped")
			return
		}
	} else if p.originWide[kind]++; p.originWide[kind] > maxOriginWide {
		p.odd("more than 100 " + kind.String() + " lines: skipped")
		return
	}
	p.file.usages = append(p.file.usages, u)
}

// usageRules are the lines of a file about use for one robot.
type usageRules struct {
	everywhere []UsageLine // Content-Signal and License
	plain      prefixes    // paths of Content-Usage
	globs      []rule
	byPath     map[string][]UsageLine // Content-Usage by pattern, in file order
}

// usageFor returns the lines for us, or nil: for each kind those of our group or, if it has none,
// those at the top of the file (formats §8.9). A group of our own inherits nothing from "*"
// (formats §8.10).
func (f *File) usageFor(ours []int32) *usageRules {
	if len(f.usages) == 0 {
		return nil
	}
	own := f.ownUsage(ours)
	r := &usageRules{byPath: map[string][]UsageLine{}}
	var rules []rule
	for i := range f.usages {
		u := &f.usages[i]
		if !own.take(u, ours) {
			continue
		}
		// Rules are kept longer than files. A line should not keep a large file in memory.
		line := u.UsageLine
		line.Path, line.Statement, line.Text = strings.Clone(u.Path), strings.Clone(u.Statement), strings.Clone(u.Text)
		if u.Kind != ContentUsage {
			r.everywhere = append(r.everywhere, line)
			continue
		}
		key := u.rule.key()
		if r.byPath[key] == nil {
			rules = append(rules, rule{pattern: strings.Clone(u.pattern), anchored: u.anchored, wild: u.wild})
		}
		r.byPath[key] = append(r.byPath[key], line)
	}
	r.plain, r.globs = index(rules)
	return r
}

// usageKinds are the kinds of lines that a robot's own group contains.
type usageKinds [License + 1]bool

func (f *File) ownUsage(ours []int32) (own usageKinds) {
	for i := range f.usages {
		if u := &f.usages[i]; u.covers(ours) {
			own[u.Kind] = true
		}
	}
	return own
}

// take reports whether a line applies to the robot: it is in the robot's group or, if the group has
// no line of its kind, at the top of the file.
func (own *usageKinds) take(u *usageRecord, ours []int32) bool {
	return own[u.Kind] == u.covers(ours) && (own[u.Kind] || u.group < 0)
}

// key identifies a pattern: "/a$" is not "/a".
func (r *rule) key() string {
	if r.anchored {
		return r.pattern + "$"
	}
	return r.pattern
}

// Usage returns the lines about use that apply to a URL (formats §8), for package usage: all lines
// of Content-Signal and License, and those lines of Content-Usage whose path matches and has the
// most octets, as in Match. No path counts as zero octets. If several have equally many, all of
// them are returned, and the strictest counts. Content-Usage does not apply to a URL that may not
// be fetched. If there are no such lines, Usage does not allocate.
//
// pathAndQuery is as for Match. The lines belong to r, which does not change.
func (r *Rules) Usage(pathAndQuery string) []UsageLine {
	u := r.usage
	if u == nil || r.denyAll {
		return nil
	}
	if len(u.byPath) == 0 {
		return u.everywhere
	}
	s := subject(pathAndQuery)
	if v, _ := r.match(s); !v.Allowed {
		return u.everywhere
	}
	lines := slices.Clip(u.everywhere)
	most := -1
	if best, _ := u.plain.longest(s); best != nil {
		lines, most = append(lines, u.byPath[best.key()]...), best.octets()
	}
	for i := range u.globs {
		g := &u.globs[i]
		if g.octets() < most {
			break // no rule after it has more
		}
		if ok, _ := glob(g.pattern, g.anchored, s); ok {
			if g.octets() > most {
				lines, most = slices.Clip(u.everywhere), g.octets()
			}
			lines = append(lines, u.byPath[g.key()]...)
		}
	}
	return lines
}

// Names reports whether a user-agent line of the file names the robot with the given product token.
// "*" does not count as a name.
func (f *File) Names(token string) bool {
	token = productToken(token)
	return token != "" && slices.ContainsFunc(f.agents, func(a string) bool { return equalFold(a, token) })
}
