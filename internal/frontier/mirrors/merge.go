package mirrors

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// MirrorLeast is how many URLs a mirror may pass on to its main host, with MirrorPerPage more for
// each of its stored pages, up to MirrorBudget. Paths to which only links on the mirror lead cost
// nothing to invent, and a false claim must not make us overload another site (formats §2.5).
const MirrorLeast = 1000

// MirrorPerPage is how many more URLs it may pass on for each of its stored pages.
const MirrorPerPage = 10

// MirrorBudget is the maximum number of URLs that a mirror passes on.
const MirrorBudget = 100_000

// MirrorStretch is how many URLs a pass handles before it releases the shard's lock. Tests reduce
// it.
var MirrorStretch = 1000

// MirrorChanged begins to adapt an origin's URLs to its new state.
func (s *Mirrors) MirrorChanged(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	m := o.Mirror
	if m == nil { // the record exists only for this
		m = &mirror.Record{State: mirror.Main}
		o.KeepMirror(m)
		s.Mirrors[Ref{h, i}] = struct{}{}
	}
	m.Restart()
	s.Settling[Ref{h, i}] = struct{}{}
	if m.Mirrored() {
		m.Begin(m.Main, now)
		if err := s.disown(h, i); err != nil {
			return err
		}
		s.ledger.Log.Info("an origin is a mirror", "origin", o.Origin.String(), "main", m.Main.String(), "evidence", m.Evidence)
	} else {
		s.ledger.Log.Info("an origin is no longer a mirror", "origin", o.Origin.String(), "state", m.State, "reason", m.Reason, "detail", m.Detail)
	}
	if err := s.features.MirrorChanged(h, i, now); err != nil {
		return err
	}
	s.ledger.MarkDirty(h)
	if err := s.features.AskOrigin(h, i, now); err != nil {
		return err
	}
	return s.Flush(now)
}

// disowned is how many URLs of a mirror's queue disown handles: more than a visit contains, because
// URLs with a lower depth may have been queued since.
const disowned = 4 * polite.MaxVisitURLs

// disown makes the indexer delete pages of a mirror's queued URLs that it may have. A fetcher that
// died may have published some without reporting an outcome. Usually such URLs are fetched again,
// but those of a mirror are not. They are among the first of the queue, because visits take URLs
// from there. Visits are not remembered after a crash, so the exact URLs are unknown.
func (s *Mirrors) disown(h *hosts.Host, i int) error {
	prefix := append(h.ID.Append(nil), byte(i))
	c, n := s.ledger.Ready().Cursor(), 0
	for k, _ := c.Seek(prefix); n < disowned && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		key := store.URLKey(nil, h.ID, store.KeyOrder(k))
		r, err := urls.DecodeRecord(key, s.ledger.Records().Get(key))
		if err != nil {
			return err
		}
		s.ledger.AddAlias(crawl.Page{Kind: crawl.KindPage, URL: r.URL, Deleted: crawl.ReasonMirror})
		n++
	}
	return nil
}

// Resolve handles the URLs of origins that have become mirrors, or have ceased to be, in stretches
// until ctx ends. It takes the lock itself.
func (s *Mirrors) Resolve(ctx context.Context) error { return s.ledger.InStretches(ctx, s.ResolveSome) }

// ResolveSome handles some URLs, and reports whether there are more that can be handled now.
func (s *Mirrors) ResolveSome(now time.Time) (more bool, err error) {
	if !s.ledger.Phase.Active() || len(s.ledger.Unsent) >= store.MirrorPending {
		return false, nil
	}
	ref, ok := s.unsettled()
	if !ok {
		return false, nil
	}
	if err := s.resolveStretch(ref, now); err != nil {
		return false, s.ledger.Fail(err)
	}
	if s.ledger.Changes >= store.CommitChanges {
		err = s.ledger.Commit(true)
	}
	_, more = s.unsettled()
	return more, err
}

// unsettled returns an origin whose URLs can be handled now.
func (s *Mirrors) unsettled() (ref Ref, ok bool) {
	for ref := range s.Settling {
		if s.Resolving(ref) {
			return ref, true
		}
	}
	return ref, false
}

// Resolving reports whether an origin's URLs can be handled now. An origin that ceased to be a
// mirror and is being examined may become the mirror of another origin in a moment; its URLs are
// not queued until then.
func (s *Mirrors) Resolving(ref Ref) bool {
	m := ref.H.Origins[ref.I].Mirror
	return m.Mirrored() || m.Trial == ""
}

func (s *Mirrors) resolveStretch(ref Ref, now time.Time) error {
	h, i := ref.H, ref.I
	m := h.Origins[i].Mirror
	from := m.Next
	if from == nil {
		from = h.ID.Append(nil)
	}
	next, err := s.urls.Stretch(from, MirrorStretch, func(of *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		switch {
		case of != h || int(r.Origin) != i:
			return false, nil
		case m.Mirrored():
			return s.collapse(h, r)
		default:
			return s.reopen(h, r, now)
		}
	})
	if err != nil {
		return err
	}
	if m.GoOn(next); next == nil || store.KeyHost(next) != h.ID {
		m.Finish()
		delete(s.Settling, ref)
		s.ledger.Outdate()
		s.ledger.Log.Info("all URLs of an origin were processed after its mirror state changed", "origin", h.Origins[i].Origin.String(), "mirror", m.Mirrored(), "handed_on", m.Sent)
		if idle(m) {
			h.Origins[i].KeepMirror(nil)
			delete(s.Mirrors, ref)
		}
	}
	s.ledger.MarkDirty(h)
	return s.Flush(now)
}

