package mcp

import (
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/usage"
)

// against says why nothing of a page's text may be given to a model, if its site says so: the
// reason in two words, and the statement with where it stands. Unknown is no objection here: the
// site could say no, and said nothing (formats §8: an export for training decides otherwise).
func against(u *crawl.Usage) (withheld, because string) {
	if u.Of(usage.AIInput) != usage.Disallow.String() {
		return "", ""
	}
	return "usage ai-input", source(u.Against(usage.AIInput))
}

// source is a statement in words.
func source(s crawl.UsageSource) string {
	if s.From == "" {
		return ""
	}
	where := s.From
	if s.Line > 0 {
		where = fmt.Sprintf("%s line %d", s.From, s.Line)
	}
	return line(strings.TrimPrefix(s.Text+" ("+where+")", " "), maxWhy)
}

// sourcesOf are the statements from which the preferences come, the first of each.
func sourcesOf(u *crawl.Usage) (all []string) {
	for _, s := range u.Sources[:min(len(u.Sources), maxNames)] {
		all = append(all, line(s.Purpose+" "+s.Value+": "+source(s), maxWhy))
	}
	return all
}

// uses are the stated preferences; all others are unknown.
type uses map[string]string

func usesOf(u *crawl.Usage) uses {
	said := uses{}
	for _, p := range []usage.Purpose{usage.Search, usage.AIInput, usage.AITrain, usage.TDM} {
		if v := u.Of(p); v != usage.Unknown.String() {
			said[p.String()] = line(v, 20)
		}
	}
	return said
}

// words are the preferences in one line; "" means that there are none.
func (u uses) words() string {
	var all []string
	for _, p := range []usage.Purpose{usage.Search, usage.AIInput, usage.AITrain, usage.TDM} {
		if v := u[p.String()]; v != "" {
			all = append(all, p.String()+" "+v)
		}
	}
	return strings.Join(all, ", ")
}
