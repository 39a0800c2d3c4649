package frontier

import (
	"maps"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// judgeBy makes the shard use another spec from now on, also for URLs about which it has decided
// before. The caller holds mu.
func (s *Shard) judgeBy(j judge.Judge) {
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
		s.ledger.Fail(err) // keepCommitted ends the shard with this error, and it is opened again
		return
	}
	s.followHosts(rules, time.Now())
	if j.Spec.Delay > delay {
		s.allSlowed(time.Now())
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
func (s *Shard) allSlowed(now time.Time) {
	s.ledger.PacesChanged()
	for _, h := range s.ledger.Hosts {
		s.polite.Slowed(h, now)
		s.ledger.Unschedule(h)
	}
}

// evictAnew starts a pass over all evicted hosts when re-crawl was enabled, because they must then
// be loaded at other times.
func (s *Shard) evictAnew() {
	switch {
	case !s.ledger.Judge.Spec.Refreshes():
		s.ledger.EvictForRecrawl(false)
	case !s.ledger.Meta.EvictRecrawl:
		s.features.AskAll(func() { s.ledger.EvictForRecrawl(true) })
	}
}

// followHosts applies the operator's settings for single hosts that differ from was. Evicted hosts
// follow them when they are loaded.
func (s *Shard) followHosts(was map[canon.Host]crawl.HostRule, now time.Time) {
	if !maps.Equal(was, s.ledger.Judge.Spec.Hosts) {
		s.ledger.PacesChanged()
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

// requeueSince queues every URL again that was answered since t, because its page may be lost from
// the hand-off.
func (s *Shard) requeueSince(t time.Time) error {
	return s.urls.EachRecord(func(h *hosts.Host, k []byte, r *urls.Record) (bool, error) {
		if r.Class == crawl.Queued || r.FetchedAt == 0 || r.FetchedAt < t.UnixMilli() || r.Reason == crawl.ReasonMirror {
			return false, nil
		}
		r.AttemptsForgotten()
		return true, s.urls.SetState(h, r, urls.Verdict{Class: crawl.Queued})
	})
}
