// Package scope decides which URLs belong to a crawl.
//
// A Scope is made of the crawl's seeds and a kind:
//
//	page        exactly the seeds
//	prefix      the seed's origin, in or below the seed's directory (up to the last "/")
//	host        the seed's host, whatever the scheme and port
//	subdomains  the seed's host and all names below it
//	domain      the seed's registered domain with all its hosts (the default)
//	any         every http and https host
//
// A pattern such as *.example.org may replace a kind. It covers that name and all names below it.
// The seeds do not change it, but they are always inside.
//
// Site rules (package siterules) narrow it for single sites, and may take in the names below one.
//
// Rules narrow the scope. A URL that matches an Exclude rule is outside. If there are Include
// rules, a URL must match one of them; seeds need not. Redirects of seeds and limits are left to
// the caller. Trap is a separate question, so that URLs of endless sites get their own reason.
package scope

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Spec describes a scope with the values of the settings.
type Spec struct {
	Kind  string      // page, prefix, host, subdomains, domain, any or *.NAME; "" is domain
	Seeds []canon.URL // without seeds nothing is inside until Add, unless the kind is any

	// Include and Exclude are regular expressions in the syntax of Go (RE2, linear time). They may
	// match any part of the canonical URL; use ^ and $ to anchor them.
	Include, Exclude []string

	// Sites are the site rules of the crawl; nil: it has none. They narrow the scope as their
	// entries say, and widen it by names below those of entries with "subdomains".
	Sites *siterules.Rules

	Limits Limits // for Scope.Trap
}

// Of returns the scope of a crawl: of its settings and its site rules. Frontier, fetcher and
// indexer all use it, so that they decide alike.
func Of(spec *crawl.Spec, sites *siterules.Rules) (*Scope, error) {
	seeds := make([]canon.URL, len(spec.Seeds))
	for i, raw := range spec.Seeds {
		var err error
		if seeds[i], err = canon.Parse(raw); err != nil {
			return nil, fmt.Errorf("seed %q: %w", raw, err)
		}
	}
	return New(Spec{Kind: spec.Scope, Seeds: seeds, Include: spec.Include, Exclude: spec.Exclude, Sites: sites})
}

// Decision is the decision about one URL.
type Decision struct {
	In   bool
	Rule string // the reason in words: "domain example.org", `exclude: \.pdf$`
}

// Scope decides about the URLs of one crawl. It never changes, and may be used concurrently.
type Scope struct {
	kind  string
	fixed bool // names come from a pattern, not from the seeds
	seeds map[canon.URL]struct{}
	// what the kind compares (a host, a domain, a directory), and its rule
	names            map[string]string
	outside          string // the rule for everything else
	include, exclude []rule
	limits           Limits
	hosts            *hostCache
	sites            *siterules.Rules
}

// rule is a compiled include or exclude expression, with its text for Decision.
type rule struct {
	re   *regexp.Regexp
	text string
}

// New checks and compiles a Spec. Its errors name the key, the value, and a value that works.
func New(spec Spec) (*Scope, error) {
	s := &Scope{
		kind:   spec.Kind,
		seeds:  make(map[canon.URL]struct{}),
		names:  make(map[string]string),
		limits: spec.Limits.effective(),
		sites:  spec.Sites,
	}
	switch s.kind {
	case "":
		s.kind = "domain"
	case "page", "prefix", "host", "subdomains", "domain", "any":
	default:
		p, err := canon.ParseHostPattern(s.kind)
		if err != nil || !p.IsBelow() {
			return nil, fmt.Errorf("scope %q is unknown; use page, prefix, host, subdomains, domain, any, or a name such as *.example.org", spec.Kind)
		}
		s.kind, s.fixed = "subdomains", true
		s.names[p.Name().String()] = p.String()
	}
	var err error
	if s.include, err = compile("include", spec.Include); err != nil {
		return nil, err
	}
	if s.exclude, err = compile("exclude", spec.Exclude); err != nil {
		return nil, err
	}
	for _, seed := range spec.Seeds {
		if seed.Host() == "" {
			return nil, fmt.Errorf("seed %q is not a URL; use for example https://example.org/", seed)
		}
	}
	s.add(spec.Seeds)
	return s, nil
}

func compile(key string, patterns []string) ([]rule, error) {
	var rules []rule
	for _, p := range patterns {
		if p == "" {
			return nil, fmt.Errorf(`%s "" matches every URL; leave it out, or use for example "/docs/"`, key)
		}
		re, err := regexp.Compile(p)
		if err != nil {
			// regexp repeats the expression and its own prefix; our message has both already.
			why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
			return nil, fmt.Errorf(`%s %q is not a regular expression (%s); use for example '/docs/' or '\.pdf$'`,
				key, p, why)
		}
		rules = append(rules, rule{re, key + ": " + p})
	}
	return rules, nil
}

