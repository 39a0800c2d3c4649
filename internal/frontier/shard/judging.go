package shard

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// JudgeVisits judges what outstanding visits hold, while the pass is under way: their fetchers are
// told when they renew them.
func (s *Passes) JudgeVisits() error {
	if !s.ledger.Meta.Judging.Running {
		return nil
	}
	for _, v := range s.visits.Outstanding {
		for _, u := range slices.Clone(v.List) {
			key := hosts.URLKey(nil, v.Host.ID, u.Order)
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
	if !m.Running || len(s.ledger.Outbox) >= judgingPending {
		return false, nil
	}
	var of *hosts.Host
	var led []crawl.Links // targets of redirects that the scope kept out, and maybe does no longer
	rescoped := m.Was == nil || m.By == nil || m.Was.Scope != m.By.Scope
	next, err := s.urls.Stretch(m.Next, hosts.PassStretch, func(h *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		if h != of {
			of = h
			s.judgeHost(h)
		}
		if r.Class == crawl.Redirected {
			// As in links.OfferTarget.
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
	return false, s.mirrors.Anew(now) // at last, so that URLs let in now are handed on
}

// judgingPending is how many messages to other shards, about redirects that lead there, may wait to
// be sent before the pass does.
const judgingPending = 4 * hosts.PassStretch

// judgeHost has a host asked for its robots.txt at once that could not be had for a reason which a
// changed setting may undo, or that was read as another agent. The delay since the last request and
// what a Retry-After asks are in Due, and stay.
func (s *Passes) judgeHost(h *hosts.Host) {
	m := &s.ledger.Meta.Judging
	if m.Was == nil || m.By == nil {
		return
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		barred := strings.HasPrefix(o.Reason, string(crawl.ReasonAddress))
		switch {
		case m.By.Agent != m.Was.Agent && !o.History.Fetched.IsZero():
			o.History.Fresh = 0
		case o.History.Failures > 0 && (m.Led(h) || barred && m.Opened()):
			askAnew(o)
		default:
			continue
		}
		s.ledger.MarkDirty(h)
	}
}

// askAnew has an origin's robots.txt asked for without waiting for what its failures would have us
// wait. Since when it has been failing stays known.
func askAnew(o *hosts.Origin) { o.History.Failures, o.History.RetryAt = 0, time.Time{} }

// NoticeFull has a pass refuse what is queued of a host that has all the pages it may have. None of
// it is granted meanwhile (ready).
func (s *Passes) NoticeFull(h *hosts.Host) {
	if s.urls.Full(h) && h.Queued > h.Later {
		s.Filled[h] = struct{}{}
	}
}

// Fills reports whether that pass has h before it.
func (s *Passes) Fills(h *hosts.Host) bool {
	_, ok := s.Filled[h]
	return ok
}

// fillSome is that pass. The queue itself says how far it is: what was refused is in it no more.
// Also what an outstanding visit holds is refused, since that there is one is not in the log: its
// outcome counts all the same when it comes.
func (s *Passes) fillSome(now time.Time) (more bool, err error) {
	for h := range s.Filled {
		var keys [][]byte
		c := s.ledger.Ready().Cursor()
		k, _ := c.Seek(h.ID.Append(nil))
		for ; len(keys) < hosts.PassStretch && k != nil && hosts.KeyHost(k) == h.ID && s.urls.Full(h); k, _ = c.Next() {
			keys = append(keys, hosts.URLKey(nil, h.ID, hosts.KeyOrder(k)))
		}
		if len(keys) < hosts.PassStretch {
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
