package frontier

import (
	"fmt"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Aliases are mirrors that no robots.txt tells of: an origin whose pages have all moved to another for good, and a host with
// and without www.

// movedAway looks into X's redirecting root and pages to main, for good. What remains is to see that main is there, and does
// not lead back.
func (m *mirror) movedAway(e *mirrorEnv, main canon.Origin) {
	if m.mirrored() || m.Trial != "" || main == e.x || !e.inScope(main) {
		return
	}
	m.Walk, m.Samples, m.Round, m.End = []canon.Origin{e.x, main}, nil, 0, main
	m.try(e, trialRedirect)
	e.ask(crawl.ErrandClaim, main, "/robots.txt", 0)
}

// movedTo takes in what the origin X redirects to says of itself.
func (m *mirror) movedTo(e *mirrorEnv, main canon.Origin, c crawl.Claim) {
	if c.Kind == crawl.ClaimUnknown || c.Main == e.x || c.Kind == crawl.ClaimTarget && c.Target == e.x {
		m.rest(e)
		return
	}
	m.Walk = nil
	m.Samples = []mirrorSample{{Path: "/", Ours: mirrorPage{Known: true, Status: 301}}}
	m.try(e, trialRedirect)
	e.ask(crawl.ErrandSample, main, "/", 0)
}

// stillMoved asks, when the evidence has grown old, whether the pages that were seen to have moved still do.
func (m *mirror) stillMoved(e *mirrorEnv) {
	m.Walk, m.Samples, m.Round, m.End = nil, nil, 0, m.Main
	m.try(e, trialRedirect)
	for _, path := range e.moved() {
		m.Samples = append(m.Samples, mirrorSample{Path: path, Theirs: mirrorPage{Known: true}})
		e.ask(crawl.ErrandSample, e.x, path, 1)
	}
	m.Round = 1 // such a page is fetched
	if len(m.Samples) == 0 {
		m.judge(e)
	}
}

// redirectSaid makes of an answer whether it bears the redirect out: Digest is 1 if it does.
func (m *mirror) redirectSaid(e *mirrorEnv, s *mirrorSample, got crawl.Sample) {
	p := &s.Theirs // main's root: it must be a page, or one that we may not fetch
	ok := got.Status >= 200 && got.Status <= 299 || got.Status == 0 && strings.HasPrefix(got.Reason, string(crawl.ReasonRobots))
	if m.mirrored() {
		p = &s.Ours
		to, err := canon.Parse(got.Location)
		ok = (got.Status == 301 || got.Status == 308) && (got.Location == "" || err == nil && to.Origin() == m.End && to.PathQuery() == s.Path)
	}
	p.Digest = 0
	if ok {
		p.Digest = 1
	}
}

func (m *mirror) judgeRedirect(e *mirrorEnv) {
	seen, against := 0, 0
	for _, s := range m.Samples {
		p := s.Theirs
		if m.mirrored() {
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
		m.confirm(e, m.End, byRedirect, "redirect")
	case m.mirrored() && against == 0 && e.now.Sub(m.Proved) < 2*mirrorProof:
		m.rest(e) // nothing was had: its host may be away for a while
		m.Due = e.now.Add(24 * time.Hour)
	case m.mirrored():
		m.undo(e)
	default:
		m.rest(e)
	}
}

// undo dissolves a merge that stood on no claim. What X's robots.txt says holds again.
func (m *mirror) undo(e *mirrorEnv) {
	m.become(e, mirrorMain, "", "")
	if m.Claim == crawl.ClaimTarget {
		m.become(e, mirrorUnconfirmed, whyPending, "")
	}
	m.rest(e)
	if m.Claim == crawl.ClaimTarget {
		m.Due, m.Soon = e.now, true
	}
}

// twinOf is the same origin with or without www.; false when there can be none.
func twinOf(o canon.Origin) (canon.Origin, bool) {
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

// hasWWW reports whether X is the twin that decides which of the two is main.
func hasWWW(o canon.Origin) bool { return strings.HasPrefix(string(o.Host), "www.") }

// twin looks into X being the same site as its twin. Only the one with www. does: so the two never decide at once.
func (m *mirror) twin(e *mirrorEnv) {
	twin, ok := twinOf(e.x)
	if !ok || !hasWWW(e.x) || !m.mayTwin(e) || !e.inScope(twin) {
		return
	}
	m.Walk, m.Samples, m.Round = []canon.Origin{e.x, twin}, nil, 0
	m.try(e, trialTwin)
	e.ask(crawl.ErrandTwin, twin, "/", crawl.TwinAsk)
}

// mayTwin: a claim of X's own, or a comparison not long ago, leaves nothing to find out.
func (m *mirror) mayTwin(e *mirrorEnv) bool {
	return m.Claim <= crawl.ClaimNone && (m.State == "" || m.State == mirrorMain) && m.Trial == "" &&
		(m.Compared.IsZero() || e.now.Sub(m.Compared) >= mirrorProof)
}

// twinSaid takes in the twin's answer.
func (m *mirror) twinSaid(e *mirrorEnv, twin canon.Origin, c crawl.Claim) {
	if c.Kind != crawl.ClaimNone || c.Main != (canon.Origin{}) {
		m.rest(e) // nobody knows it, or it says otherwise
		return
	}
	// The one that others redirect to is main, else the larger one, else the one without www.
	own := e.size()
	m.Larger = c.Led > own.Led || c.Led == own.Led && c.URLs >= own.URLs
	m.compare(e, trialTwin, twin)
}

// yield looks into X being the mirror of its twin, which has found so.
func (m *mirror) yield(e *mirrorEnv, twin canon.Origin) {
	if t, ok := twinOf(e.x); !ok || t != twin || hasWWW(e.x) || !m.mayTwin(e) || !e.inScope(twin) {
		return
	}
	m.Larger = true
	m.compare(e, trialTwin, twin)
}

// yields takes in that X's twin has become its mirror: X cannot be the twin's.
func (m *mirror) yields(e *mirrorEnv, twin canon.Origin) {
	if m.mirrored() && m.By == byTwin && m.Main == twin {
		m.become(e, mirrorMain, "", "")
		m.rest(e)
	}
}

func (m *mirror) judgeTwin(e *mirrorEnv, ok bool, same, compared int) {
	switch twin := m.End; {
	case ok && (m.Larger || m.mirrored()):
		first := !m.mirrored()
		m.confirm(e, twin, byTwin, fmt.Sprintf("www %d/%d", same, compared))
		if first && !hasWWW(e.x) {
			e.ask(crawl.ErrandTwin, twin, "/", crawl.TwinYields)
		}
	case ok:
		m.Compared = e.now // once decided, it is not decided the other way round a moment later
		m.rest(e)
		e.ask(crawl.ErrandTwin, twin, "/", crawl.TwinYield)
	case m.mirrored():
		m.Compared = e.now
		m.undo(e)
	default:
		if compared > 0 {
			m.Compared = e.now
		}
		m.rest(e)
	}
}
