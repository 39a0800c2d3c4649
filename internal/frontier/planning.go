package frontier

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// planning is a pass over all URLs after the spec has changed in what says when they are asked for again. It is part of the
// shard's state.
type planning struct {
	Spec    string `json:"spec,omitempty"` // what they were planned by; "": they were not, or what they were planned for is ignored
	Running bool   `json:"running,omitempty"`
	Next    []byte `json:"next,omitempty"` // the key to go on from
}

// planText changes with what says which URLs are asked for again, and when. It is empty when none are.
func (j *judge) planText() string {
	s := &j.spec
	if !s.Recrawl {
		return ""
	}
	return fmt.Sprintf("%v|%v|%d|%x", s.RecrawlMin, s.RecrawlMax, s.MaxDepth, s.ScopeHash())
}

// beginPlanning begins the pass if the spec asks for one. When pages are asked for again no longer, all stays as it is and
// counts for nothing.
func (s *shard) beginPlanning() {
	text := s.j.planText()
	if s.m.Plan.Spec == text {
		return
	}
	s.m.Plan = planning{Spec: text, Running: text != ""}
	s.changes++
}

func (s *shard) planSome(now time.Time) (more bool, err error) {
	p := &s.m.Plan
	if !p.Running {
		return false, nil
	}
	next, err := s.stretch(p.Next, passStretch, func(h *host, _ []byte, r *record) (bool, error) {
		if r.Class == crawl.Queued {
			return false, nil
		}
		was := r.again
		soon := r.Next > 0 && (r.Pace == paceNow || r.Pace == paceHint)
		if soon && s.wanted(r) {
			return false, nil
		}
		err := s.plan(h, r, now)
		if r.again == was {
			return false, err
		}
		s.reschedule(h, now)
		return true, err
	})
	if err != nil {
		return false, err
	}
	p.Next, p.Running = next, next != nil
	s.changes++
	return p.Running, nil
}
