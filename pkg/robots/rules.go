package robots

import (
	"slices"
	"strings"
	"time"
)

// rule is one allow or disallow line.
type rule struct {
	pattern  string // in normal form, without the end anchor
	text     string // the line as written
	line     int32
	allow    bool
	anchored bool // ends in "$"
	wild     bool // has a "*"
}

// octets is the strength of a rule: the length of the pattern, including the anchor (formats §1.4).
func (r *rule) octets() int {
	if r.anchored {
		return len(r.pattern) + 1
	}
	return len(r.pattern)
}

// Rules are the rules of a robots.txt for one robot on one origin. A Rules does not change, and is
// safe for concurrent use. The zero Rules allows everything.
type Rules struct {
	denyAll bool
	plain   prefixes
	globs   []rule // patterns with "*" or "$", the strongest first

	delay    time.Duration
	hasDelay bool

	agentServers []AgentServer

	usage *usageRules // nil if the file has no lines about use
}

// Verdict is whether a URL may be fetched, and why.
type Verdict struct {
	Allowed bool
	Line    int // line of the deciding rule, from 1; 0 if there is none
	// that line as written, without comment; "" if there is none. For the implied rule of formats
	// §2.3 it is the Host line
	Rule string
}

// Rules returns the rules for the robot with the given product token on origin. That is the origin
// from which robots.txt was requested, before any redirect. The result is never nil.
//
// The groups that name the token are merged; if there is none, the groups for "*" are (RFC 9309
// §2.2.1, formats §1.3). Of a longer token, such as "examplebot/2.1", the leading letters, "_" and
// "-" count. If the group's Host lines name only other origins, a rule "Disallow: /" is added to it
// (formats §2.3); with the zero Origin, Host lines are ignored.
func (f *File) Rules(token string, origin Origin) *Rules {
	r := &Rules{denyAll: f.denyAll, agentServers: f.agentServers}
	if f.denyAll || len(f.groups) == 0 && len(f.delays) == 0 && len(f.usages) == 0 {
		return r
	}
	var chosenBuf, oursBuf [64]int32
	chosen, ours := f.choose(productToken(token), chosenBuf[:0], oursBuf[:0])
	own := f.merge(chosen)
	if implied, ok := f.impliedRule(ours, origin); ok {
		own = append(own, implied)
	}
	if textSize(own) < len(f.text)/4 {
		// Rules are kept longer than files. A few rules should not keep a large file in memory.
		for i := range own {
			own[i].text, own[i].pattern = strings.Clone(own[i].text), strings.Clone(own[i].pattern)
		}
	}
	r.delay, r.hasDelay = f.delayFor(ours)
	r.plain, r.globs = index(own)
	r.usage = f.usageFor(ours)
	return r
}

// choose returns, for each group, the index of its first agent that token means, or -1 if the group
// does not count; and the indexes of all such agents, in order. If no agent has the name token, the
// global groups count.
func (f *File) choose(token string, chosen, ours []int32) (_, _ []int32) {
	named := token
	for {
		for _, g := range f.groups {
			first := int32(-1)
			for i := g.agentsFrom; i < g.agentsTo; i++ {
				if named == "" || !equalFold(f.agents[i], named) {
					continue
				}
				if first < 0 {
					first = i
				}
				ours = append(ours, i)
			}
			chosen = append(chosen, first)
		}
		if len(ours) > 0 || named == "*" {
			return chosen, ours
		}
		named, chosen = "*", chosen[:0]
	}
}

// covers reports whether a record of this scope applies to one of our agents.
func (s scope) covers(ours []int32) bool {
	i, _ := slices.BinarySearch(ours, s.agentsFrom)
	return s.group >= 0 && i < len(ours) && ours[i] < s.agentsTo
}

func (f *File) merge(chosen []int32) []rule {
	n := 0
	for i, g := range f.groups {
		if chosen[i] >= 0 {
			n += int(g.rulesTo - g.rulesFrom)
		}
	}
	own := make([]rule, 0, n+1) // one more for an implied rule
	for i, g := range f.groups {
		if chosen[i] >= 0 {
			own = append(own, f.rules[g.rulesFrom:g.rulesTo]...)
		}
	}
	return own
}

func textSize(rules []rule) (n int) {
	for i := range rules {
		n += len(rules[i].text)
	}
	return n
}

// delayFor returns the largest Crawl-delay for us or, if we have none, the largest at the top of
// the file. A group of our own without one inherits nothing from "*" (formats §1.5).
func (f *File) delayFor(ours []int32) (d time.Duration, ok bool) {
	var top time.Duration
	var hasTop bool
	for _, r := range f.delays {
		switch {
		case r.covers(ours):
			d, ok = max(d, r.delay), true
		case r.group < 0:
			top, hasTop = max(top, r.delay), true
		}
	}
	if ok {
		return d, true
	}
	return top, hasTop
}

// CrawlDelay returns how long the robot should wait between two requests, exactly as the file
// states, and whether it states a delay (formats §1.5). Of several values it is the largest. The
// caller may cap it.
func (r *Rules) CrawlDelay() (d time.Duration, ok bool) { return r.delay, r.hasDelay }
