package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/judge"
)

// judgeAnew begins the pass when relevant settings have changed. URLs of outstanding visits are
// decided about at once.
func (s *Shard) judgeAnew() error {
	m, now := &s.ledger.Meta.Judging, time.Now()
	fp, by := s.ledger.Judge.Fingerprint(), s.ledger.Judge.Settings()
	was := m.By
	// Such a file does not have the settings. A superfluous check costs less than leaving out URLs
	// that are permitted now.
	if was == nil {
		was = &judge.Settings{Agent: by.Agent, Purposes: by.Purposes}
	}
	if s.ledger.Meta.Spec == fp && by.Same(was) {
		if m.Running {
			s.links.Decided(now) // the log may contain results that the pass has not seen
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
