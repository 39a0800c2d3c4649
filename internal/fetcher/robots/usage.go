package robots

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/robotstag"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Match says whether a URL of a site may be requested, and if not, why and by which line. First the
// rules decide. A URL that they allow is not requested, either, if the statements on its use that
// are known before the request forbid all that the crawl is for (formats §8.1).
func (s *Sites) Match(site *Site, u canon.URL) (verdict robots.Verdict, why crawl.Reason) {
	pathQuery, purposes := u.PathQuery(), s.Requests.Config.PurposesOf(u)
	if verdict = site.rules.Match(pathQuery); !verdict.Allowed {
		return verdict, crawl.ReasonRobots
	}
	if pathQuery == Path || site.rights == nil && !site.rules.together.Forbid(purposes) {
		return verdict, ""
	}
	var stated usage.Set
	site.addUsage(&stated, u)
	all := stated.Statements()
	if !all.Preferences().Forbid(purposes) {
		return verdict, ""
	}
	src := deciding(all, purposes)
	text := src.Text
	for _, l := range site.rules.Usage(pathQuery) {
		if src.From == "robots.txt" && l.Line == src.Line {
			text = l.Text
		}
	}
	return robots.Verdict{Line: src.Line, Rule: statementText(src.From, src.Line, text)}, crawl.ReasonUsage
}

// addUsage adds the statements on the use of a URL that are known before it is requested.
func (site *Site) addUsage(stated *usage.Set, u canon.URL) {
	site.rules.addUsage(stated, u.PathQuery())
	site.rights.addUsage(stated, u)
}

// Refusal describes for people why [Sites.Match] refused a URL.
func Refusal(verdict robots.Verdict, why crawl.Reason) string {
	if why == crawl.ReasonUsage {
		return verdict.Rule
	}
	return refusal(verdict)
}

// refusal describes the line of a robots.txt that refuses a URL.
func refusal(verdict robots.Verdict) string {
	return fmt.Sprintf("robots.txt line %d: %s", verdict.Line, crawl.ShortDetail(verdict.Rule))
}

func statementText(from string, line int, text string) string {
	return crawl.ShortDetail(fmt.Sprintf("%s, line %d: %s", from, line, text))
}

// HeaderTags returns the robots tags of an answer's header that apply at a time, in the form of a
// page without content. Those of headers apply to every media type.
func (s *Sites) HeaderTags(h http.Header, at time.Time) *htmlscan.Result {
	tags := robotstag.New(s.Requests.Config.Spec().Agent)
	tags.AddHeaders(h)
	return &htmlscan.Result{Directives: tags.Directives().At(at), Tags: tags.Sources()}
}

// Usage gathers the statements of robots.txt, rights files, an answer's header and its page on the
// use of a URL.
func (s *Sites) Usage(u canon.URL, header http.Header, scan *htmlscan.Result) usage.Statements {
	var by usageSource
	for _, site := range s.sites {
		if site.rules != nil && site.Origin == u.Origin() {
			by.site, by.rules, by.lines = site, site.rules, site.rules.Usage(u.PathQuery())
		}
	}
	by.use, by.signal = header["Content-Usage"], header["Content-Signal"]
	plain := len(scan.Marks) == 0 && !scan.Directives.NoAI && !scan.Directives.NoImageAI && len(header["Tdm-Reservation"]) == 0 &&
		(by.site == nil || by.site.rights == nil)
	if plain && s.lastUsage.same(&by) {
		return s.lastUsage.statements
	}
	stated := usage.Set{Memo: s.Memo}
	if by.site != nil {
		by.site.addUsage(&stated, u)
	}
	uses.Answer(&stated, header, scan, u.String())
	by.statements = slices.Clip(stated.Statements())
	if plain {
		s.lastUsage = by
	}
	return by.statements
}

// usageSource is what was stated on the use of a URL, and by what. Most pages of a site have the
// same statements, so the last ones are kept. They are never changed.
type usageSource struct {
	site        *Site // nil: the URL is on none of the visit's origins
	rules       *ruleset
	lines       []robots.UsageLine
	use, signal []string // header fields
	statements  usage.Statements
}

// same reports whether both have the same sources.
func (b *usageSource) same(other *usageSource) bool {
	return b.site != nil && b.site == other.site && b.rules == other.rules && slices.Equal(b.use, other.use) && slices.Equal(b.signal, other.signal) &&
		slices.EqualFunc(b.lines, other.lines, func(l, m robots.UsageLine) bool { return l.Line == m.Line })
}

// Unwanted reports whether the statements about a URL together forbid all that it is fetched for,
// and which one decides (formats §8.2).
func (s *Sites) Unwanted(u canon.URL, stated usage.Statements) (rule string, yes bool) {
	purposes := s.Requests.Config.PurposesOf(u)
	if !stated.Preferences().Forbid(purposes) {
		return "", false
	}
	src := deciding(stated, purposes)
	return statementText(src.From, src.Line, src.Text), true
}

// deciding returns the first statement that forbids one of the purposes, if all are forbidden.
func deciding(stated usage.Statements, purposes usage.Purposes) usage.Source {
	for _, src := range stated.Sources() {
		if purposes.Has(src.Purpose) && src.Value == usage.Disallow && !src.Inferred {
			return src
		}
	}
	return usage.Source{} // this does not happen when all are forbidden
}
