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
// A pattern such as *.example.org may stand in place of a kind. It covers that name and all names
// below it. The seeds do not change it, but they are always inside.
//
// Rules narrow it: Exclude always wins; when there are Include rules a URL must match
// one, except the seeds themselves. Redirects of seeds and budgets are the caller's
// affair. Trap is asked apart, so that endless sites get a reason of their own.
package scope

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Spec describes a scope in the words of the configuration.
type Spec struct {
	Kind  string      // page, prefix, host, subdomains, domain, any or *.NAME; "" is domain
	Seeds []canon.URL // may be empty: then nothing is inside until Add (with any: everything is)

	// Include and Exclude are regular expressions in Go's syntax (RE2, linear time),
	// matched anywhere in the whole canonical URL; anchor them with ^ and $ as needed.
	Include, Exclude []string

	Limits Limits // for Scope.Trap
}

// Decision is the answer for one URL.
type Decision struct {
	In   bool
	Rule string // why, for people: "domain example.org", `exclude: \.pdf$`
}

// Scope answers for one crawl. It never changes, and goroutines may share it.
type Scope struct {
	kind  string
	fixed bool // names come from a pattern, not from the seeds
	seeds map[canon.URL]struct{}
	// what the kind compares (a host, a domain, a directory) → its rule
	names            map[string]string
	outside          string // the rule for everything else
	include, exclude []rule
	limits           Limits
	hosts            *hostCache
}

// rule is a compiled include or exclude expression, with its text for Decision.
type rule struct {
	re   *regexp.Regexp
	text string
}

// New checks and compiles a Spec. Its errors name the key, the value, and a value that
// works.
func New(spec Spec) (*Scope, error) {
	s := &Scope{
		kind:   spec.Kind,
		seeds:  make(map[canon.URL]struct{}),
		names:  make(map[string]string),
		limits: spec.Limits.effective(),
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
			// regexp repeats the expression and its own prefix; ours names both already.
			why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
			return nil, fmt.Errorf(`%s %q is not a regular expression (%s); use for example '/docs/' or '\.pdf$'`,
				key, p, why)
		}
		rules = append(rules, rule{re, key + ": " + p})
	}
	return rules, nil
}

// Add returns a scope with these seeds as well; s stays as it is. Zero URLs are ignored.
func (s *Scope) Add(seeds ...canon.URL) *Scope {
	c := *s
	c.seeds = maps.Clone(s.seeds)
	c.names = maps.Clone(s.names)
	c.add(seeds)
	return &c
}

// add changes the scope itself, which nobody else may see yet.
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
	s.hosts = new(hostCache) // its answers came from the old seeds
}

// name returns the key that the seed adds to names: for host "example.org", for prefix
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

// describeOutside returns the rule that is named for URLs outside every seed's part of the web.
func (s *Scope) describeOutside() string {
	switch {
	case s.kind == "any":
		return "no URL" // the zero URL; every other is inside
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

// Decide says whether u belongs to the crawl, and by which rule. It costs a few tens of
// nanoseconds and allocates nothing for hosts met before, plus a match for each
// include and exclude rule.
func (s *Scope) Decide(u canon.URL) Decision {
	why, in := s.within(u)
	if !in {
		return Decision{false, s.outside}
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

// within applies the kind alone; every seed is within its own scope.
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

// withinNames looks up u's host, and then each name above it.
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

// withinPrefix looks for the directories u lies in, from the root down: a few lookups,
// however many seeds there are.
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