// collapse makes a URL of a mirror refused, and passes it on to the main host. The caller writes
// the record.
func (s *Mirrors) collapse(h *hosts.Host, r *urls.Record) (changed bool, err error) {
	m := h.Origins[r.Origin].Mirror
	u, err := m.Main.URL(r.URL.PathQuery())
	if err != nil {
		return false, nil // the URL is too long there, so it keeps its class
	}
	switch {
	case r.Class == crawl.Redirected:
		return r.Next != 0, s.urls.Unplan(h, r) // the target of the redirect is known
	case r.Class != crawl.Refused:
	case r.Reason == crawl.ReasonMirror:
		if r.Detail == string(u) || s.Spent(m) {
			return false, nil
		}
	case r.Reason.Has(crawl.SharedByMain):
		return false, nil
	}
	if r.BecomeAlias() {
		m.CountStored() // also counts pages that belonged to another main host before
	}
	if err := s.urls.SetState(h, r, urls.Verdict{Class: crawl.Refused, Reason: crawl.ReasonMirror, Silent: true}); err != nil {
		return false, err
	}
	if r.Glued {
		s.ledger.AddAlias(crawl.Page{Kind: crawl.KindAlias, URL: r.URL, AliasOf: u})
	}
	r.ForwardedTo(s.Forward(h, r))
	return true, nil
}

// reopen queues a URL of an origin that has ceased to be a mirror. The caller writes the record.
func (s *Mirrors) reopen(h *hosts.Host, r *urls.Record, now time.Time) (changed bool, err error) {
	if r.Class == crawl.Redirected && r.Next == 0 {
		return true, s.recrawl.Plan(h, r, now)
	}
	if r.Class != crawl.Refused || r.Reason != crawl.ReasonMirror {
		return false, nil
	}
	if r.NoAlias() {
		s.ledger.AddAlias(crawl.Page{Kind: crawl.KindAlias, URL: r.URL})
	}
	return true, s.urls.Refetch(h, r)
}

// Spent reports whether a mirror has passed on as many URLs as it may.
func (s *Mirrors) Spent(m *mirror.Record) bool {
	limit := min(MirrorLeast+MirrorPerPage*m.StoredPages, MirrorBudget)
	if n := s.ledger.Judge.Spec.MaxPagesPerHost; n > 0 {
		limit = min(limit, n)
	}
	return m.Sent >= limit
}

// Forward passes a URL that is refused because its origin is a mirror on to the main host's shard,
// and returns the record's detail: the URL on the main host.
func (s *Mirrors) Forward(h *hosts.Host, r *urls.Record) (detail string) {
	m := h.Origins[r.Origin].Mirror
	if !m.Mirrored() {
		return r.Detail
	}
	u, err := m.Main.URL(r.URL.PathQuery())
	if err != nil {
		return "its URL is not valid on " + m.Main.String()
	}
	if r.Detail != string(u) { // otherwise it was passed on before, and now has a lower depth
		if s.Spent(m) {
			return fmt.Sprintf("not transferred to %s: the limit of %d URLs for a mirror is reached", m.Main, m.Sent)
		}
		m.CountSent()
		s.ledger.MarkDirty(h)
	}
	s.forwards.add(forwarded{u, r.FoundOn, r.Depth, r.Redirects})
	return string(u)
}

// Flush sends the URLs that were passed on, and notifies the indexer of aliases.
func (s *Mirrors) Flush(now time.Time) error { return s.forwards.flush(now) }

// Refetch is urls.Refetch for a URL whose origin may have become a mirror: it is then passed on
// instead. The caller writes the record.
func (s *Mirrors) Refetch(h *hosts.Host, r *urls.Record) error {
	was := r.Detail
	if r.Class != crawl.Refused || r.Reason != crawl.ReasonMirror {
		was = "" // it was not passed on yet
	}
	if err := s.urls.Refetch(h, r); err != nil || r.Class != crawl.Refused || r.Reason != crawl.ReasonMirror {
		return err
	}
	r.ForwardedTo(was)
	r.ForwardedTo(s.Forward(h, r))
	return nil
}

// Visited applies the consequences of a result. Others may be waiting for it as a sample. A URL of
// a mirror belongs to the main host, even if a visit to it was still running. A stored page may be
// what an examination lacked. The caller writes the record.
func (s *Mirrors) Visited(h *hosts.Host, r *urls.Record, now time.Time) (err error) {
	if err := s.answerSamples(h, r, now); err != nil {
		return err
	}
	switch m := h.Origins[r.Origin].Mirror; {
	case m.Mirrored():
		_, err = s.collapse(h, r)
	case m != nil && r.Class == crawl.Stored:
		err = s.Step(h, int(r.Origin), now, func(m *mirror.Record, e *mirror.Env) { m.Stored(e) })
	}
	return err
}
