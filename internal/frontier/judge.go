package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// judgeBy makes the shard judge by another spec from now on, and what it has judged before as well.
// The caller holds mu.
func (s *shard) judgeBy(j judge.Judge) {
	recrawl := s.ledger.Judge.Spec.Recrawl
	s.ledger.Judge = j
	s.ledger.Summary = ledger.Summary{}
	if s.ledger.Phase.MayWrite() != nil {
		return
	}
	err := s.judgeAnew()
	if err == nil {
		err = s.passes.Begin()
	}
	if err != nil {
		s.ledger.Fail(err) // keepCommitted ends the shard with it, and it is opened anew
		return
	}
	s.rupsites.SitesDue = time.Now() // what is wanted of sites may be another thing now
	if recrawl != j.Spec.Recrawl {
		for _, h := range s.ledger.Hosts {
			s.ledger.OutOfPlace(h)
		}
	}
}

// requeueSince puts every URL with an answer since t back into its queue: its page may be
// gone from the hand-off.
func (s *shard) requeueSince(t time.Time) error {
	return s.urls.EachRecord(func(h *ledger.Host, k []byte, r *urls.Record) (bool, error) {
		if r.Class == crawl.Queued || r.FetchedAt == 0 || r.FetchedAt < t.UnixMilli() || r.Reason == crawl.ReasonMirror {
			return false, nil
		}
		r.Attempts = 0
		return true, s.urls.Become(h, r, urls.Verdict{Class: crawl.Queued})
	})
}
