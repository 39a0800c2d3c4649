package shard

import (
	"maps"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Specs applies to one shard what follows from the spec of the crawl, and from a change of it.
type Specs struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	links    *Links
	passes   *Passes
	polite   *polite.Polite
	rupsites *updates.RUPSites
	urls     *urls.URLs
}

// NewSpecs returns the Specs of one shard.
func NewSpecs(features *hosts.Features, ledger *hosts.Ledger, links *Links, passes *Passes, polite *polite.Polite, rupsites *updates.RUPSites, urls *urls.URLs) *Specs {
	return &Specs{features: features, ledger: ledger, links: links, passes: passes, polite: polite, rupsites: rupsites, urls: urls}
}

// Load applies the spec with which a shard is opened. Its last owner may have had another one.
func (s *Specs) Load(now time.Time) error {
	if err := s.judgeAnew(); err != nil {
		return err
	}
	if err := s.passes.Begin(); err != nil {
		return err
	}
	s.followHosts(nil, now)
	s.allSlowed(now) // the spec may have a longer delay than the last owner's
	s.evictAnew()
	return nil
}

// Change makes the shard use another spec from now on, also for URLs about which it has decided
// before.
func (s *Specs) Change(j judge.Judge) {
	was := s.ledger.Judge.Spec
	recrawl, rules, delay := was.Refreshes(), was.Hosts, was.Delay
	s.ledger.SetJudge(j)
	if s.ledger.Phase.MayWrite() != nil {
		return
	}
	err := s.judgeAnew()
	if err == nil {
		err = s.passes.Begin()
	}
	if err != nil {
		s.ledger.Fail(err) // the frontier ends the shard with this error, and it is opened again
		return
	}
	s.followHosts(rules, time.Now())
	if j.Spec.Delay > delay || j.Spec.Sites != was.Sites {
		s.allSlowed(time.Now())
	}
	if was.Hours != j.Spec.Hours || was.Timezone != j.Spec.Timezone || was.Sites != j.Spec.Sites {
		s.allAtOtherHours()
	}
	s.evictAnew()
	s.rupsites.AskSites(time.Now()) // requests to sites may be different now
	if recrawl != j.Spec.Refreshes() {
		for _, h := range s.ledger.Hosts {
			s.ledger.Unschedule(h)
		}
	}
}

// allSlowed makes hosts wait whose last visit ended with a shorter delay than the configured one.
// Evicted hosts do so when they are loaded.
func (s *Specs) allSlowed(now time.Time) {
	s.ledger.Meta.PacesChanged()
	for _, h := range s.ledger.Hosts {
		s.polite.Slowed(h, now)
		s.ledger.Unschedule(h)
	}
}

// allAtOtherHours schedules all hosts again, because requests to them may be sent at other times.
func (s *Specs) allAtOtherHours() {
	for _, h := range s.ledger.Hosts {
		s.ledger.Unschedule(h)
	}
	if s.ledger.Judge.Hours.HasOwn() {
		s.features.AskAll(nil) // evicted hosts, too
	}
}

// evictAnew starts a pass over all evicted hosts when re-crawl was enabled, because they must then
// be loaded at other times.
func (s *Specs) evictAnew() {
	switch {
	case !s.ledger.Judge.Spec.Refreshes():
		s.ledger.Meta.EvictForRecrawl(false)
	case !s.ledger.Meta.EvictRecrawl:
		s.features.AskAll(func() { s.ledger.Meta.EvictForRecrawl(true) })
	}
}

// followHosts applies the operator's settings for single hosts that differ from was. Evicted hosts
// follow them when they are loaded.
func (s *Specs) followHosts(was map[canon.Host]crawl.HostRule, now time.Time) {
	if !maps.Equal(was, s.ledger.Judge.Spec.Hosts) {
		s.ledger.Meta.PacesChanged()
	}
	follow := func(name canon.Host) {
		if h := s.ledger.Hosts[name]; h != nil && was[name] != s.ledger.Judge.Spec.Hosts[name] {
			s.polite.Slowed(h, now)
			s.ledger.Unschedule(h)
		}
	}
	for name := range was {
		follow(name)
	}
	for name := range s.ledger.Judge.Spec.Hosts {
		follow(name)
	}
}

// judgeAnew begins the pass when relevant settings have changed. URLs of outstanding visits are
// decided about at once.
func (s *Specs) judgeAnew() error {
	m, now := &s.ledger.Meta.Judging, time.Now()
	fp, by := s.ledger.Judge.Fingerprint(), s.ledger.Judge.Settings()
	m.Sites.Follow(s.ledger.Judge.SitesHash)
	was := m.By
	// Such a file does not have the settings. A superfluous check costs less than leaving out URLs
	// that are permitted now.
	if was == nil {
		was = &judge.Settings{Agent: by.Agent, Purposes: by.Purposes}
	}
	if s.ledger.Meta.Spec == fp && by.Same(was) {
		if m.Running {
			s.links.Decided(now) // the log may contain results that the pass has not seen
		}
		if m.By == nil {
			m.DecidedBy(by)
		}
		return nil
	}
	first := s.ledger.Meta.Spec == ""
	s.ledger.Meta.DecidedBy(fp)
	if first {
		m.DecidedBy(by)
		return nil
	}
	m.Begin(by, was)
	s.links.Decided(now)
	s.links.ForgetRecent()
	return s.passes.JudgeVisits()
}
