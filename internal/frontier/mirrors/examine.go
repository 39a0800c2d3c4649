package mirrors

import (
	"cmp"
	"errors"
	"math/bits"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// mirrorStep counts how a mirror record has changed.
func mirrorStep(m *store.Metrics, was, is *mirror.Record) {
	if is.Claim == crawl.ClaimTarget && (was.Claim != is.Claim || was.Target != is.Target) {
		m.Claims.Inc()
	}
	if was.Mirrored() == is.Mirrored() && was.Main == is.Main {
		return
	}
	if was.Mirrored() {
		m.Dissolved.Inc()
	}
	if is.Mirrored() {
		m.Merged.WithLabelValues(cmp.Or(is.By, "host")).Inc()
	}
}

const (
	mirrorTick = time.Second // the interval of upkeep
	// Pages that are stored before a host's twin is examined, unless the host has fewer.
	twinPages  = 3
	movedPages = 4 // if the root and three more pages have moved, the site has (design.md §7)
)

// Ref identifies an origin with a mirror record.
type Ref struct {
	H *hosts.Host
	I int
}

// Step applies an event to an origin's mirror record, sends the requests that it wants, and does
// what follows from its new state.
func (s *Mirrors) Step(h *hosts.Host, i int, now time.Time, do func(*mirror.Record, *mirror.Env)) error {
	o := &h.Origins[i]
	m := o.Mirror
	if m == nil {
		m = new(mirror.Record)
		if c := s.copiedClaim(h, o); c.Kind <= crawl.ClaimNone { // only a claim is news
			m = &mirror.Record{Claim: c.Kind, Digest: c.Digest}
		}
	}
	was := *m
	e := s.mirrorEnv(h, i, now)
	do(m, e)
	s.ledger.Outdate()
	if idle(m) {
		o.KeepMirror(nil)
		delete(s.Mirrors, Ref{h, i})
	} else {
		o.KeepMirror(m)
		s.Mirrors[Ref{h, i}] = struct{}{}
		if !m.Due.IsZero() && (s.MirrorsDue.IsZero() || m.Due.Before(s.MirrorsDue)) {
			s.MirrorsDue = m.Due
		}
	}
	mirrorStep(s.ledger.Metrics, &was, m)
	if m.Mirrored() != was.Mirrored() || m.Main != was.Main {
		if err := s.MirrorChanged(h, i, now); err != nil {
			return err
		}
	}
	return s.sendAsks(e.Asks)
}

// idle reports whether the record need not be stored.
func idle(m *mirror.Record) bool {
	return (m.State == "" || m.State == mirror.Main && m.Claim <= crawl.ClaimNone) && m.Trial == "" && !m.Settling &&
		m.Compared.IsZero() && m.Sent == 0
}

func (s *Mirrors) sendAsks(asks []crawl.AuxRequest) error {
	for len(asks) > 0 {
		to := crawl.ShardOf(asks[0].URL.Host(), s.ledger.Judge.Spec.Shards)
		var ev crawl.Event
		rest := asks[:0:0]
		for _, e := range asks {
			if e.ReplyShard = s.ledger.ID; crawl.ShardOf(e.URL.Host(), s.ledger.Judge.Spec.Shards) == to {
				ev.Aux = append(ev.Aux, e)
			} else {
				rest = append(rest, e)
			}
		}
		if err := s.ledger.Send(to, &ev); err != nil {
			return err
		}
		asks = rest
	}
	return nil
}

func (s *Mirrors) mirrorEnv(h *hosts.Host, i int, now time.Time) *mirror.Env {
	o := &h.Origins[i]
	_, refresh := polite.State(o, now)
	return &mirror.Env{
		X: o.Origin, Now: now, Refresh: refresh,
		InScope: func(main canon.Origin) bool { return s.pages.inScope(h, i, main) },
		Pages:   func(n int, skip []string) []mirror.Sample { return s.pages.comparable(h, i, n, skip) },
		Moved:   func() []string { return s.pages.moved(h, i, o.Mirror.Main) },
		Size:    func() crawl.Claim { return crawl.Claim{URLs: s.pages.stored(h, i), Led: int(o.Led)} },
	}
}

// ClaimRead applies the claim of an origin's robots.txt that was just read, and answers those that
// wait for it.
func (s *Mirrors) ClaimRead(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if c := s.copiedClaim(h, o); c.Kind > crawl.ClaimNone || o.Mirror != nil {
		if err := s.Step(h, i, now, func(m *mirror.Record, e *mirror.Env) { m.Read(e, c) }); err != nil {
			return err
		}
	}
	return s.AnswerClaims(h, o.Origin, now)
}

// answer applies an answer that an examination may be waiting for.
func (s *Mirrors) answer(a *crawl.Answer, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.Origin.Host)
	if h == nil || err != nil {
		return err
	}
	i, ok := h.OriginIndex(a.Aux.Origin)
	if !ok || h.Origins[i].Mirror == nil {
		return nil
	}
	return s.Step(h, i, now, func(m *mirror.Record, e *mirror.Env) {
		if a.Aux.Kind == crawl.AuxSample {
			m.Sampled(e, a.Aux.URL, a.Aux.Hop, a.Sample)
		} else {
			m.Claimed(e, a.Aux.URL.Origin(), a.Claim)
		}
	})
}

