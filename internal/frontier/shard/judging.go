package shard

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// JudgeVisits decides again about the URLs in outstanding visits while the pass is running. Their
// fetchers learn the result when they renew the visits.
func (s *Passes) JudgeVisits() error {
	if !s.ledger.Meta.Judging.Running {
		return nil
	}
	for _, v := range s.visits.Outstanding {
		for _, u := range slices.Clone(v.List) {
			key := store.URLKey(nil, v.Host.ID, u.Order)
			r, err := urls.DecodeRecord(key, s.ledger.Records().Get(key))
			if err != nil {
				return err
			}
			if err := s.visits.RefuseQueued(v.Host, key, &r); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeSome is the pass.
func (s *Passes) judgeSome(now time.Time) (more bool, err error) {
	m := &s.ledger.Meta.Judging
	if !m.Running || len(s.ledger.Unsent) >= judgingPending {
		return false, nil
	}
	var of *hosts.Host
	// Targets of redirects that the scope excluded, and may not exclude any more
	var led []crawl.Links
	rescoped := m.Was == nil || m.By == nil || m.Differs(func(now, was *judge.Settings) bool { return now.Scope != was.Scope })
	next, err := s.urls.Stretch(m.Next, store.PassStretch, func(h *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		if h != of {
			of = h
			s.judgeHost(h)
		}
		if r.Class == crawl.Redirected {
			// As in Links.OfferTarget.
			if u, err := canon.Parse(r.Detail); err == nil && rescoped && s.ledger.Judge.Scope.Decide(u).In {
				led = append(led, crawl.Links{FoundOn: r.URL, Depth: r.Depth, Redirects: r.Redirects + 1, URLs: []canon.URL{u}})
			}
			return false, nil
		}
		return s.visits.JudgeOne(h, r)
	})
	if err != nil {
		return false, err
	}
	for i := range led {
		if err := s.links.Offer(&led[i], now); err != nil {
			return false, err
		}
	}
	if m.Step(next) {
		return true, nil
	}
	s.ledger.Outdate()
	s.ledger.Log.Info("all URLs were checked against the changed settings", "queued", s.ledger.Meta.Counts.Queued, "refused", s.ledger.Meta.Counts.Refused)
	return false, s.mirrors.Anew(now) // last, so that URLs permitted now are passed on
}

// judgingPending is the number of unsent messages to other shards, about targets of redirects, at
// which the pass pauses.
const judgingPending = 4 * store.PassStretch

// judgeHost makes a host's robots.txt due at once if it could not be fetched for a reason that a
// changed setting may undo, or if it was read for another agent. Due keeps the delay since the last
// request and the time of a Retry-After.
func (s *Passes) judgeHost(h *hosts.Host) {
	m := &s.ledger.Meta.Judging
	renamed := m.Differs(func(now, was *judge.Settings) bool { return now.Agent != was.Agent })
	for i := range h.Origins {
		o := &h.Origins[i]
		barred := strings.HasPrefix(o.Reason, string(crawl.ReasonAddress))
		switch {
		case renamed && !o.History.Fetched.IsZero():
			o.ExpireRobots()
		case o.History.Failures > 0 && (m.Led(h.Name) || barred && m.Opened()):
			o.RetryRobots()
		}
	}
}

// NoticeFull starts a pass that refuses the queued URLs of a host that has its maximum of pages.
// None of them is granted meanwhile (Visits.Ready).
func (s *Passes) NoticeFull(h *hosts.Host) {
	if s.urls.Full(h) && h.Queued > h.Later {
		s.Filled[h] = struct{}{}
	}
}

// Fills reports whether that pass has not finished h yet.
func (s *Passes) Fills(h *hosts.Host) bool {
	_, ok := s.Filled[h]
	return ok
}

// fillSome is that pass. The queue itself shows its progress, because refused URLs leave it. URLs
// in a running visit are refused too, because a replay of the log does not know of the visit. If
// its result arrives, the result takes precedence.
func (s *Passes) fillSome(now time.Time) (more bool, err error) {
	for h := range s.Filled {
		var keys [][]byte
		c := s.ledger.Ready().Cursor()
		k, _ := c.Seek(h.ID.Append(nil))
		for ; len(keys) < store.PassStretch && k != nil && store.KeyHost(k) == h.ID && s.urls.Full(h); k, _ = c.Next() {
			keys = append(keys, store.URLKey(nil, h.ID, store.KeyOrder(k)))
		}
		if len(keys) < store.PassStretch {
			delete(s.Filled, h)
			s.ledger.Outdate()
		}
		for _, key := range keys {
			r, err := urls.DecodeRecord(key, s.ledger.Records().Get(key))
			if err != nil {
				return false, err
			}
			if err := s.visits.RefuseQueued(h, key, &r); err != nil {
				return false, err
			}
		}
		return len(s.Filled) > 0, nil
	}
	return false, nil
}
