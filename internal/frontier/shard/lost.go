package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// ApplyStoreLost begins the search for URLs whose pages are gone. Applied again it changes nothing.
// Read from the log by a later owner than the first, its mark is a later one too: then more is
// fetched again than must be, never less.
func (s *Passes) ApplyStoreLost(identity string, now time.Time) error {
	l := &s.ledger.Meta.Lost
	if !l.Begin(identity, crawl.VisitID{Epoch: s.ledger.Epoch, N: s.ledger.VisitN}) {
		return nil
	}
	s.ledger.WantCheckpoint() // a replay would have to mark a later visit
	s.ledger.Log.Warn("the pages stored so far are lost: fetching them again", "store", identity, "stored", s.ledger.Meta.Counts.Stored)
	for _, h := range s.ledger.Hosts {
		if err := s.ProbeLost(h, func(*hosts.Origin) bool { return true }, now); err != nil {
			return err
		}
	}
	return nil
}

// ProbeLost makes the data.txt files of h that were in a lost store due again, and
// what is nested in them.
func (s *Passes) ProbeLost(h *hosts.Host, which func(*hosts.Origin) bool, now time.Time) error {
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Data == crawl.ProbeRead && which(o) {
			o.DataDue = time.Time{}
			s.ledger.MarkDirty(h)
			if err := s.datafiles.DropNested(h, o.Origin, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// RefillSome is a pass that puts URLs whose pages are lost back into their queues. It waits for the
// log to be read, as all do, which may tell of later visits.
func (s *Passes) RefillSome(now time.Time) (more bool, err error) {
	l := &s.ledger.Meta.Lost
	if !l.Running {
		return false, nil
	}
	next, err := s.urls.Stretch(l.Next, hosts.PassStretch, func(h *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		if r.Class != crawl.Stored || !l.IsLost(r.Visit) {
			return false, nil
		}
		// A host that rested then has not heard of it.
		if err := s.ProbeLost(h, func(*hosts.Origin) bool { return true }, now); err != nil {
			return false, err
		}
		return true, s.mirrors.Refetch(h, r)
	})
	if err != nil {
		return false, err
	}
	l.Step(next)
	if !l.Running {
		s.ledger.Log.Info("all URLs whose pages are lost are queued again", "queued", s.ledger.Meta.Counts.Queued)
	}
	return l.Running, nil
}
