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

// SpeaksOfUse reports whether an origin's robots.txt has statements for us about the use of its
// pages. usageLines then has lines, and HostRow.Usage is true.
func SpeaksOfUse(f *robots.File, agent string, o *hosts.Origin) bool {
	return len(f.UsageFor(agent)) > 0 || len(inferred(f, o)) > 0
}

// inferred are the preferences that follow from the rules for crawlers that collect training data.
func inferred(f *robots.File, o *hosts.Origin) []usage.Source {
	var s usage.Set
	uses.Training(&s, f, hosts.RobotsOrigin(o.Origin))
	return s.Sources()
}

// usageLines are the statements of an origin's robots.txt about use that apply to us, in the order
// of the file, and the number of those left out.
func usageLines(f *robots.File, agent string, o *hosts.Origin) (lines []crawl.UsageLine, more int) {
	for _, l := range f.UsageFor(agent) {
		if len(lines) == crawl.MaxUsageLines {
			more++
			continue
		}
		var stated usage.Set
		uses.Line(&stated, l)
		lines = append(lines, crawl.UsageLine{Line: l.Line, Text: crawl.ShortDetail(l.Text), Path: crawl.ShortDetail(l.Path), Preferences: says(stated.Preferences())})
	}
	for _, s := range inferred(f, o) {
		lines = append(lines, crawl.UsageLine{Line: s.Line, Text: s.Text, Preferences: map[string]string{s.Purpose.String(): s.Value.String()}, Inferred: true})
	}
	slices.SortStableFunc(lines, func(a, b crawl.UsageLine) int { return a.Line - b.Line })
	return lines, more
}

// usageOf is what a robots.txt states about the use of one URL, and the licences that it names.
func usageOf(f *robots.File, rules *robots.Rules, o *hosts.Origin, u canon.URL) (*crawl.Usage, []crawl.UsageLine) {
	var stated usage.Set
	uses.Robots(&stated, rules, u.PathQuery())
	uses.Training(&stated, f, hosts.RobotsOrigin(o.Origin))
	var licenses []crawl.UsageLine
	for _, t := range stated.Terms() {
		licenses = append(licenses, crawl.UsageLine{Line: t.Line, Text: crawl.ShortDetail(t.URL)})
	}
	all := crawl.UsageOf(stated.Statements())
	return &all, licenses
}

// says returns the preferences by name, without unknown ones.
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