// Upkeep handles mirror records that are due. It waits until the log is read, because the log may
// already contain the answers.
func (s *Mirrors) Upkeep(now time.Time) error {
	if !s.ledger.Phase.Active() || s.MirrorsDue.IsZero() || now.Before(s.MirrorsDue) {
		return nil
	}
	var due []Ref
	s.MirrorsDue = time.Time{}
	for ref := range s.Mirrors {
		m := ref.H.Origins[ref.I].Mirror
		switch {
		case m.Due.IsZero():
		case !m.Due.After(now):
			due = append(due, ref)
		case s.MirrorsDue.IsZero() || m.Due.Before(s.MirrorsDue):
			s.MirrorsDue = m.Due
		}
	}
	for _, ref := range due {
		if err := s.Step(ref.H, ref.I, now, func(m *mirror.Record, e *mirror.Env) { m.Tick(e) }); err != nil {
			return s.ledger.Fail(err)
		}
	}
	if soon := now.Add(mirrorTick); !s.MirrorsDue.IsZero() && s.MirrorsDue.Before(soon) {
		s.MirrorsDue = soon
	}
	return nil
}

// load finds the mirror records of a file just opened.
func (s *Mirrors) load(now time.Time) error {
	s.Mirrors, s.Settling = map[Ref]struct{}{}, map[Ref]struct{}{}
	for _, h := range s.ledger.Hosts {
		for i := range h.Origins {
			if m := h.Origins[i].Mirror; m != nil {
				s.Mirrors[Ref{h, i}] = struct{}{}
				if m.Settling {
					s.Settling[Ref{h, i}] = struct{}{}
				}
				s.MirrorsDue = now
			}
		}
	}
	return nil
}

// Anew examines again everything that depends on the crawl's scope.
func (s *Mirrors) Anew(now time.Time) error {
	for ref := range s.Mirrors {
		o := &ref.H.Origins[ref.I]
		twin := o.Mirror.Mirrored() && o.Mirror.By == mirror.ByTwin
		if err := s.Step(ref.H, ref.I, now, func(m *mirror.Record, e *mirror.Env) { m.Rescoped(e) }); err != nil {
			return err
		}
		if m := o.Mirror; m.Mirrored() {
			m.Restart() // URLs that are permitted now belong to the main host
			s.Settling[ref] = struct{}{}
		} else if twin {
			o.AskTwinAgain() // it is examined again when it is in scope again
		}
	}
	return nil
}

