package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// BeginPlanning begins the pass if a change of the spec requires it. When pages are no longer
// fetched again, all plans stay as they are and are ignored.
func (s *Recrawl) BeginPlanning() error {
	s.ledger.Meta.Plan.Begin(s.ledger.Judge.PlanText())
	return nil
}

// ahead is how far the clock that timed a fetch may have been ahead of ours.
const ahead = 10 * time.Minute

// ClockWas makes the next BeginPlanning plan everything again, if the clock was so far ahead that
// pages fetched by it would wait until that time.
func (s *Recrawl) ClockWas(by time.Duration) {
	if by > ahead && s.ledger.Judge.Spec.Refreshes() {
		s.ledger.Meta.Plan.Again()
	}
}

// PlanSome is a pass that plans when URLs are fetched again, after a relevant setting has changed
// or the clock was set back.
func (s *Recrawl) PlanSome(now time.Time) (more bool, err error) {
	p := &s.ledger.Meta.Plan
	if !p.Running {
		return false, nil
	}
	_, most := s.Bounds()
	next, err := s.urls.Stretch(p.Next, store.PassStretch, func(h *hosts.Host, _ []byte, r *Record) (bool, error) {
		if r.Class == crawl.Queued {
			return false, nil
		}
		was := r.Again
		soon := r.Next > 0 && r.Next <= now.Add(most).Unix() && (r.Pace == PaceNow || r.Pace == PaceHint)
		if soon && s.Wanted(r) {
			return false, nil
		}
		err := s.Plan(h, r, now)
		if r.Again == was {
			return false, err
		}
		return true, err
	})
	if err != nil {
		return false, err
	}
	p.Step(next)
	return p.Running, nil
}
