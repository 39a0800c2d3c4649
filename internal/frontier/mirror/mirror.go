// Package mirror decides whether an origin is a mirror of another. It is a state machine without
// I/O: its inputs are events and time, its outputs a state and requests, which package mirrors
// sends.
package mirror

import (
	"bytes"
	"math/bits"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// PendingMax is how long an origin waits for another host's answer about its robots.txt before it
// is requested again.
const PendingMax = time.Hour

// Merge is the progress of adapting X's URLs to whether X is a mirror.
type Merge struct {
	Settling bool   `json:"settling,omitempty"` // the URLs are being adapted
	Next     []byte `json:"next,omitempty"`     // the key with which to continue
	// URLs passed on to the main host's shard, which count against X's budget
	Sent int64 `json:"sent,omitempty"`
	// Pages of X that were stored when they became the main host's.
	StoredPages int64 `json:"held,omitempty"`
	// Sent and StoredPages are counted for this main host, from then on.
	To   canon.Origin `json:"to,omitzero"`
	From time.Time    `json:"from,omitzero"`
}

// budgetSpan is how long the URLs that a mirror has passed on to a main host count against its
// budget when it becomes a mirror of that host again.
const budgetSpan = 30 * 24 * time.Hour

// Begin starts the counts of a merge with a main host. They continue if the last merge was with the
// same one and began lately, so that ending a merge and beginning it again gives no new budget.
func (m *Merge) Begin(main canon.Origin, now time.Time) {
	if m.To != main || now.Sub(m.From) >= budgetSpan {
		m.Sent, m.StoredPages, m.To, m.From = 0, 0, main, now
	}
}

// Restart has X's URLs gone through from the first one, because what they are to be has changed.
// The record is stored with its origin, so after a crash this goes on where the last commit was.
func (m *Merge) Restart() { m.Settling, m.Next = true, nil }

// GoOn notes the key of the URL that is looked at next.
func (m *Merge) GoOn(next []byte) { m.Next = next }

// Finish notes that all URLs were gone through.
func (m *Merge) Finish() { m.Settling, m.Next = false, nil }

// CountStored counts a page of X that was stored when it became the main host's.
func (m *Merge) CountStored() { m.StoredPages++ }

// CountSent counts a URL that was sent to the main host's shard.
func (m *Merge) CountSent() { m.Sent++ }

// The states of an origin X in the mirror database (formats §2.4).
const (
	Main   = "main"   // it names no other origin
	OfMain = "mirror" // a mirror of Record.Main, for which there is evidence
	// It names another origin without further evidence; see Record.Reason
	Unconfirmed = "unconfirmed"
)

// Why a claim is unconfirmed.
const (
	whyPending = "pending" // it is being examined
	// The robots.txt of the origin that it names cannot be fetched
	whyTarget  = "target-unreachable"
	whyCycle   = "cycle"           // the chain of origins leads back to it, or in a circle
	whyChain   = "chain"           // the chain is longer than maxMirrorChain
	whyDiffers = "content-differs" // the compared pages are not the same
	// No page could be compared, and the two robots.txt files differ
	whyNoProof = "no-evidence"
	WhyScope   = "out-of-scope" // the chain leaves the crawl's scope, so nobody was asked
)

// The kinds of evidence for a mirror.
const (
	byClaim    = ""         // the Host line of its robots.txt
	ByRedirect = "redirect" // all its pages have moved there permanently
	ByTwin     = "www"      // its name is the other's with or without "www."
)

const (
	maxMirrorChain = 5 // length of a chain of claims (formats §2.4)
	Pages          = 5 // how many pages are compared
	// The number of pages that main's rules may forbid us before no others are tried.
	mirrorClosed = 20
	// How long evidence lasts, and how long a main host may be unreachable.
	mirrorProof  = 30 * 24 * time.Hour
	mirrorAnswer = PendingMax // how long to wait for an answer
	// From the first page that could be compared to the comparison: more pages follow soon.
	mirrorSettle = 5 * time.Second
)

// Record is what is known about an origin X as a mirror: a state machine that does no I/O. Its
// methods are called for events, and send requests to other origins through Env. The caller
// compares State and Main before and after. The record is stored with X, so it survives restarts.
// Answers that are not awaited, or not any more, have no effect.
//
// A link from X to another origin always begins with what X itself serves: nothing here makes any
// origin but X a mirror (formats §2.5).
type Record struct {
	// One of the states, or "" while nothing is known.
	State    string       `json:"state,omitempty"`
	Main     canon.Origin `json:"main,omitzero"` // with OfMain
	By       string       `json:"by,omitempty"`  // with OfMain
	Reason   string       `json:"reason,omitempty"`
	Detail   string       `json:"detail,omitempty"`   // of the reason, for people
	Evidence string       `json:"evidence,omitempty"` // for people
	Since    time.Time    `json:"since,omitzero"`
	Proved   time.Time    `json:"proved,omitzero"` // when the evidence was confirmed last
	// When pages were compared and proved different.
	Compared time.Time `json:"compared,omitzero"`
	// Since when an origin in the chain of X's claim has been unreachable.
	Gone time.Time `json:"gone,omitzero"`

	// Pages of X that were stored while none could be compared.
	Vain uint32 `json:"vain,omitempty"`

	// The claim of X's robots.txt.
	Claim  crawl.ClaimKind `json:"claim,omitempty"`
	Target canon.Origin    `json:"target,omitzero"`
	Digest []byte          `json:"digest,omitempty"` // robots.Digest of that file

	// The current examination, if Trial is set.
	Trial string `json:"trial,omitempty"`
	// X and the origins asked since; the answer of the last is awaited
	Walk    []canon.Origin `json:"walk,omitempty"`
	End     canon.Origin   `json:"end,omitzero"`      // the origin X is compared with
	Larger  bool           `json:"larger,omitempty"`  // trialTwin: End is to be the main host
	Samples []Sample       `json:"samples,omitempty"` // the pages compared
	// Paths that End's rules forbid us.
	Closed []string `json:"closed,omitempty"`
	// 1: stored data did not suffice, and pages are fetched
	Round int       `json:"round,omitempty"`
	Asked time.Time `json:"asked,omitzero"`

	Due time.Time `json:"due,omitzero"` // when to check again; zero: after an event
	// The check at Due is part of this crawl, not maintenance
	Soon bool `json:"soon,omitempty"`

	Merge // of X's URLs, see package mirrors
}

// Trials.
const (
	trialClaim    = "claim"
	trialRedirect = "redirect"
	trialTwin     = "www"
)

// Env is the input of a step of the state machine, and receives its requests.
type Env struct {
	X       canon.Origin
	Now     time.Time
	Refresh time.Time // when X's robots.txt will be old
	InScope func(canon.Origin) bool
	// Up to n of X's pages that can be compared, the root first, without those in skip.
	Pages func(n int, skip []string) []Sample
	// Paths of X that have moved permanently, the root first; up to movedPages.
	Moved func() []string
	Size  func() crawl.Claim // URLs and Led of X

	Asks []crawl.AuxRequest // requests of this step; without ReplyShard
}

// Ask adds a request to another origin.
func (e *Env) Ask(kind crawl.AuxKind, to canon.Origin, pathQuery string, hop int) {
	if u, err := to.URL(pathQuery); err == nil {
		e.Asks = append(e.Asks, crawl.AuxRequest{Kind: kind, URL: u, Origin: e.X, Hop: hop})
	}
}

// Mirrored reports whether X's pages are those of Main.
func (m *Record) Mirrored() bool { return m != nil && m.State == OfMain }

// SetState changes the state.
func (m *Record) SetState(e *Env, state, reason, detail string) {
	if m.State != state || m.Reason != reason {
		m.Since = e.Now
	}
	m.State, m.Reason, m.Detail = state, reason, crawl.ShortDetail(detail)
	m.Main, m.By, m.Evidence, m.Proved = canon.Origin{}, "", "", time.Time{}
}

// Confirm makes X a mirror.
func (m *Record) Confirm(e *Env, main canon.Origin, by, evidence string) {
	if m.State != OfMain || m.Main != main {
		m.Since = e.Now
	}
	m.State, m.Reason, m.Detail = OfMain, "", ""
	m.Main, m.By, m.Evidence, m.Proved = main, by, evidence, e.Now
	m.rest(e)
}

// rest ends the current examination and sets the time of the next check.
func (m *Record) rest(e *Env) {
	m.Trial, m.Walk, m.End, m.Larger, m.Samples, m.Closed, m.Round, m.Asked = "", nil, canon.Origin{}, false, nil, nil, 0, time.Time{}
	m.Due, m.Soon = time.Time{}, false
	switch {
	case m.Mirrored() && m.By != byClaim:
		m.Due = m.Proved.Add(mirrorProof)
	case m.Claim == crawl.ClaimTarget && !m.givenUp(e):
		m.Due = Latest(e.Refresh, e.Now.Add(time.Minute))
	}
}

// try begins or continues an examination that awaits answers.
func (m *Record) try(e *Env, trial string) {
	m.Trial, m.Asked, m.Due, m.Soon = trial, e.Now, e.Now.Add(mirrorAnswer), false
}

// givenUp reports that the origin which X names has been unreachable for so long that it is no
// longer asked.
func (m *Record) givenUp(e *Env) bool {
	return !m.Gone.IsZero() && e.Now.Sub(m.Gone) >= mirrorProof
}

// Latest is the later of two times.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Read applies the claim of X's robots.txt, which was just read: "recheck with each robots refresh;
// a dropped or changed Host line dissolves the merge at once" (formats §2.4 step 5).
func (m *Record) Read(e *Env, c crawl.Claim) {
	named := m.Claim != c.Kind || m.Target != c.Target
	if !bytes.Equal(m.Digest, c.Digest) {
		// another file may have other results
		m.Compared, m.Gone, m.Vain = time.Time{}, time.Time{}, 0
	}
	m.Claim, m.Target, m.Digest = c.Kind, c.Target, slices.Clone(c.Digest)
	switch {
	case c.Kind != crawl.ClaimTarget:
		if m.Mirrored() && m.By == ByTwin && c.Kind == crawl.ClaimNone || m.Mirrored() && m.By == ByRedirect {
			return // its evidence is not a claim
		}
		if m.State != Main || m.Trial == trialClaim || c.Kind == crawl.ClaimSelf && m.Trial != "" {
			m.SetState(e, Main, "", "")
			m.rest(e)
		}
		return
	case named:
		m.Gone = time.Time{}
		if !m.Mirrored() || m.By == byClaim || m.By == ByTwin && m.Main != c.Target {
			m.SetState(e, Unconfirmed, whyPending, "")
		}
	case m.Trial == trialClaim || m.givenUp(e):
		return
	}
	m.Samples, m.Round, m.Walk = nil, 0, []canon.Origin{e.X}
	m.try(e, trialClaim)
	m.follow(e, c)
}

// Claimed applies the claim of an origin.
func (m *Record) Claimed(e *Env, of canon.Origin, c crawl.Claim) {
	if m.Trial == "" || len(m.Walk) == 0 || m.Walk[len(m.Walk)-1] != of {
		return // not awaited
	}
	switch m.Trial {
	case trialClaim:
		m.follow(e, c)
	case trialRedirect:
		m.movedTo(e, of, c)
	case trialTwin:
		m.twinSaid(e, of, c)
	}
}

// follow continues the chain: from X to the origin that it names, to the one that this names, and
// so on (formats §2.4 step 2).
func (m *Record) follow(e *Env, c crawl.Claim) {
	at := m.Walk[len(m.Walk)-1]
	next := c.Target
	switch {
	case c.Kind == crawl.ClaimUnknown && len(m.Walk) == 1:
		m.rest(e) // X's own claim is unknown: its state stays
		return
	case c.Kind == crawl.ClaimUnknown:
		m.unreachable(e, at, c.Reason)
		return
	case c.Kind == crawl.ClaimTarget:
	case c.Main != canon.Origin{} && at != e.X:
		next = c.Main // it names no other origin, but is known to be a mirror
	default:
		m.reached(e, at, c)
		return
	}
	switch {
	case slices.Contains(m.Walk, next):
		m.Gone = time.Time{}
		m.fail(e, whyCycle, at.String()+" names "+next.String())
	case len(m.Walk) > maxMirrorChain:
		m.Gone = time.Time{}
		m.fail(e, whyChain, "")
	case !e.InScope(next):
		m.Gone = time.Time{}
		m.fail(e, WhyScope, "")
	default:
		m.Walk = append(m.Walk, next)
		m.try(e, trialClaim)
		e.Ask(crawl.AuxClaim, next, "/robots.txt", 0)
	}
}

// unreachable ends a chain at an origin whose robots.txt cannot be fetched. It is tried again with
// each refresh, for 30 days; a merge also lasts as long as this.
func (m *Record) unreachable(e *Env, at canon.Origin, why string) {
	if m.Gone.IsZero() {
		m.Gone = e.Now
	}
	if m.Mirrored() && !(m.By == byClaim && m.givenUp(e)) {
		m.rest(e)
		return
	}
	if why != "" {
		why = at.String() + ": " + why
	}
	m.fail(e, whyTarget, why)
}

// reached ends a chain at the main host. What remains is to find evidence (formats §2.4 step 3).
func (m *Record) reached(e *Env, main canon.Origin, c crawl.Claim) {
	m.Gone, m.Walk = time.Time{}, nil
	same := m.Mirrored() && m.By == byClaim && m.Main == main
	switch {
	case main == e.X:
		m.rest(e)
	case !e.InScope(main):
		m.fail(e, WhyScope, "")
	case c.Kind == crawl.ClaimSelf && len(c.Digest) > 0 && bytes.Equal(c.Digest, m.Digest):
		m.Confirm(e, main, byClaim, "robots.txt")
	case same && e.Now.Sub(m.Proved) < mirrorProof:
		m.rest(e)
	case m.State == Unconfirmed && m.Reason == whyDiffers && e.Now.Sub(m.Compared) < mirrorProof:
		m.rest(e)
	default:
		if m.Mirrored() && m.By == byClaim && !same {
			m.SetState(e, Unconfirmed, whyPending, "")
		}
		m.compare(e, trialClaim, main)
	}
}

// fail ends an examination of X's claim without a merge, and ends an existing merge.
func (m *Record) fail(e *Env, reason, detail string) {
	if m.Mirrored() && m.By == ByRedirect {
		m.rest(e) // whatever the claim is, all its pages lead there
		return
	}
	m.SetState(e, Unconfirmed, reason, detail)
	m.rest(e)
	if reason == WhyScope && !e.InScope(m.Target) {
		m.Due = time.Time{} // the scope decides, not the hosts
	}
}

// Rescoped applies a change of the crawl's scope. Pages belong to a main host only while they may
// be crawled there. A main host to which all pages of X have moved remains, because X has no pages
// of its own.
func (m *Record) Rescoped(e *Env) {
	switch {
	case m.Mirrored() && m.By != ByRedirect && !e.InScope(m.Main):
		if m.By == ByTwin {
			m.undo(e)
		} else {
			m.fail(e, WhyScope, "")
		}
	case !m.Mirrored() && m.Reason == WhyScope:
		m.Due, m.Soon = e.Now, true
	}
}

// Stored notes that a page of X was stored, so that there may be something to compare now. This is
// checked less and less often, because a check costs the other host requests, and a new page costs
// its owner nothing (formats §2.5).
func (m *Record) Stored(e *Env) {
	if m.State != Unconfirmed || m.Reason != whyNoProof || m.Trial != "" || m.Soon {
		return
	}
	if m.Vain++; bits.OnesCount32(m.Vain) == 1 {
		m.Due, m.Soon = e.Now.Add(mirrorSettle), true
	}
}

// Tick does what is due.
func (m *Record) Tick(e *Env) {
	if m.Due.IsZero() || m.Due.After(e.Now) {
		return
	}
	switch {
	case m.Trial != "" && len(m.Walk) > 0: // there was no answer
		m.Claimed(e, m.Walk[len(m.Walk)-1], crawl.Claim{Reason: "no answer"})
	case m.Trial != "":
		m.Round = 1
		m.judge(e)
	case m.Mirrored() && m.By == ByTwin:
		m.compare(e, trialTwin, m.Main)
	case m.Mirrored() && m.By == ByRedirect:
		m.stillMoved(e)
	case m.Claim == crawl.ClaimTarget:
		// X's own robots.txt first: the stored copy if that is fresh, otherwise the host is
		// visited.
		m.Walk = []canon.Origin{e.X}
		m.try(e, trialClaim)
		e.Ask(crawl.AuxClaim, e.X, "/robots.txt", 0)
	default:
		m.Due, m.Soon = time.Time{}, false
	}
}

// Times shows the times of the record to see. Evidence keeps its age. A change of the clock does
// not postpone the next check of a mirror, unless an answer is awaited.
func (m *Record) Times(see times.See) {
	for _, t := range []*time.Time{&m.Since, &m.Proved, &m.Compared, &m.From} {
		see(t, times.Known)
	}
	see(&m.Gone, times.Happened)
	see(&m.Asked, times.Happened)
	due := times.Known
	if m.Trial != "" {
		due = times.Waits
	}
	see(&m.Due, due)
}
