package hosts

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// Beside its pages an origin is asked for files that describe it: its sitemaps, its /rupinfo.txt
// and others. This file decides when an origin is asked, for all features alike. Each feature
// decides what it requests and how often (Feature.Ask).

// AskOrigin lets the features request what they do not know of an origin or what has become old. It
// is called whenever there may be something to request: when the origin's robots.txt was read
// (applyRobots), when the first URL of it is queued (urls), when it is no longer a mirror
// (Mirrors.Turned), and when all origins are asked (AskSome). A second call has no effect. Before
// the origin's robots.txt is known, nothing is requested; AskOrigin is called again when it is
// known. Nothing is requested of a mirror.
func (s *Features) AskOrigin(h *Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if o.Copy != crawl.RobotsParsed && o.Copy != crawl.RobotsUnavailable || o.Mirror.Mirrored() {
		return nil
	}
	for j := range s.List {
		if ask := s.List[j].Ask; ask != nil {
			if err := ask(h, i, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// AskAll starts a pass that calls AskOrigin for all origins, because a setting has changed that
// determines what is requested. done, unless it is nil, is called at the end and records that the
// pass is complete. If there is a crash before that, the pass begins again.
func (s *Features) AskAll(done func()) {
	if done != nil {
		s.asked = append(s.asked, done)
	}
	if s.askAll = 1; s.ledger.Meta.NextHost == 0 {
		s.asAsked()
	}
}

// AskLater makes the pass that asks origins ask those of h.
func (s *Features) AskLater(h *Host) { s.ToAsk = append(s.ToAsk, h.ID) }

// Asking reports that the pass is running.
func (s *Features) Asking() bool { return s.askAll != 0 || len(s.ToAsk) > 0 }

// AskSoon makes the pass call AskOrigin for the origins of one host.
func (s *Features) AskSoon(h *Host) {
	if !slices.Contains(s.ToAsk[max(len(s.ToAsk)-64, 0):], h.ID) {
		s.ToAsk = append(s.ToAsk, h.ID)
	}
}

// asAsked ends the pass.
func (s *Features) asAsked() {
	for _, done := range s.asked {
		done()
	}
	s.ToAsk, s.askAll, s.asked = nil, 0, nil
}

// AskSome does the next part of that pass.
func (s *Features) AskSome(now time.Time) (more bool, err error) {
	if !s.Asking() || len(s.ledger.Unsent) >= store.MirrorPending {
		return false, nil
	}
	some := s.ToAsk[:min(len(s.ToAsk), store.PassStretch)]
	s.ToAsk = s.ToAsk[len(some):]
	if len(some) == 0 {
		s.askAll, err = s.ledger.HostsNumbered(s.askAll, store.PassStretch, true, func(h *Host) {
			// Of an untouched host nothing is known yet that determines a request
			if !h.Untouched() {
				some = append(some, h.ID)
			}
		})
		if err != nil {
			return false, err
		}
	}
	for _, id := range some {
		h, err := s.ledger.HostWith(id)
		if err != nil {
			return false, err
		}
		if h == nil {
			continue
		}
		for i := range h.Origins {
			if err := s.AskOrigin(h, i, now); err != nil {
				return false, err
			}
		}
		if h.Evicted {
			s.ledger.MarkDirty(h) // it may have to be evicted until another time now
		}
	}
	if !s.Asking() {
		s.asAsked()
	}
	return s.Asking(), nil
}
