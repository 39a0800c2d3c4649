package mirror

import (
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Aliases are mirrors that no robots.txt names: an origin whose pages have all moved permanently to
// another, and a host with and without "www.".

// MovedAway examines whether X, whose root and pages redirect permanently to main, is its mirror.
// It remains to check that main exists and does not lead back.
func (m *Record) MovedAway(e *Env, main canon.Origin) {
	if m.Mirrored() || m.Trial != "" || main == e.X || !e.InScope(main) {
		return
	}
	m.Walk, m.Samples, m.Round, m.End = []canon.Origin{e.X, main}, nil, 0, main
	m.try(e, trialRedirect)
	e.Ask(crawl.AuxClaim, main, "/robots.txt", 0)
}

// movedTo applies the claim of the origin to which X redirects.
func (m *Record) movedTo(e *Env, main canon.Origin, c crawl.Claim) {
	if c.Kind == crawl.ClaimUnknown || c.Main == e.X || c.Kind == crawl.ClaimTarget && c.Target == e.X {
		m.rest(e)
		return
	}
	m.Walk = nil
	m.Samples = []Sample{{Path: "/", Ours: Page{Known: true, Status: 301}}}
	m.try(e, trialRedirect)
	e.Ask(crawl.AuxSample, main, "/", 0)
}

// stillMoved checks old evidence again: whether the pages that had moved still redirect.
func (m *Record) stillMoved(e *Env) {
	m.Walk, m.Samples, m.Round, m.End = nil, nil, 0, m.Main
	m.try(e, trialRedirect)
	for _, path := range e.Moved() {
		m.Samples = append(m.Samples, Sample{Path: path, Theirs: Page{Known: true}})
		e.Ask(crawl.AuxSample, e.X, path, 1)
	}
	m.Round = 1 // such a page is always fetched
	if len(m.Samples) == 0 {
		m.judge(e)
	}
}

// redirectSaid records whether an answer confirms the redirect: Digest is 1 if it does.
func (m *Record) redirectSaid(e *Env, s *Sample, got crawl.Sample) {
	p := &s.Theirs // main's root: it must be a page, or one that we may not fetch
	ok := got.Status >= 200 && got.Status <= 299 || got.Status == 0 && strings.HasPrefix(got.Reason, string(crawl.ReasonRobots))
	if m.Mirrored() {
		p = &s.Ours
		to, err := canon.Parse(got.Location)
		ok = (got.Status == 301 || got.Status == 308) && (got.Location == "" || err == nil && to.Origin() == m.End && to.PathQuery() == s.Path)
	}
	p.Digest = 0
	if ok {
		p.Digest = 1
	}
}

func (m *Record) judgeRedirect(e *Env) {
	seen, against := 0, 0
	for _, s := range m.Samples {
		p := s.Theirs
		if m.Mirrored() {
			p = s.Ours
		}
		switch {
		case p.Digest == 1:
			seen++
		case p.Known && p.Status != 0 && p.Status < 500:
			against++
		}
	}
	switch {
	case seen > 0 && against == 0:
		m.Confirm(e, m.End, ByRedirect, "redirect")
	case m.Mirrored() && against == 0 && e.Now.Sub(m.Proved) < 2*mirrorProof:
		m.rest(e) // no page could be fetched: the host may be unreachable for a while
		m.Due = e.Now.Add(24 * time.Hour)
	case m.Mirrored():
		m.undo(e)
	default:
		m.rest(e)
	}
}

// undo ends the state of a mirror that no claim supports. X's own robots.txt applies again.
func (m *Record) undo(e *Env) {
	m.SetState(e, Main, "", "")
	if m.Claim == crawl.ClaimTarget {
		m.SetState(e, Unconfirmed, whyPending, "")
	}
	m.rest(e)
	if m.Claim == crawl.ClaimTarget {
		m.Due, m.Soon = e.Now, true
	}
}

// TwinOf is the same origin with or without "www."; false when there can be none.
func TwinOf(o canon.Origin) (canon.Origin, bool) {
	if o.Host.IsIP() || !strings.Contains(string(o.Host), ".") {
		return o, false
	}
	if bare, ok := strings.CutPrefix(string(o.Host), "www."); ok {
		o.Host = canon.Host(bare)
		return o, strings.Contains(bare, ".")
	}
	o.Host = "www." + o.Host
	return o, len(o.Host) <= 253
}

// HasWWW reports whether X is the twin that decides which of the two is the main host.
func HasWWW(o canon.Origin) bool { return strings.HasPrefix(string(o.Host), "www.") }

// Twin examines whether X is the same site as its twin. Only the one with "www." does this, so that
// the two never decide at the same time.
func (m *Record) Twin(e *Env) {
	twin, ok := TwinOf(e.X)
	if !ok || !HasWWW(e.X) || !m.mayTwin(e) || !e.InScope(twin) {
		return
	}
	m.Walk, m.Samples, m.Round = []canon.Origin{e.X, twin}, nil, 0
	m.try(e, trialTwin)
	e.Ask(crawl.AuxTwin, twin, "/", crawl.TwinAsk)
}

// mayTwin is false if X has a claim of its own, or a recent comparison, because nothing remains to
// be found out.
func (m *Record) mayTwin(e *Env) bool {
	return m.Claim <= crawl.ClaimNone && (m.State == "" || m.State == Main) && m.Trial == "" &&
		(m.Compared.IsZero() || e.Now.Sub(m.Compared) >= mirrorProof)
}

// twinSaid applies the twin's answer.
func (m *Record) twinSaid(e *Env, twin canon.Origin, c crawl.Claim) {
	if c.Kind != crawl.ClaimNone || c.Main != (canon.Origin{}) {
		m.rest(e) // it is unknown, or makes another claim
		return
	}
	// The one to which others redirect is the main host, else the larger one, else the one without
	// "www.".
	own := e.Size()
	m.Larger = c.Led > own.Led || c.Led == own.Led && c.URLs >= own.URLs
	m.compare(e, trialTwin, twin)
}

// Yield examines whether X is the mirror of its twin, which has found that it is.
func (m *Record) Yield(e *Env, twin canon.Origin) {
	if t, ok := TwinOf(e.X); !ok || t != twin || HasWWW(e.X) || !m.mayTwin(e) || !e.InScope(twin) {
		return
	}
	m.Larger = true
	m.compare(e, trialTwin, twin)
}

// Yields notes that X's twin has become its mirror, so X cannot be the twin's.
func (m *Record) Yields(e *Env, twin canon.Origin) {
	if m.Mirrored() && m.By == ByTwin && m.Main == twin {
		m.SetState(e, Main, "", "")
		m.rest(e)
	}
}

func (m *Record) judgeTwin(e *Env, ok bool, same, compared int) {
	switch twin := m.End; {
	case ok && (m.Larger || m.Mirrored()):
		first := !m.Mirrored()
		m.Confirm(e, twin, ByTwin, fmt.Sprintf("www %d/%d", same, compared))
		if first && !HasWWW(e.X) {
			e.Ask(crawl.AuxTwin, twin, "/", crawl.TwinYields)
		}
	case ok:
		m.Compared = e.Now // so that the decision is not reversed a moment later
		m.rest(e)
		e.Ask(crawl.AuxTwin, twin, "/", crawl.TwinYield)
	case m.Mirrored():
		m.Compared = e.Now
		m.undo(e)
	default:
		if compared > 0 {
			m.Compared = e.Now
		}
		m.rest(e)
	}
}
