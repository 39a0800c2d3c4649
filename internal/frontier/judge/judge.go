// Package judge decides about a URL by a spec: whether it is in scope, queued or refused, and why.
package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/hours"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// ForgottenHost is the host of an entry of Spec.Forgotten.
func ForgottenHost(entry string) canon.Host {
	if strings.Contains(entry, "://") {
		return canon.URL(entry).Host()
	}
	return canon.Host(entry)
}

// ForgottenBy is the entry of Spec.Forgotten that covers u.
func (j *Judge) ForgottenBy(u canon.URL) string {
	for _, e := range j.Spec.Forgotten {
		if string(u.Host()) == e || strings.Contains(e, "://") && strings.HasPrefix(string(u), e) {
			return e
		}
	}
	return ""
}

// maxRedirects is the number of redirects in a row that are followed for a page (design.md §8).
const maxRedirects = 10

// MaxQueryDepth ends endless sequences of URLs with queries, such as calendars: no URL of them
// looks odd, but each is one link further away. Pages with a query that are so far from every seed
// are rarely anything else.
const MaxQueryDepth = 64

// Judge decides whether a URL belongs to the crawl: by the spec, its scope, and the hosts that may
// be visited without the minimum delay. It is replaced as a whole when the spec changes.
type Judge struct {
	Spec  crawl.Spec
	Scope *scope.Scope
	// hosts, and patterns of hosts, that may get more than one request a second
	hurry    map[canon.Host]bool
	hurrying []canon.HostPattern

	Forgotten crawl.Forgotten

	ForgottenText string // Spec.ForgottenText
	SitesHash     uint64 // Spec.SitesHash

	Paused int // number of hosts that the operator has paused

	// Sites are the site rules; nil: there are none.
	Sites *siterules.Rules

	// Hours are when requests may be sent to a host.
	Hours *hours.ByHost
}

// New makes the Judge of a spec. It fails for a malformed seed or host.
func New(spec crawl.Spec) (Judge, error) {
	j := Judge{Spec: spec, hurry: map[canon.Host]bool{}, Forgotten: crawl.NewForgotten(spec.Forgotten), ForgottenText: spec.ForgottenText(), SitesHash: spec.SitesHash()}
	for _, raw := range spec.Seeds {
		u, err := canon.Parse(raw)
		if err != nil {
			return j, fmt.Errorf("seed %q: %w", raw, err)
		}
		j.hurry[u.Host()] = true
	}
	for _, raw := range spec.Hurry {
		p, err := canon.ParseHostPattern(raw)
		switch {
		case err != nil:
			return j, fmt.Errorf("hurry %q: %w: use a host name, for example docs.example.org", raw, err)
		case p.IsOpen():
			return j, fmt.Errorf("hurry %q: anyone can register a name below %s: use a domain of your own, for example *.example.org", raw, p.Name())
		case p.IsBelow():
			j.hurrying = append(j.hurrying, p)
		default:
			j.hurry[p.Name()] = true
		}
	}
	for _, rule := range spec.Hosts {
		if rule.Paused {
			j.Paused++
		}
	}
	var err error
	if j.Sites, err = siterules.Of(&spec); err != nil {
		return j, fmt.Errorf("site rules: %w", err)
	}
	if j.Hours, err = hours.NewByHost(spec.Hours, spec.Timezone, j.Sites.HoursByHost()); err != nil {
		return j, err
	}
	j.Scope, err = scope.Of(&spec, j.Sites)
	return j, err
}

// Subject is what is known of a URL when the decision is made.
type Subject struct {
	URL              canon.URL
	Depth, Redirects int
	Closed           bool  // its host is closed: the domain has too many names
	Mirrored         bool  // its origin is a mirror of another
	Stored           int64 // number of other stored pages of its host
}

// Judge decides about a URL in scope: Queued, or Refused with the reason.
func (j *Judge) Judge(u Subject) (crawl.Class, crawl.Reason, string) {
	if j.Forgotten.Has(u.URL) {
		return crawl.Refused, crawl.ReasonForgotten, ""
	}
	if reason, trapped := scope.Trap(u.URL); trapped {
		return crawl.Refused, crawl.ReasonTrap, reason
	}
	if u.Depth > MaxQueryDepth && strings.Contains(string(u.URL), "?") {
		return crawl.Refused, crawl.ReasonTrap, fmt.Sprintf("the URL has a query and is %d links from the nearest seed: probably an endless calendar", u.Depth)
	}
	if most, by := j.MaxDepth(u.URL); most >= 0 && u.Depth > most {
		return crawl.Refused, crawl.ReasonDepth, fmt.Sprintf("depth %d, %s %d", u.Depth, by, most)
	}
	if u.Redirects > maxRedirects {
		return crawl.Refused, crawl.ReasonRedirects, fmt.Sprintf("%d redirects in a row", u.Redirects)
	}
	if u.Mirrored {
		// Callers that may pass it on do so: mirrors.Forward
		return crawl.Refused, crawl.ReasonMirror, ""
	}
	if u.Closed {
		return crawl.Refused, crawl.ReasonHosts, ""
	}
	if n, by := j.maxPages(u.URL.Host()); n > 0 && u.Stored >= n {
		return crawl.Refused, crawl.ReasonHostLimit, fmt.Sprintf("%s %d", by, n)
	}
	return crawl.Queued, "", ""
}

// Fingerprint changes when the decision about earlier URLs might be different now.
func (j *Judge) Fingerprint() string {
	text := j.Spec.ScopeText()
	for _, row := range settings.All() {
		// The text of the scope has the settings that also decide about links.
		if row.Decides&(settings.URLs|settings.Links) == settings.URLs {
			text += fmt.Sprintf("|%v", row.Value(&j.Spec))
		}
	}
	return text
}

// Trapped reports that a URL is in a trap, with the detail.
func Trapped(u canon.URL) (string, bool) { return scope.Trap(u) }

// Hurries reports whether a host may get more than one request a second. The hosts of seeds may,
// and hosts that the operator lists as their own.
func (j *Judge) Hurries(host canon.Host) bool {
	return j.hurry[host] || slices.ContainsFunc(j.hurrying, func(p canon.HostPattern) bool { return p.Matches(host) })
}
