package recrawl

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// BeginPlanning begins the pass if the spec asks for one. When pages are asked for again no longer,
// all stays as it is and counts for nothing.
func (s *Recrawl) BeginPlanning() error {
	text := s.ledger.Judge.PlanText()
	if s.ledger.Meta.Plan.Spec != text {
		s.ledger.Meta.Plan = ledger.Planning{Spec: text, Running: text != ""}
	}
	return nil
}

// PlanSome is a pass that plans what is fetched again, after the spec has changed in that.
func (s *Recrawl) PlanSome(now time.Time) (more bool, err error) {
	p := &s.ledger.Meta.Plan
	if !p.Running {
		return false, nil
	}
	next, err := s.urls.Stretch(p.Next, ledger.PassStretch, func(h *ledger.Host, _ []byte, r *urls.Record) (bool, error) {
		if r.Class == crawl.Queued {
			return false, nil
		}
		was := r.Again
		soon := r.Next > 0 && (r.Pace == urls.PaceNow || r.Pace == urls.PaceHint)
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
	p.Next, p.Running = next, next != nil
	return p.Running, nil
}
