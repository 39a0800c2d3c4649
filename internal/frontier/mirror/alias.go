package mirror

import (
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Aliases are mirrors that no robots.txt tells of: an origin whose pages have all moved to another
// for good, and a host with and without www.

// MovedAway looks into X's redirecting root and pages to main, for good. What remains is to see
// that main is there, and does not lead back.
func (m *Record) MovedAway(e *Env, main canon.Origin) {
	if m.Mirrored() || m.Trial != "" || main == e.X || !e.InScope(main) {
		return
	}
	m.Walk, m.Samples, m.Round, m.End = []canon.Origin{e.X, main}, nil, 0, main
	m.try(e, trialRedirect)
	e.Ask(crawl.AuxClaim, main, "/robots.txt", 0)
}

// movedTo takes in what the origin X redirects to says of itself.
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

// stillMoved asks, when the evidence has grown old, whether the pages that were seen to
// have moved still do.
func (m *Record) stillMoved(e *Env) {
	m.Walk, m.Samples, m.Round, m.End = nil, nil, 0, m.Main
	m.try(e, trialRedirect)
	for _, path := range e.Moved() {
		m.Samples = append(m.Samples, Sample{Path: path, Theirs: Page{Known: true}})
		e.Ask(crawl.AuxSample, e.X, path, 1)
	}
	m.Round = 1 // such a page is fetched
	if len(m.Samples) == 0 {
		m.judge(e)
	}
}

// redirectSaid makes of an answer whether it bears the redirect out: Digest is 1 if it does.
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
		m.rest(e) // nothing was had: its host may be away for a while
		m.Due = e.Now.Add(24 * time.Hour)
	case m.Mirrored():
		m.undo(e)
	default:
		m.rest(e)
	}
}

// undo dissolves a merge that stood on no claim. What X's robots.txt says holds again.
func (m *Record) undo(e *Env) {
	m.SetState(e, Main, "", "")
	if m.Claim == crawl.ClaimTarget {
		m.SetState(e, Unconfirmed, WhyPending, "")
	}
	m.rest(e)
	if m.Claim == crawl.ClaimTarget {
		m.Due, m.Soon = e.Now, true
	}
}

// TwinOf is the same origin with or without www.; false when there can be none.
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

// HasWWW reports whether X is the twin that decides which of the two is main.
func HasWWW(o canon.Origin) bool { return strings.HasPrefix(string(o.Host), "www.") }

// Twin looks into X being the same site as its twin. Only the one with www. does: so the two
// never decide at once.
func (m *Record) Twin(e *Env) {
	twin, ok := TwinOf(e.X)
	if !ok || !HasWWW(e.X) || !m.mayTwin(e) || !e.InScope(twin) {
		return
	}
	m.Walk, m.Samples, m.Round = []canon.Origin{e.X, twin}, nil, 0
	m.try(e, trialTwin)
	e.Ask(crawl.AuxTwin, twin, "/", crawl.TwinAsk)
}

// mayTwin: a claim of X's own, or a comparison not long ago, leaves nothing to find out.
func (m *Record) mayTwin(e *Env) bool {
	return m.Claim <= crawl.ClaimNone && (m.State == "" || m.State == Main) && m.Trial == "" &&
		(m.Compared.IsZero() || e.Now.Sub(m.Compared) >= mirrorProof)
}

// twinSaid takes in the twin's answer.
func (m *Record) twinSaid(e *Env, twin canon.Origin, c crawl.Claim) {
	if c.Kind != crawl.ClaimNone || c.Main != (canon.Origin{}) {
		m.rest(e) // nobody knows it, or it says otherwise
		return
	}
	// The one that others redirect to is main, else the larger one, else the one without www.
	own := e.Size()
	m.Larger = c.Led > own.Led || c.Led == own.Led && c.URLs >= own.URLs
	m.compare(e, trialTwin, twin)
}

// Yield looks into X being the mirror of its twin, which has found so.
func (m *Record) Yield(e *Env, twin canon.Origin) {
	if t, ok := TwinOf(e.X); !ok || t != twin || HasWWW(e.X) || !m.mayTwin(e) || !e.InScope(twin) {
		return
	}
	m.Larger = true
	m.compare(e, trialTwin, twin)
}

// Yields takes in that X's twin has become its mirror: X cannot be the twin's.
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
		m.Compared = e.Now // once decided, it is not decided the other way round a moment later
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
