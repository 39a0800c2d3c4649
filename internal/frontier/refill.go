package frontier

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// lostStore remembers that page stores of this shard were lost: whose pages are to be fetched again, and how far that has
// got. It is part of the shard's state.
type lostStore struct {
	Seen []string `json:"seen,omitempty"` // identities of the stores begun since, the last ones
	// Mark is the newest visit granted when the last loss was told of. What it or an earlier one has stored may be gone, whenever
	// its outcome comes; pages of later visits are in the new store, which had begun by then.
	Mark    crawl.VisitID `json:"mark,omitzero"`
	Running bool          `json:"running,omitempty"` // URLs are being put back into their queues
	Next    []byte        `json:"next,omitempty"`    // the key to go on from
}

const maxStoresSeen = 64

// applyStoreLost begins the search for URLs whose pages are gone. Applied again it changes nothing. Read from the log by a
// later owner than the first, its mark is a later one too: then more is fetched again than must be, never less.
func (s *shard) applyStoreLost(identity string, now time.Time) error {
	l := &s.m.Lost
	if slices.Contains(l.Seen, identity) {
		return nil
	}
	l.Seen = append(l.Seen, identity)
	l.Seen = l.Seen[max(len(l.Seen)-maxStoresSeen, 0):]
	l.Mark = crawl.VisitID{Epoch: s.epoch, N: s.visitN}
	l.Running, l.Next = true, nil
	s.copySoon = true // the mark is better kept than made anew
	s.changes++
	s.log.Warn("the pages stored so far are lost: fetching them again", "store", identity, "stored", s.m.Counts.Stored)
	for _, h := range s.hosts {
		if err := s.probeLost(h, func(*origin) bool { return true }, now); err != nil {
			return err
		}
	}
	return nil
}

// probeLost makes the data.txt files of h that were in a lost store due again, and what is nested in them.
func (s *shard) probeLost(h *host, which func(*origin) bool, now time.Time) error {
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Data == crawl.ProbeRead && which(o) {
			o.DataDue = time.Time{}
			s.touch(h)
			if err := s.dropNested(h, o.Origin, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// isLost reports whether what that visit stored may be gone.
func (l *lostStore) isLost(id crawl.VisitID) bool {
	return !l.Mark.IsZero() && id.Compare(l.Mark) <= 0
}

// refillSome is a pass that puts URLs whose pages are lost back into their queues. It waits for the log to be read, as all do,
// which may tell of later visits.
func (s *shard) refillSome(now time.Time) (more bool, err error) {
	l := &s.m.Lost
	if !l.Running {
		return false, nil
	}
	next, err := s.stretch(l.Next, passStretch, func(h *host, _ []byte, r *record) (bool, error) {
		if r.Class != crawl.Stored || !l.isLost(r.Visit) {
			return false, nil
		}
		return true, s.refetch(h, r, now)
	})
	if err != nil {
		return false, err
	}
	l.Next, l.Running = next, next != nil
	s.changes++
	if !l.Running {
		s.log.Info("all URLs whose pages are lost are queued again", "queued", s.m.Counts.Queued)
	}
	return l.Running, nil
}

// refetch makes a URL that is done one that is to be fetched, if the spec still lets it. The caller writes the record.
func (s *shard) refetch(h *host, r *record, now time.Time) error {
	if err := s.uncount(h, r); err != nil {
		return err
	}
	r.Class, r.Reason, r.Detail, r.Due, r.Attempts = crawl.Queued, "", "", time.Time{}, 0
	s.touch(h)
	if d := s.j.scope.Decide(r.URL); !d.In {
		r.Class, r.Reason, r.Detail = crawl.Refused, crawl.ReasonScope, d.Rule
	} else {
		r.Class, r.Reason, r.Detail = s.j.judge(r, h)
	}
	if r.Class != crawl.Queued {
		s.count(r, +1)
		s.logLine(r, nil)
		return nil
	}
	if err := s.enqueue(h, r); err != nil {
		return err
	}
	s.reschedule(h, now)
	return nil
}
