package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/judge"
)

// judgeAnew begins the pass when the spec is another in what URLs were judged by. What outstanding
// visits hold is judged at once.
func (s *Shard) judgeAnew() error {
	m, now := &s.ledger.Meta.Judging, time.Now()
	fp, by := s.ledger.Judge.Fingerprint(), s.ledger.Judge.Settings()
	was := m.By
	// Such a file does not say; to look once more costs less than to leave out what would be let in
	if was == nil {
		was = &judge.Settings{Agent: by.Agent, Purposes: by.Purposes}
	}
	if s.ledger.Meta.Spec == fp && by.Same(was) {
		if m.Running {
			s.links.Decided(now) // the log may have results that the pass has not seen
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
