package shard

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

// SpeaksOfUse reports whether an origin's robots.txt says anything to us of the use of its pages,
// so that usageLines has lines: what HostRow.Usage tells.
func SpeaksOfUse(f *robots.File, agent string, o *hosts.Origin) bool {
	return len(f.UsageFor(agent)) > 0 || len(inferred(f, o)) > 0
}

// inferred is what can be concluded from the rules for those who train models.
func inferred(f *robots.File, o *hosts.Origin) []usage.Source {
	var s usage.Set
	uses.Training(&s, f, hosts.RobotsOrigin(o.Origin))
	return s.Sources()
}

// usageLines are what an origin's robots.txt says to us of use, in file order, and how many are
// left out.
func usageLines(f *robots.File, agent string, o *hosts.Origin) (lines []crawl.UsageLine, more int) {
	for _, l := range f.UsageFor(agent) {
		if len(lines) == crawl.MaxUsageLines {
			more++
			continue
		}
		var said usage.Set
		uses.Line(&said, l)
		lines = append(lines, crawl.UsageLine{Line: l.Line, Text: crawl.ShortDetail(l.Text), Path: crawl.ShortDetail(l.Path), Preferences: says(said.Preferences())})
	}
	for _, s := range inferred(f, o) {
		lines = append(lines, crawl.UsageLine{Line: s.Line, Text: s.Text, Preferences: map[string]string{s.Purpose.String(): s.Value.String()}, Inferred: true})
	}
	slices.SortStableFunc(lines, func(a, b crawl.UsageLine) int { return a.Line - b.Line })
	return lines, more
}

// usageOf is what a robots.txt says of the use of one URL, and which licences it names.
func usageOf(f *robots.File, rules *robots.Rules, o *hosts.Origin, u canon.URL) (*crawl.Usage, []crawl.UsageLine) {
	var said usage.Set
	uses.Robots(&said, rules, u.PathQuery())
	uses.Training(&said, f, hosts.RobotsOrigin(o.Origin))
	var licenses []crawl.UsageLine
	for _, t := range said.Terms() {
		licenses = append(licenses, crawl.UsageLine{Line: t.Line, Text: crawl.ShortDetail(t.URL)})
	}
	all := crawl.UsageOf(said.Statements())
	return &all, licenses
}

// says are preferences by name, without those that are unknown.
func says(p usage.Preferences) map[string]string {
	var m map[string]string
	for purpose, v := range p {
		if v != usage.Unknown {
			if m == nil {
				m = map[string]string{}
			}
			m[usage.Purpose(purpose).String()] = v.String()
		}
	}
	return m
}
