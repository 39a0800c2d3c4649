package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// BeginPlanning begins the pass if the spec asks for one. When pages are asked for again no longer,
// all stays as it is and counts for nothing.
func (s *Recrawl) BeginPlanning() error {
	s.ledger.Meta.Plan.Begin(s.ledger.Judge.PlanText())
	return nil
}

// ahead is how far ahead of ours the clock may have been by which a page was fetched.
const ahead = 10 * time.Minute

// ClockWas has all that is fetched again planned anew by the next BeginPlanning, if the clock was
// so far ahead that what was fetched by it would wait for the time at which it stood.
func (s *Recrawl) ClockWas(by time.Duration) {
	if by > ahead && s.ledger.Judge.Spec.Refreshes() {
		s.ledger.Meta.Plan.Again()
	}
}

// PlanSome is a pass that plans what is fetched again, after the spec has changed in that,
// or the clock was set back.
func (s *Recrawl) PlanSome(now time.Time) (more bool, err error) {
	p := &s.ledger.Meta.Plan
	if !p.Running {
		return false, nil
	}
	_, most := s.Bounds()
	next, err := s.urls.Stretch(p.Next, hosts.PassStretch, func(h *hosts.Host, _ []byte, r *Record) (bool, error) {
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
