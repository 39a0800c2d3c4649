package visit

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/usage"
)

// match says whether a URL of the site may be asked for, and if not why, and by which line: by the
// rules, and, of what they let in, by what is said of its use before it is asked for. What may be
// used for nothing that the crawl is for is not asked for, whatever it is (formats §8.1).
func (v *Visit) match(s *site, u canon.URL) (verdict robots.Verdict, why crawl.Reason) {
	pathQuery := u.PathQuery()
	if verdict = s.rules.Match(pathQuery); !verdict.Allowed {
		return verdict, crawl.ReasonRobots
	}
	if pathQuery == RobotsPath || s.rights == nil && !s.rules.together.Forbid(v.cfg.purposes) {
		return verdict, ""
	}
	var stated usage.Set
	s.addUsage(&stated, u)
	all := stated.Statements()
	if !all.Preferences().Forbid(v.cfg.purposes) {
		return verdict, ""
	}
	src := deciding(all, v.cfg.purposes)
	text := src.Text
	for _, l := range s.rules.Usage(pathQuery) {
		if src.From == "robots.txt" && l.Line == src.Line {
			text = l.Text
		}
	}
	return robots.Verdict{Line: src.Line, Rule: statementText(src.From, src.Line, text)}, crawl.ReasonUsage
}

// addUsage adds what is said of the use of a URL of the site before it is asked for.
func (s *site) addUsage(stated *usage.Set, u canon.URL) {
	s.rules.addUsage(stated, u.PathQuery())
	s.rights.addUsage(stated, u)
}

// whyNotAsked is match's answer for people.
func whyNotAsked(verdict robots.Verdict, why crawl.Reason) string {
	if why == crawl.ReasonUsage {
		return verdict.Rule
	}
	return fmt.Sprintf("robots.txt line %d: %s", verdict.Line, crawl.ShortDetail(verdict.Rule))
}

func statementText(from string, line int, text string) string {
	return crawl.ShortDetail(fmt.Sprintf("%s, line %d: %s", from, line, text))
}

// headerTags is what the robots tags of an answer's headers say, which hold for every type, in a
// result without a page.
func (v *Visit) headerTags(a *wire.Answer) *htmlscan.Result {
	tags := robotstag.New(v.cfg.spec.Agent)
	tags.AddHeaders(a.Header)
	return &htmlscan.Result{Directives: tags.Directives().At(a.At), Tags: tags.Sources()}
}

// usageOf gathers what robots.txt, an answer's headers and its page say of the use of a URL.
func (v *Visit) usageOf(u canon.URL, header http.Header, scan *htmlscan.Result) usage.Statements {
	var by usageSource
	for _, s := range v.sites {
		if s.rules != nil && s.origin == u.Origin() {
			by.site, by.rules, by.lines = s, s.rules, s.rules.Usage(u.PathQuery())
		}
	}
	by.use, by.signal = header["Content-Usage"], header["Content-Signal"]
	plain := len(scan.Marks) == 0 && !scan.Directives.NoAI && !scan.Directives.NoImageAI && len(header["Tdm-Reservation"]) == 0 &&
		(by.site == nil || by.site.rights == nil)
	if plain && v.lastUsage.same(&by) {
		return v.lastUsage.statements
	}
	stated := usage.Set{Memo: &v.scratch.memo}
	if by.site != nil {
		by.site.addUsage(&stated, u)
	}
	uses.Answer(&stated, header, scan, u.String())
	by.statements = slices.Clip(stated.Statements())
	if plain {
		v.lastUsage = by
	}
	return by.statements
}

// usageSource is what was said of a URL, and by what. Most pages of a site say the same, so the
// last is kept: nobody changes what it holds.
type usageSource struct {
	site        *site // nil: none of ours
	rules       *ruleset
	lines       []robots.UsageLine
	use, signal []string // headers
	statements  usage.Statements
}

// same reports whether the same is said by other's sources.
func (b *usageSource) same(other *usageSource) bool {
	return b.site != nil && b.site == other.site && b.rules == other.rules && slices.Equal(b.use, other.use) && slices.Equal(b.signal, other.signal) &&
		slices.EqualFunc(b.lines, other.lines, func(l, m robots.UsageLine) bool { return l.Line == m.Line })
}

// unwanted says which statement forbids all that the crawl is for, if one does (formats §8.2).
// All of them count together.
func (v *Visit) unwanted(stated usage.Statements) (rule string, yes bool) {
	if !stated.Preferences().Forbid(v.cfg.purposes) {
		return "", false
	}
	src := deciding(stated, v.cfg.purposes)
	return statementText(src.From, src.Line, src.Text), true
}

// deciding is the first statement that forbids one of our purposes, when all are forbidden.
func deciding(stated usage.Statements, purposes usage.Purposes) usage.Source {
	for _, src := range stated.Sources() {
		if purposes.Has(src.Purpose) && src.Value == usage.Disallow && !src.Inferred {
			return src
		}
	}
	return usage.Source{} // not when all are
}
