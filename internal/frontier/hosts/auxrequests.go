package hosts

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// An errand is a request that another part needs under a visit to some host (crawl.Errand). This
// file adds errands to their hosts, grants them and drops them. What the kinds have of their own
// stands in a table, AuxKind, which each feature registers for its kinds (Feature.Errands).

// AuxKind says how the errands of one kind are dealt with. A function that is nil stands for the
// usual way.
type AuxKind struct {
	// Want decides about an errand that is offered, and returns the host whose next visits are to
	// do it. It returns nil when the errand was answered at once, is not wanted, or was noted
	// elsewhere. The usual way is NewAux.
	Want func(e *crawl.AuxRequest, now time.Time) (*Host, error)
	// From is when an errand may be done. The usual way is that of package polite.
	From func(h *Host, e *crawl.AuxRequest, now time.Time) time.Time
	// Awaited: a crawl is not done before its errands are answered, however long they have to wait.
	Awaited bool
	// Dress is called for each visit, and what it returns for each errand that the visit may have.
	// That puts into the errand what only its fetcher needs to know. ok is false for an errand that
	// does not go with this visit.
	Dress func(h *Host, now time.Time) func(e *crawl.AuxRequest) (ok bool, err error)
	// Answer takes in an answer, if it is still awaited.
	Answer func(a *crawl.Answer, at, now time.Time) error
	// Drop forgets the record of an errand that is done. The usual way deletes it from its bucket.
	Drop func(h *Host, e *crawl.AuxRequest, now time.Time) error
}

// MaxAux bounds what other origins may ask of one host: a robots.txt redirect costs its owner
// nothing.
const MaxAux = 1000

// AddAux notes a request that another part needs under a host's visit. Asked twice, it is done
// once.
func (s *Features) AddAux(e crawl.AuxRequest, now time.Time) error {
	if crawl.ShardOf(e.URL.Host(), s.ledger.Judge.Spec.Shards) != s.ledger.ID {
		s.ledger.Log.Error("an auxiliary request of another shard is in this log", "url", e.URL)
		return nil
	}
	want := s.Kinds[e.Kind].Want
	if want == nil {
		want = s.NewAux
	}
	h, err := want(&e, now)
	if h == nil || err != nil {
		return err
	}
	if len(h.Aux) >= MaxAux {
		s.ledger.Log.Error("too many auxiliary requests for one host: dropped", "url", e.URL)
		return nil
	}
	h.Aux = append(h.Aux, e)
	s.ledger.MarkDirty(h)
	return s.ledger.Put(BucketAux, crawl.AppendAuxRequest(h.ID.Append(nil), e), []byte{})
}

// NewAux returns the host of an errand's URL, or nil when the errand waits there already.
func (s *Features) NewAux(e *crawl.AuxRequest, _ time.Time) (*Host, error) {
	h, err := s.ledger.HostOf(e.URL.Host())
	if err != nil || slices.Contains(h.Aux, *e) {
		return nil, err
	}
	return h, nil
}

// LoadAux reads the errands of a file just opened.
func (s *Features) LoadAux() error {
	return s.ledger.Tx.Bucket(BucketAux).ForEach(func(k, _ []byte) error {
		e, err := crawl.DecodeAuxRequest(k[4:])
		if err != nil {
			return err
		}
		h, err := s.ledger.HostWith(KeyHost(k))
		if h != nil {
			h.Aux = append(h.Aux, e)
		}
		return err
	})
}

// Reply answers an errand.
func (s *Features) Reply(e *crawl.AuxRequest, a crawl.Answer) error {
	a.Aux = *e
	return s.ledger.Send(e.ReplyShard, &crawl.Event{Answers: []crawl.Answer{a}})
}

// ApplyAnswer takes in the answer to an errand.
func (s *Features) ApplyAnswer(a *crawl.Answer, at, now time.Time) error {
	if answer := s.Kinds[a.Aux.Kind].Answer; answer != nil {
		return answer(a, at, now)
	}
	return nil
}

// DropAux takes an errand that is done, or not wanted any more, from its host.
func (s *Features) DropAux(h *Host, e crawl.AuxRequest, now time.Time) error {
	e.ETag, e.LastModified, e.Form = "", "", "" // put in when it was granted
	h.Aux = slices.DeleteFunc(h.Aux, func(x crawl.AuxRequest) bool { return x == e })
	s.ledger.MarkDirty(h)
	if drop := s.Kinds[e.Kind].Drop; drop != nil {
		return drop(h, &e, now)
	}
	return s.ledger.Drop(BucketAux, crawl.AppendAuxRequest(h.ID.Append(nil), e))
}

// ForeignRobots reports that e follows a robots.txt redirect to another host.
func ForeignRobots(e *crawl.AuxRequest) bool {
	return e.Kind == crawl.AuxRobots && e.URL.Host() != e.Origin.Host
}

// ProxiesRobots reports that e leads to the other host's own robots.txt.
func ProxiesRobots(e *crawl.AuxRequest) bool { return e.URL.PathQuery() == "/robots.txt" }
