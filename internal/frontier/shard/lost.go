package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// ApplyStoreLost starts the search for URLs whose pages are lost. A second call has no effect. When
// a later owner reads the event from the log, the mark is later too; then more pages are fetched
// again than necessary, but never fewer.
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

// ProbeLost makes the data.txt files of h that were in a lost store due again, with the files
// nested in them.
func (s *Passes) ProbeLost(h *hosts.Host, which func(*hosts.Origin) bool, now time.Time) error {
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Data == crawl.ProbeRead && which(o) {
			o.ExpireData()
			if err := s.datafiles.DropNested(h, o.Origin, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// RefillSome is a pass that queues URLs whose pages are lost. Like all passes it waits until the
// log is read, because the log may contain later visits.
func (s *Passes) RefillSome(now time.Time) (more bool, err error) {
	l := &s.ledger.Meta.Lost
	if !l.Running {
		return false, nil
	}
	next, err := s.urls.Stretch(l.Next, store.PassStretch, func(h *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		if r.Class != crawl.Stored || !l.IsLost(r.Visit) {
			return false, nil
		}
		// ApplyStoreLost did not include hosts that were evicted at that time.
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

// RequeueSince queues every URL again that was answered since t, because its page may be lost from
// the hand-off. What the spec has refused since then stays refused: no pass would come back to it,
// and a queued URL that may not be requested keeps its host due for ever.
func (s *Passes) RequeueSince(t time.Time) error {
	return s.urls.EachRecord(func(h *hosts.Host, k []byte, r *urls.Record) (bool, error) {
		if r.Class == crawl.Queued || r.FetchedAt == 0 || r.FetchedAt < t.UnixMilli() || r.Reason == crawl.ReasonMirror {
			return false, nil
		}
		if s.ledger.Judge.Forgotten.Has(r.URL) {
			return s.forgetOne(h, r)
		}
		return true, s.mirrors.Refetch(h, r)
	})
}
