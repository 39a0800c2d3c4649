package hosts

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Beside its pages an origin is asked for files that say something of it: its sitemaps, its
// /rupinfo.txt. This file decides when an origin is worth asking, for all features alike. What each
// asks for, and how often, it says itself (feature.ask).

// AskOrigin has the features ask an origin for what they do not know or want to know anew. It is
// called whenever an origin may have become worth asking: when its robots.txt was read
// (applyRobots), when a URL of it is queued and none was (urls), when it is no mirror any more
// (mirrors.Turned), and when all origins are asked (AskSome). Asked twice, it does nothing. Nothing
// is asked before robots.txt is known, since that is when all of it is asked, nor of a mirror.
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

// AskAll has all origins asked by a pass, since the spec has changed in what they are asked for.
// When it is over done is called, unless it is nil, and notes that: until then a crash has the pass
// begun anew.
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

// Asking reports that the pass is not over.
func (s *Features) Asking() bool { return s.askAll != 0 || len(s.ToAsk) > 0 }

// AskSoon has the pass ask the origins of one host.
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

// AskSome is that pass.
func (s *Features) AskSome(now time.Time) (more bool, err error) {
	if !s.Asking() || len(s.ledger.Outbox) >= MirrorPending {
		return false, nil
	}
	some := s.ToAsk[:min(len(s.ToAsk), PassStretch)]
	s.ToAsk = s.ToAsk[len(some):]
	if len(some) == 0 {
		s.askAll, err = s.ledger.HostsNumbered(s.askAll, PassStretch, true, func(h *Host) {
			if !h.Untouched() { // of the others nothing is known that says what to ask
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
			s.ledger.MarkDirty(h) // until when it rests may be another time now
		}
	}
	if !s.Asking() {
		s.asAsked()
	}
	return s.Asking(), nil
}
