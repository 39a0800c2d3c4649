package requests

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/hours"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Config is a crawl.Spec made ready for use. It does not change. A new spec makes a new Config, and
// a visit keeps the Config that it began with.
type Config struct {
	wire.Config
	spec      crawl.Spec
	Names     crawl.Names
	Scope     *scope.Scope
	ScopeHash uint64 // Spec.ScopeHash
	LinkHash  uint64 // Spec.LinkHash
	Forgotten crawl.Forgotten
	Purposes  usage.Purposes
	Types     crawl.Types
	Hours     *hours.ByHost    // when requests may be sent to a host
	Sites     *siterules.Rules // nil: there are none
}

// Halts reports that a visit that was granted with this delay must send no more requests to its
// host now: because of the spec (Spec.Halts), of a longer delay in site rules, or of the hours of
// the host.
func (c *Config) Halts(host canon.Host, granted time.Duration, now time.Time) bool {
	return c.spec.Halts(host, granted) || c.Sites.Delay(host) > granted || !c.Open(host, now)
}

// Open reports whether the hours of a host permit requests.
func (c *Config) Open(host canon.Host, now time.Time) bool {
	return c.Hours.Of(string(host)).Open(now)
}

var (
	tokenRE = regexp.MustCompile(`^[A-Za-z_-]+$`)
	// Visible ASCII without ( and ), which would end the comment in the User-Agent.
	contactRE = regexp.MustCompile(`^[\x21-\x27\x2A-\x7E]+$`)
)

// NewConfig checks a spec and makes it ready for use.
func NewConfig(spec crawl.Spec) (*Config, error) {
	if spec.Agent == "" {
		return nil, errors.New("agent: the product token is missing; robots.txt files use it for this crawler, for example curtsy")
	}
	if !tokenRE.MatchString(spec.Agent) {
		return nil, fmt.Errorf("agent %q: a product token consists of letters, '-' and '_' (RFC 9309 §2.2.1), for example curtsy", spec.Agent)
	}
	if spec.Contact != "" && !contactRE.MatchString(spec.Contact) {
		return nil, fmt.Errorf("contact %q: use a mail address or a URL, for example you@example.org", spec.Contact)
	}
	if err := crawl.CheckName(spec.Name); err != nil {
		return nil, err
	}
	if spec.Shards < 1 || spec.Shards > crawl.MaxShards {
		return nil, fmt.Errorf("shards: %d is not possible; use 1 to %d", spec.Shards, crawl.MaxShards)
	}
	resolve, err := wire.ParseResolve(spec.Resolve)
	if err != nil {
		return nil, err
	}
	sites, err := siterules.Of(&spec)
	if err != nil {
		return nil, fmt.Errorf("site rules: %w", err)
	}
	sc, err := scope.Of(&spec, sites)
	if err != nil {
		return nil, err
	}
	times, err := hours.NewByHost(spec.Hours, spec.Timezone, sites.HoursByHost())
	if err != nil {
		return nil, err
	}
	return &Config{
		spec: spec, Names: crawl.Names(spec.Name), Scope: sc, ScopeHash: spec.ScopeHash(), LinkHash: spec.LinkHash(), Forgotten: crawl.NewForgotten(spec.Forgotten),
		Purposes: spec.PurposeSet(), Types: spec.TypeSet(), Hours: times, Sites: sites,
		Config: wire.Config{
			Header: http.Header{
				"User-Agent":      {UserAgent(spec)},
				"Accept":          {"text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.1"},
				"Accept-Encoding": {wire.AcceptEncoding},
			},
			Resolve: resolve, AllowPrivate: spec.AllowPrivate, Contact: spec.Contact != "", Pace: spec.Delay,
		},
	}, nil
}

// Spec returns the spec that c was made of. It must not be changed.
func (c *Config) Spec() *crawl.Spec { return &c.spec }

// UserAgent returns the User-Agent of a crawl, "<token>/<version> (+<contact>)": the product token
// of robots.txt and a way to reach a person (RFC 9309 §2.2.1).
func UserAgent(spec crawl.Spec) string {
	ua := spec.Agent + "/" + version.Product()
	if c := strings.TrimSpace(spec.Contact); c != "" {
		ua += " (+" + c + ")"
	}
	return ua
}

// Public returns a copy with which only public addresses are reached.
func (c *Config) Public() *Config {
	public := *c
	public.AllowPrivate = false
	return &public
}
