package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Sample is one page as served by X and by the origin with which X is compared.
type Sample struct {
	Path   string `json:"path"`           // path and query
	Open   bool   `json:"open,omitempty"` // X's rules permit fetching it
	Ours   Page   `json:"ours,omitzero"`
	Theirs Page   `json:"theirs,omitzero"`
}

// Page is what is known of a page: the digest of a stored page, or more of one that was fetched for
// the comparison.
type Page struct {
	Known    bool   `json:"known,omitempty"`
	Closed   bool   `json:"closed,omitempty"` // forbidden by robots.txt
	Status   int    `json:"status,omitempty"` // 0: it could not be fetched
	Digest   uint64 `json:"digest,omitempty"`
	Likeness uint64 `json:"likeness,omitempty"`
}

func (p Page) page() bool { return p.Known && p.Status >= 200 && p.Status <= 299 }

// compared reports whether both origins have given an answer about the page. A page that X does not
// have, or that the other origin may not or cannot serve at the moment, is no sample.
func (s *Sample) compared() bool {
	t := s.Theirs
	return s.Ours.page() && t.Known && t.Status != 0 && t.Status != 429 && t.Status < 500
}

func (s *Sample) same() bool {
	a, b := s.Ours, s.Theirs
	return a.page() && b.page() && (a.Digest != 0 && a.Digest == b.Digest || likeness.Alike(a.Likeness, b.Likeness))
}

// compare requests pages of X and the same pages of main. Stored copies suffice, except for
// renewing evidence when X's rules permit fetching its current pages: that they were the same in
// the past proves nothing.
func (m *Record) compare(e *Env, trial string, main canon.Origin) {
	m.End, m.Walk, m.Round, m.Samples, m.Closed = main, nil, 0, e.Pages(Pages, nil), nil
	m.try(e, trial)
	if m.Mirrored() && slices.ContainsFunc(m.Samples, func(s Sample) bool { return s.Open }) {
		m.Round = 1
		m.Samples = slices.DeleteFunc(m.Samples, func(s Sample) bool { return !s.Open })
	}
	for i := range m.Samples {
		m.askFor(e, &m.Samples[i])
	}
	if len(m.Samples) == 0 {
		m.judge(e)
	}
}

// askFor requests a page from both origins, unless X's page is known and suffices.
func (m *Record) askFor(e *Env, s *Sample) {
	if m.Round == 1 {
		s.Ours = Page{}
	}
	e.Ask(crawl.AuxSample, m.End, s.Path, m.Round)
	if !s.Ours.Known {
		e.Ask(crawl.AuxSample, e.X, s.Path, m.Round)
	}
}

// tryOthers requests other pages in place of those that main's rules forbid us, because only pages
// that both origins permit can be compared. It reports whether there are any.
func (m *Record) tryOthers(e *Env) bool {
	closed := len(m.Closed)
	m.Samples = slices.DeleteFunc(m.Samples, func(s Sample) bool {
		if s.Theirs.Closed {
			m.Closed = append(m.Closed, s.Path)
		}
		return s.Theirs.Closed
	})
	if len(m.Closed) == closed || len(m.Closed) >= mirrorClosed {
		return false
	}
	tried := slices.Clone(m.Closed)
	for i := range m.Samples {
		tried = append(tried, m.Samples[i].Path)
	}
	others := slices.DeleteFunc(e.Pages(len(m.Closed)-closed, tried), func(s Sample) bool { return m.Round == 1 && !s.Open })
	for i := range others {
		m.askFor(e, &others[i])
	}
	m.Samples = append(m.Samples, others...)
	if len(others) > 0 {
		m.try(e, m.Trial)
	}
	return len(others) > 0
}

// Sampled applies the answer to a request for a page.
func (m *Record) Sampled(e *Env, u canon.URL, hop int, got crawl.Sample) {
	if m.Trial == "" || hop != m.Round {
		return
	}
	o := u.Origin()
	i := slices.IndexFunc(m.Samples, func(s Sample) bool { return s.Path == u.PathQuery() })
	if i < 0 || o != m.End && o != e.X {
		return
	}
	page := &m.Samples[i].Theirs
	if o == e.X {
		page = &m.Samples[i].Ours
	}
	if page.Known {
		return
	}
	closed := got.Status == 0 && strings.HasPrefix(got.Reason, string(crawl.ReasonRobots)+":")
	*page = Page{Known: true, Closed: closed, Status: got.Status, Digest: got.Digest, Likeness: got.Likeness}
	if m.Trial == trialRedirect {
		m.redirectSaid(e, &m.Samples[i], got)
	}
	for _, s := range m.Samples {
		if !s.Ours.Known || !s.Theirs.Known {
			return
		}
	}
	m.judge(e)
}

// judge decides by the samples: 80 % of those compared must be the same, at least one (formats §2.4
// step 3b).
func (m *Record) judge(e *Env) {
	if m.Trial == trialRedirect {
		m.judgeRedirect(e)
		return
	}
	if m.tryOthers(e) {
		return
	}
	compared, same := 0, 0
	for i := range m.Samples {
		if m.Samples[i].compared() {
			compared++
			if m.Samples[i].same() {
				same++
			}
		}
	}
	ok := compared > 0 && same*5 >= compared*4
	if !ok && m.Round == 0 && m.lookCloser(e) {
		return
	}
	evidence := fmt.Sprintf("pages %d/%d", same, compared)
	switch {
	case m.Trial == trialTwin:
		m.judgeTwin(e, ok, same, compared)
	case ok:
		m.Confirm(e, m.End, byClaim, evidence)
	case compared == 0:
		m.fail(e, whyNoProof, "")
	default:
		m.Compared = e.Now
		m.fail(e, whyDiffers, fmt.Sprintf("of %d pages compared with %s, %d are the same", compared, m.End, same))
	}
}

// lookCloser requests the pages again that differ according to their stored copies. These may be
// from different days, and only fetched pages are compared by their text. It reports whether there
// are any.
func (m *Record) lookCloser(e *Env) bool {
	m.Round = 1
	asked := false
	for i := range m.Samples {
		s := &m.Samples[i]
		if !s.compared() || s.same() || s.Theirs.Likeness != 0 && (s.Ours.Likeness != 0 || !s.Open) {
			continue
		}
		asked = true
		s.Theirs = Page{}
		e.Ask(crawl.AuxSample, m.End, s.Path, 1)
		if s.Open {
			s.Ours = Page{}
			e.Ask(crawl.AuxSample, e.X, s.Path, 1)
		}
	}
	if asked {
		m.try(e, m.Trial)
	}
	return asked
}
