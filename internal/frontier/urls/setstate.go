package urls

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
)

// What a URL is decides in which books it stands: a Queued one in its host's queue or among those
// that wait, any other in the counts of its class and reason, a Stored one in those of its host and
// domain too, and one that is to be fetched again in the plan for that. Only become and admit move
// a URL from one class to another, so the books always agree with the records.

// Verdict says what a URL is to be, and what comes with that.
type Verdict struct {
	Class  crawl.Class // Queued, Stored, Redirected, Refused or Failed
	Reason crawl.Reason
	Detail string
	Due    time.Time // Queued: when the next attempt may be made; zero: at once

	// From is set when a fetch, or the loss of a page, decided: the URL is planned to be fetched
	// again, if the spec wants that, counting from then if it has never answered. What the spec
	// decides is not planned.
	From time.Time
	// Blank forgets what was fetched: with no copy held there is nothing to compare the next one
	// with. A mirror's URL and one that is queued again keep it, since their page may turn out to
	// be the same.
	Blank bool
	// Silent adds no line to the crawl log: what was refused is refused still, or the caller adds a
	// line that tells more. One that is Queued never gets a line here.
	Silent bool
}

// SetState makes r, a URL of h, what v says. The caller writes the record. What the queue is
// ordered by, r's depth and rank, must not have been changed while r is Queued.
func (s *URLs) SetState(h *hosts.Host, r *Record, v Verdict) error {
	var err error
	if r.Class == crawl.Queued {
		if v.Class != crawl.Queued || !v.Due.IsZero() {
			s.landed(h, r.Order)
		}
		err = s.Dequeue(h, r)
	} else {
		s.count(h, r, -1)
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

// Insert makes r, a URL that was not known yet, what v says. The caller writes the record.
func (s *URLs) Insert(h *hosts.Host, r *Record, v Verdict) error {
	if v.Class == crawl.Queued {
		h.Found()
	}
	return s.enter(h, r, v)
}

// enter puts r, which stands in no book, into those of what v says.
func (s *URLs) enter(h *hosts.Host, r *Record, v Verdict) error {
	r.Class, r.Reason, r.Detail, r.Due = v.Class, v.Reason, v.Detail, v.Due
	if r.Class == crawl.Queued {
		o := &h.Origins[r.Origin]
		first := h.Queued == 0 && h.Stored == 0 || o.Ready == 0 && o.Again == 0
		if err := s.Enqueue(h, r); err != nil || !first {
			return err
		}
		// Its robots.txt may have been read before, for another host's sake, when nothing
		// here was to be crawled.
		return s.features.AskOrigin(h, int(r.Origin), time.Now())
	}
	s.count(h, r, +1)
	s.ledger.MarkDirty(h)
	if !v.Silent {
		s.LogLine(r, nil)
	}
	if v.From.IsZero() {
		return nil
	}
	return s.planned(h, r, v.From)
}

// Enqueue puts r, already Queued, into its host's queue, or among those that wait when it has a
// Due, and counts it.
func (s *URLs) Enqueue(h *hosts.Host, r *Record) error {
	h.Queued++
	s.ledger.Meta.Counts.Queued++
	s.ledger.MarkDirty(h)
	if r.Waiting() {
		h.Later++
		s.ledger.Meta.Counts.Later++
		if s.Later.IsZero() || r.Due.Before(s.Later) {
			s.Later = r.Due
		}
		return s.ledger.Put(hosts.BucketLater, hosts.LaterKey(nil, r.Due, h.ID, r.Order), []byte{})
	}
	h.Origins[r.Origin].Ready++
	s.key = hosts.QueueKey(s.key[:0], h.ID, r.Origin, r.Depth, r.Rank, r.Order)
	return s.ledger.PutReady(s.key)
}

// Dequeue takes a Queued r out of its host's queue, or out of those that wait, and uncounts it.
func (s *URLs) Dequeue(h *hosts.Host, r *Record) error {
	h.Queued--
	s.ledger.Meta.Counts.Queued--
	s.ledger.MarkDirty(h)
	if r.Waiting() {
		h.Later--
		s.ledger.Meta.Counts.Later--
		return s.ledger.Drop(hosts.BucketLater, hosts.LaterKey(nil, r.Due, h.ID, r.Order))
	}
	h.Origins[r.Origin].Ready--
	return s.ledger.DropReady(hosts.QueueKey(make([]byte, 0, 15), h.ID, r.Origin, r.Depth, r.Rank, r.Order))
}

// count adds a record that is not Queued to the counts, or (n = -1) takes it out.
func (s *URLs) count(h *hosts.Host, r *Record, n int64) {
	c := &s.ledger.Meta.Counts
	switch r.Class {
	case crawl.Stored:
		c.Stored += n
		h.Stored += n
		s.ledger.MarkDirty(h)
		if h.Domain != nil {
			h.Domain.Stored += n
			s.ledger.DomainChanged(h.Domain)
		}
	case crawl.Redirected:
		c.Redirected += n
	case crawl.Refused:
		c.Refused += n
		if refusedUnasked(r.Reason) {
			h.Refused = max(h.Refused+n, 0) // older files lack those that were queued before
			s.ledger.MarkDirty(h)
		}
	case crawl.Failed:
		c.Failed += n
		h.Failed = max(h.Failed+n, 0) // those from before this was counted are not in it
		s.ledger.MarkDirty(h)
	}
	if r.Reason != "" {
		if c.ByReason[string(r.Reason)] += n; c.ByReason[string(r.Reason)] == 0 {
			delete(c.ByReason, string(r.Reason))
		}
	}
}

// refusedUnasked reports whether URLs are refused for this reason without a request. How many URLs
// of a host are is bounded, since finding them costs its owner nothing.
func refusedUnasked(r crawl.Reason) bool {
	switch r {
	case crawl.ReasonRedirects, crawl.ReasonPorts, crawl.ReasonMirror, crawl.ReasonHosts, crawl.ReasonForgotten, crawl.ReasonPlanned:
		return true
	}
	return r.Has(crawl.UndoneBySpec)
}

// landed takes a URL that is in its host's queue no longer out of the visit it may be in.
func (s *URLs) landed(h *hosts.Host, order uint64) {
	if h.Visit == nil {
		return
	}
	for i, u := range h.Visit.List {
		if u.Order == order {
			h.Visit.List = slices.Delete(h.Visit.List, i, i+1)
			s.InFlight--
			return
		}
	}
}

// Refetch makes a URL that is done one that is to be fetched again, if the spec lets it in. The
// caller writes the record.
func (s *URLs) Refetch(h *hosts.Host, r *Record) error {
	r.Attempts = 0
	return s.SetState(h, r, s.Decide(r, h))
}

// DueNow is what r, which waits for another attempt, becomes when it need wait no longer. Why it
// waited stays known.
func (r *Record) DueNow() Verdict {
	return Verdict{Class: crawl.Queued, Reason: r.Reason, Detail: r.Detail}
}

// PutURL writes the record of a URL.
func (s *URLs) PutURL(key []byte, r *Record) error {
	s.buffer = r.Append(s.buffer[:0])
	return s.ledger.PutRecord(key, s.buffer)
}

// PutNew writes the record of a URL of a host for the first time.
func (s *URLs) PutNew(id hosts.HostID, r *Record) error {
	s.key = hosts.URLKey(s.key[:0], id, r.Order)
	return s.PutURL(s.key, r)
}

// Decide says what a URL is to be by the spec of now, its scope included.
func (s *URLs) Decide(r *Record, h *hosts.Host) Verdict { return DecideBy(&s.ledger.Judge, r, h) }

// DecideBy is Decide by another spec than that of now.
func DecideBy(j *judge.Judge, r *Record, h *hosts.Host) Verdict {
	if d := j.Scope.Decide(r.URL); !d.In {
		return Verdict{Class: crawl.Refused, Reason: crawl.ReasonScope, Detail: d.Rule}
	}
	return judgeBy(j, r, h)
}

// Judge says what a URL in scope is to be by the spec of now.
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

// Full reports that a host has all the pages it may have.
func (s *URLs) Full(h *hosts.Host) bool {
	n := s.ledger.Judge.Spec.MaxPagesPerHost
	return n > 0 && h.Stored >= n
}
