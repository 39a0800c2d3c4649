package urls

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// The class of a URL determines which structures contain it. A Queued URL is in its host's queue or
// in BucketLater. Any other URL is in the counts of its class and reason; a Stored one also in
// those of its host and domain; and one that is to be fetched again in the plan. Only SetState and
// Insert change the class of a URL, so these structures always agree with the records.

// Verdict is the class that a URL is to have, with the reason and further effects.
type Verdict struct {
	Class  crawl.Class // Queued, Stored, Redirected, Refused or Failed
	Reason crawl.Reason
	Detail string
	Due    time.Time // Queued: the earliest time of the next attempt; zero: at once

	// From is set when a fetch, or the loss of a page, decided. The URL is then planned to be
	// fetched again if the spec wants that; if it was never fetched, the interval begins at From.
	// Verdicts that only follow from the spec are not planned.
	From time.Time
	// Blank removes what is known of the fetched copy: without a stored copy there is nothing with
	// which the next one could be compared. A URL of a mirror and one that is queued again keep it,
	// because their page may prove to be the same.
	Blank bool
	// Silent adds no line to the crawl log: because the URL was refused before, or because the
	// caller adds a more detailed line. A Queued URL never gets a line here.
	Silent bool
}

// SetState gives r, a URL of h, the class and properties of v. The caller writes the record. r's
// depth and rank, which order the queue, must not be changed while r is Queued.
func (s *URLs) SetState(h *hosts.Host, r *Record, v Verdict) error {
	var err error
	if r.Class == crawl.Queued {
		if v.Class != crawl.Queued || !v.Due.IsZero() {
			s.landed(h, r.Order)
		}
		err = s.Dequeue(h, r)
	} else {
		h.CountURL(r.Class, r.Reason, -1)
		err = s.Unplan(h, r)
	}
	if err != nil {
		return err
	}
	if v.Blank {
		r.StoredCopy, r.Again = StoredCopy{}, Again{}
	}
	return s.enter(h, r, v)
}

// Insert gives r, a URL that was not known yet, the class and properties of v. The caller writes
// the record.
func (s *URLs) Insert(h *hosts.Host, r *Record, v Verdict) error {
	if v.Class == crawl.Queued {
		h.Found()
	}
	return s.enter(h, r, v)
}

// enter adds r, which is in no structure, to those that v requires.
func (s *URLs) enter(h *hosts.Host, r *Record, v Verdict) error {
	r.Class, r.Reason, r.Detail, r.Due = v.Class, v.Reason, v.Detail, v.Due
	if r.Class == crawl.Queued {
		o := &h.Origins[r.Origin]
		first := h.Queued == 0 && h.Stored == 0 || o.Ready == 0 && o.Again == 0
		if err := s.Enqueue(h, r); err != nil || !first {
			return err
		}
		// The origin's robots.txt may have been read earlier for another host, when nothing here
		// was to be crawled.
		return s.features.AskOrigin(h, int(r.Origin), time.Now())
	}
	h.CountURL(r.Class, r.Reason, +1)
	s.ledger.MarkDirty(h)
	if !v.Silent {
		s.LogLine(r, nil)
	}
	if v.From.IsZero() {
		return nil
	}
	return s.planned(h, r, v.From)
}

// Enqueue adds r, already Queued, to its host's queue, or to BucketLater when it has a Due, and
// counts it.
func (s *URLs) Enqueue(h *hosts.Host, r *Record) error {
	h.URLQueued(r.Origin, r.Waiting())
	if r.Waiting() {
		if s.Later.IsZero() || r.Due.Before(s.Later) {
			s.Later = r.Due
		}
		return s.ledger.Put(store.BucketLater, store.LaterKey(nil, r.Due, h.ID, r.Order), []byte{})
	}
	s.key = store.QueueKey(s.key[:0], h.ID, r.Origin, r.Depth, r.Rank, r.Order)
	return s.ledger.PutReady(s.key)
}

// Dequeue removes a Queued r from its host's queue, or from BucketLater, and no longer counts it.
func (s *URLs) Dequeue(h *hosts.Host, r *Record) error {
	h.URLDequeued(r.Origin, r.Waiting())
	if r.Waiting() {
		return s.ledger.Drop(store.BucketLater, store.LaterKey(nil, r.Due, h.ID, r.Order))
	}
	return s.ledger.DropReady(store.QueueKey(make([]byte, 0, 15), h.ID, r.Origin, r.Depth, r.Rank, r.Order))
}

// landed removes a URL that is no longer in its host's queue from the visit that may contain it.
func (s *URLs) landed(h *hosts.Host, order uint64) {
	if h.Visit != nil && h.Visit.Remove(order) {
		s.InFlight--
	}
}

// Refetch makes a URL that is done one that is to be fetched again, if the spec permits it. The
// caller writes the record.
func (s *URLs) Refetch(h *hosts.Host, r *Record) error {
	r.Attempts = 0
	return s.SetState(h, r, s.Decide(r, h))
}

// DueNow is the verdict for r, which waits for another attempt, when the wait is over. It keeps the
// reason for the wait.
func (r *Record) DueNow() Verdict {
	return Verdict{Class: crawl.Queued, Reason: r.Reason, Detail: r.Detail}
}

// PutURL writes the record of a URL, and counts its page by Rendering. That changes with the class
// of the record and with the copy, so it is counted here and not in SetState.
func (s *URLs) PutURL(key []byte, r *Record) error {
	s.ledger.Meta.Counts.MoveRendering(r.counted, r.toCount())
	r.counted = r.toCount()
	s.buffer = r.Append(s.buffer[:0])
	return s.ledger.PutRecord(key, s.buffer)
}

// PutNew writes the record of a URL of a host for the first time.
func (s *URLs) PutNew(id store.HostID, r *Record) error {
	s.key = store.URLKey(s.key[:0], id, r.Order)
	return s.PutURL(s.key, r)
}

// Decide returns the verdict on a URL by the current spec and its scope.
func (s *URLs) Decide(r *Record, h *hosts.Host) Verdict { return DecideBy(&s.ledger.Judge, r, h) }

// DecideBy is Decide by the settings in j.
func DecideBy(j *judge.Judge, r *Record, h *hosts.Host) Verdict {
	if d := j.Scope.Decide(r.URL); !d.In {
		return Verdict{Class: crawl.Refused, Reason: crawl.ReasonScope, Detail: d.Rule}
	}
	return judgeBy(j, r, h)
}

// Judge returns the verdict on a URL in scope by the current spec.
func (s *URLs) Judge(r *Record, h *hosts.Host) Verdict { return judgeBy(&s.ledger.Judge, r, h) }

func judgeBy(j *judge.Judge, r *Record, h *hosts.Host) (v Verdict) {
	others := h.Stored
	if r.Class == crawl.Stored {
		others--
	}
	v.Class, v.Reason, v.Detail = j.Judge(judge.Subject{
		URL: r.URL, Depth: r.Depth, Redirects: r.Redirects,
		Closed: h.Closed, Mirrored: h.Origins[r.Origin].Mirror.Mirrored(), Stored: others,
	})
	return v
}

// Full reports that a host has as many pages as it may have.
func (s *URLs) Full(h *hosts.Host) bool {
	n := s.ledger.Judge.MaxPages(h.Name)
	return n > 0 && h.Stored >= n
}
