package hosts

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// An auxiliary request is a request that another part of the crawler needs in a visit to some host
// (crawl.AuxRequest). This file adds such requests to their hosts, selects them for visits and
// removes them. What differs between their kinds is in a table of AuxKind, in which each feature
// registers its kinds (Feature.Aux).

// AuxKind defines how the auxiliary requests of one kind are handled. A nil function means the
// default.
type AuxKind struct {
	// Want decides about a new request, and returns the host whose visits are to send it. It
	// returns nil when the request was answered at once, is not wanted, or was noted elsewhere. The
	// default is NewAux.
	Want func(e *crawl.AuxRequest, now time.Time) (*Host, error)
	// From is the earliest time at which a request may be sent. The default is that of package
	// polite.
	From func(h *Host, e *crawl.AuxRequest, now time.Time) time.Time
	// Awaited: the crawl is not done before these requests are answered, however long they must
	// wait.
	Awaited bool
	// Dress is called for each visit, and the function that it returns for each request that the
	// visit may contain. That function adds to the request what only its fetcher needs to know. ok
	// is false for a request that does not go with this visit.
	Dress func(h *Host, now time.Time) func(e *crawl.AuxRequest) (ok bool, err error)
	// Answer applies an answer, if it is still awaited.
	Answer func(a *crawl.Answer, at, now time.Time) error
	// Drop removes the record of a request that is done. The default deletes it from its bucket.
	Drop func(h *Host, e *crawl.AuxRequest, now time.Time) error
}

// MaxAux limits the auxiliary requests that wait at one host, because other origins can cause them
// at no cost, for example by a redirect of robots.txt.
const MaxAux = 1000

// AddAux adds an auxiliary request to a host. Repeated requests are sent once.
func (s *Features) AddAux(e crawl.AuxRequest, now time.Time) error {
	if crawl.ShardOf(e.URL.Host(), s.ledger.Judge.Spec.Shards) != s.ledger.ID {
		s.ledger.Log.Error("an auxiliary request of another shard is in this log", "url", e.URL)
		return nil
	}
	if s.caused != nil {
		if h, err := s.ledger.HostNamed(e.URL.Host()); err != nil {
			return err
		} else if h != nil {
			if err := s.caused.MakeRoom(h, &e, now); err != nil {
				return err
			}
		}
	}
	want := s.Kinds[e.Kind].Want
	if want == nil {
		want = s.NewAux
	}
	h, err := want(&e, now)
	if h == nil || err != nil {
		return err
	}
	if s.caused != nil {
		if refused, err := s.caused.Refuse(h, &e, now); refused || err != nil {
			return err
		}
	}
	if len(h.Aux) >= MaxAux {
		s.ledger.Log.Error("too many auxiliary requests for one host: dropped", "url", e.URL)
		return nil
	}
	return h.KeepAux(e)
}

// Causes limits the auxiliary requests that one party causes to another (package polite).
type Causes interface {
	// MakeRoom is called before a request for h, which may have no room for more.
	MakeRoom(h *Host, e *crawl.AuxRequest, now time.Time) error
	// Refuse answers a request that is not to be sent to h.
	Refuse(h *Host, e *crawl.AuxRequest, now time.Time) (refused bool, err error)
}

// LimitCaused has the requests that one party causes to another limited by c.
func (s *Features) LimitCaused(c Causes) { s.caused = c }

// KeepAux adds an auxiliary request to those of h, and writes it to the file with the same commit.
func (h *Host) KeepAux(e crawl.AuxRequest) error {
	h.OfferAux(e)
	h.changed()
	return h.memory.file.Put(store.BucketAux, crawl.AppendAuxRequest(h.ID.Append(nil), e), []byte{})
}

// OfferAux adds an auxiliary request to those of h. It is in memory only: its feature has a record
// from which it is offered again after a restart.
func (h *Host) OfferAux(e crawl.AuxRequest) {
	h.Aux = append(h.Aux, e)
	h.memory.places.Unschedule(h)
}

// WithdrawAux removes from h the auxiliary requests for which gone returns true, in memory only.
func (h *Host) WithdrawAux(gone func(e crawl.AuxRequest) bool) {
	h.Aux = slices.DeleteFunc(h.Aux, gone)
	h.memory.places.Unschedule(h)
}

// FoundNearer gives the request of h that equals e in all but its Hop the Hop of e, in memory only.
func (h *Host) FoundNearer(e crawl.AuxRequest) {
	for i := range h.Aux {
		if x := &h.Aux[i]; x.Kind == e.Kind && x.URL == e.URL && x.Origin == e.Origin {
			x.Hop = e.Hop
		}
	}
}

// NewAux returns the host of a request's URL, or nil when the same request waits there already.
func (s *Features) NewAux(e *crawl.AuxRequest, _ time.Time) (*Host, error) {
	h, err := s.ledger.HostOf(e.URL.Host())
	if err != nil || slices.Contains(h.Aux, *e) {
		return nil, err
	}
	return h, nil
}

// LoadAux reads the auxiliary requests of a file just opened.
func (s *Features) LoadAux() error {
	return s.ledger.Tx.Bucket(store.BucketAux).ForEach(func(k, _ []byte) error {
		e, err := crawl.DecodeAuxRequest(k[4:])
		if err != nil {
			return err
		}
		h, err := s.ledger.HostWith(store.KeyHost(k))
		if h != nil {
			h.Aux = append(h.Aux, e)
		}
		return err
	})
}

// Reply answers an auxiliary request.
func (s *Features) Reply(e *crawl.AuxRequest, a crawl.Answer) error {
	a.Aux = *e
	return s.ledger.Send(e.ReplyShard, &crawl.Event{Answers: []crawl.Answer{a}})
}

// ApplyAnswer applies the answer to an auxiliary request.
func (s *Features) ApplyAnswer(a *crawl.Answer, at, now time.Time) error {
	if answer := s.Kinds[a.Aux.Kind].Answer; answer != nil {
		return answer(a, at, now)
	}
	return nil
}

// DropAux removes an auxiliary request that is done, or no longer wanted, from its host.
func (s *Features) DropAux(h *Host, e crawl.AuxRequest, now time.Time) error {
	e.ETag, e.LastModified, e.Form = "", "", "" // these were added when the request was granted
	h.Aux = slices.DeleteFunc(h.Aux, func(x crawl.AuxRequest) bool { return x == e })
	s.ledger.MarkDirty(h)
	if drop := s.Kinds[e.Kind].Drop; drop != nil {
		return drop(h, &e, now)
	}
	return s.ledger.Drop(store.BucketAux, crawl.AppendAuxRequest(h.ID.Append(nil), e))
}

// ForeignRobots reports that e follows a robots.txt redirect to another host.
func ForeignRobots(e *crawl.AuxRequest) bool {
	return e.Kind == crawl.AuxRobots && e.URL.Host() != e.Origin.Host
}

// ProxiesRobots reports that the redirect leads to the other host's own robots.txt.
func ProxiesRobots(e *crawl.AuxRequest) bool { return e.URL.PathQuery() == "/robots.txt" }

// PendingAux is the number of origins that have waited for the answer of another host, for less
// than patience.
func (s *Ledger) PendingAux(now time.Time, patience time.Duration) int {
	n := 0
	for _, h := range s.Hosts {
		for i := range h.Origins {
			if o := &h.Origins[i]; o.PendingOn != "" && o.Ready > 0 && now.Sub(o.PendingAt) < patience {
				n++
			}
		}
	}
	return n
}