// Add returns a scope with these seeds too. It does not change s. Zero URLs are ignored.
func (s *Scope) Add(seeds ...canon.URL) *Scope {
	c := *s
	c.seeds = maps.Clone(s.seeds)
	c.names = maps.Clone(s.names)
	c.add(seeds)
	return &c
}

// add changes the scope itself, which nobody else uses yet.
func (s *Scope) add(seeds []canon.URL) {
	for _, seed := range seeds {
		if seed.Host() == "" {
			continue
		}
		s.seeds[seed] = struct{}{}
		if name := s.name(seed); name != "" && !s.fixed {
			s.names[name] = s.kind + " " + name
		}
	}
	s.outside = s.describeOutside()
	s.hosts = new(hostCache) // its answers depend on the old seeds
}

// name returns the key that a seed adds to names: for host "example.org", for prefix
// "https://example.org/docs/".
func (s *Scope) name(seed canon.URL) string {
	switch s.kind {
	case "page":
		return seed.String()
	case "prefix":
		path := seed.Path()
		return seed.Origin().String() + path[:strings.LastIndexByte(path, '/')+1]
	case "host", "subdomains":
		return seed.Host().String()
	case "domain":
		return seed.Host().Registered()
	}
	return ""
}

// describeOutside returns the rule for URLs that no seed covers.
func (s *Scope) describeOutside() string {
	switch {
	case s.kind == "any":
		return "no URL" // only the zero URL is outside
	case len(s.names) == 0:
		return "outside the scope: there is no seed yet"
	case len(s.names) > 1:
		plural := map[string]string{"page": "pages", "prefix": "prefixes", "host": "hosts", "subdomains": "hosts (and their subdomains)", "domain": "domains"}
		return fmt.Sprintf("outside the %d %s of the seeds", len(s.names), plural[s.kind])
	}
	var only string
	for only = range s.names {
	}
	if s.kind == "subdomains" {
		return "outside *." + only
	}
	return "outside " + s.kind + " " + only
}

// Decide decides whether u belongs to the crawl, and names the rule. It costs a few tens of
// nanoseconds plus a match for each include and exclude rule, and it allocates nothing for recent
// hosts.
func (s *Scope) Decide(u canon.URL) Decision {
	why, in := s.within(u)
	if !in && s.sites != nil && u != "" {
		why = s.sites.Widened(u.Host())
		in = why != ""
	}
	if !in {
		return Decision{false, s.outside}
	}
	if s.sites != nil {
		if site := s.sites.For(u); site != nil {
			if in, rule := site.Scope(u); !in {
				return Decision{false, rule}
			}
		}
	}
	for i := range s.exclude {
		if s.exclude[i].re.MatchString(string(u)) {
			return Decision{false, s.exclude[i].text}
		}
	}
	if len(s.include) == 0 {
		return Decision{true, why}
	}
	for i := range s.include {
		if s.include[i].re.MatchString(string(u)) {
			return Decision{true, s.include[i].text}
		}
	}
	if _, seed := s.seeds[u]; seed {
		return Decision{true, "seed"}
	}
	return Decision{false, "matches no include rule"}
}

// within applies the kind alone. Every seed is within its own scope.
func (s *Scope) within(u canon.URL) (why string, in bool) {
	switch s.kind {
	case "any":
		return "any", u != ""
	case "page":
		_, in = s.seeds[u]
		return "seed", in
	case "prefix":
		return s.withinPrefix(u)
	case "host":
		why, in = s.names[u.Host().String()]
		return why, in
	case "subdomains":
		return s.withinNames(u)
	}
	return s.hosts.lookup(u.Host(), s.names)
}

// withinNames looks up the host of u, and then each name above it.
func (s *Scope) withinNames(u canon.URL) (why string, in bool) {
	host := u.Host().String()
	for name, more := host, true; more; _, name, more = strings.Cut(name, ".") {
		if why, in = s.names[name]; in {
			return why, true
		}
	}
	_, in = s.seeds[u]
	return "seed", in
}

// withinPrefix looks up the directories that contain u, from the root down. The number of lookups
// does not depend on the number of seeds.
func (s *Scope) withinPrefix(u canon.URL) (why string, in bool) {
	path := u.Path()
	start := len(u) - len(u.PathQuery())
	for i, n := 0, 0; ; i += n + 1 {
		if n = strings.IndexByte(path[i:], '/'); n < 0 {
			return "", false
		}
		if why, in = s.names[string(u[:start+i+n+1])]; in {
			return why, true
		}
	}
}