// Pending is how many origins are being examined and have been for less than patience, or are
// overdue for it. A crawl that is resumed days later thus examines its mirrors again before it is
// done.
func (s *Mirrors) Pending(now time.Time, patience time.Duration) (n int) {
	for ref := range s.Mirrors {
		m := ref.H.Origins[ref.I].Mirror
		overdue := m.Trial == "" && !m.Due.IsZero() && !m.Due.After(now)
		if m.Trial != "" && now.Sub(m.Asked) < patience || m.Soon || overdue {
			n++
		}
	}
	return n
}

// NoticeMove counts pages that have moved permanently to the same path of another origin. If the
// root and three more pages have moved, and no requested page has not, the site has moved.
func (s *Mirrors) NoticeMove(h *hosts.Host, r *urls.Record, now time.Time) error {
	to, ok := movedTo(r)
	if !ok {
		return nil
	}
	o := &h.Origins[r.Origin]
	if o.Mirror.Mirrored() {
		return nil
	}
	if n := o.PageMoved(to); n < movedPages || bits.OnesCount32(n) != 1 || len(s.pages.moved(h, int(r.Origin), to)) < movedPages {
		return nil
	}
	return s.Step(h, int(r.Origin), now, func(m *mirror.Record, e *mirror.Env) { m.MovedAway(e, to) })
}

// NoticeTwins starts to examine the twin of a host that has some pages now: the same name with or
// without "www.". The origin with "www." asks. The other one, if it was unknown at that time, asks
// it later to ask again.
func (s *Mirrors) NoticeTwins(h *hosts.Host, now time.Time) error {
	if h.Stored == 0 {
		return nil
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Twin || o.TwinOut == s.ledger.Meta.Spec || o.Copy == crawl.RobotsUnknown || mirror.HasWWW(o.Origin) && h.Stored < twinPages && h.Queued > 0 {
			continue
		}
		twin, ok := mirror.TwinOf(o.Origin)
		if ok && !s.pages.inScope(h, i, twin) {
			o.TwinOutOfScope(s.ledger.Meta.Spec) // it may be in the scope of another spec
			continue
		}
		o.TwinAsked()
		if !ok {
			continue
		}
		if mirror.HasWWW(o.Origin) {
			if err := s.Step(h, i, now, func(m *mirror.Record, e *mirror.Env) { m.Twin(e) }); err != nil {
				return err
			}
			continue
		}
		waits, key := s.ledger.Tx.Bucket(store.BucketTwins), []byte(o.Origin.String())
		if waits.Get(key) == nil {
			continue
		}
		e := mirror.Env{X: o.Origin}
		e.Ask(crawl.AuxTwin, twin, "/", crawl.TwinAsk)
		if err := errors.Join(s.ledger.Drop(store.BucketTwins, key), s.sendAsks(e.Asks)); err != nil {
			return err
		}
	}
	return nil
}

// twinAsked does what the owner of an origin's twin has requested.
func (s *Mirrors) twinAsked(e *crawl.AuxRequest, h *hosts.Host, i int, known bool, now time.Time) error {
	o := e.URL.Origin()
	if t, ok := mirror.TwinOf(e.Origin); !ok || t != o {
		return nil
	}
	known = known && h.Stored > 0
	if e.Hop == crawl.TwinAsk && !mirror.HasWWW(o) {
		c := crawl.Claim{Reason: "unknown"}
		if known {
			c = s.copiedClaim(h, &h.Origins[i])
			c.URLs, c.Led = s.pages.stored(h, i), int(h.Origins[i].Led)
		} else if err := s.ledger.Put(store.BucketTwins, []byte(o.String()), []byte{1}); err != nil {
			return err
		}
		return s.features.Reply(e, crawl.Answer{Claim: c})
	}
	if !known {
		return nil
	}
	return s.Step(h, i, now, func(m *mirror.Record, env *mirror.Env) {
		switch e.Hop {
		case crawl.TwinAsk:
			m.Twin(env)
		case crawl.TwinYield:
			m.Yield(env, e.Origin)
		case crawl.TwinYields:
			m.Yields(env, e.Origin)
		}
	})
}
