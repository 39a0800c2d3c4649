// Package mirror decides whether an origin is a mirror of another. It is a state machine without
// I/O: events and time go in, questions to ask and a state come out. Package mirrors carries them
// out.
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

// PendingMax is how long an origin waits for another host's answer about its robots.txt before
// it is asked afresh.
const PendingMax = time.Hour

// Merge is how far X's URLs have been brought into agreement with whether X is a mirror.
type Merge struct {
	Settling bool   `json:"settling,omitempty"` // they are being gone through
	Next     []byte `json:"next,omitempty"`     // the key to go on from
	Sent     int64  `json:"sent,omitempty"`     // URLs handed to a main host's shard, of X's budget
	// Pages of X that were stored when they became the main host's.
	StoredPages int64 `json:"held,omitempty"`
	// Sent and Held are counted for this main host, from then on.
	To   canon.Origin `json:"to,omitzero"`
	From time.Time    `json:"from,omitzero"`
}

// budgetSpan is how long what a mirror has handed on to a main host counts against its budget when
// it becomes a mirror of that host again.
const budgetSpan = 30 * 24 * time.Hour

// Begin begins the counts of a merge with a main host. They go on if the last merge was with the
// same one and began lately: to end a merge and begin it again gives no new budget.
func (m *Merge) Begin(main canon.Origin, now time.Time) {
	if m.To != main || now.Sub(m.From) >= budgetSpan {
		m.Sent, m.StoredPages, m.To, m.From = 0, 0, main, now
	}
}

// The states of an origin X in the mirror database (protocols §2.4).
const (
	Main        = "main"        // it names no other origin
	OfMain      = "mirror"      // of mirror.Main, for which there is evidence
	Unconfirmed = "unconfirmed" // it names another origin, and that is all there is: mirror.Reason
)

// Why a claim is unconfirmed.
const (
	WhyPending = "pending"            // it is being looked into
	whyTarget  = "target-unreachable" // the robots.txt of the origin it names cannot be had
	whyCycle   = "cycle"              // the origins it leads to lead back to it, or in a circle
	whyChain   = "chain"              // they lead on for more than maxMirrorChain
	whyDiffers = "content-differs"    // the pages compared are not the same
	whyNoProof = "no-evidence"        // no page could be compared, and the two files differ
	WhyScope   = "out-of-scope"       // it leads out of the crawl's scope: nobody was asked
)

// What a mirror is recognised by.
const (
	byClaim    = ""         // the Host line of its robots.txt
	ByRedirect = "redirect" // all its pages have moved there for good
	ByTwin     = "www"      // it is the other's name with or without www.
)

const (
	maxMirrorChain = 5 // from claim to claim (§2.4)
	Pages          = 5 // how many pages are compared
	// How many may turn out to be closed to us on the main host before no others are tried.
	mirrorClosed = 20
	// How long evidence lasts, and how long a main host may be away.
	mirrorProof  = 30 * 24 * time.Hour
	mirrorAnswer = PendingMax // how long an answer is waited for
	// From the first page that could be compared to the comparison: there are more soon.
	mirrorSettle = 5 * time.Second
)

// Record is what is known of an origin X's being a mirror: a state machine that does no I/O. Its
// methods are told what happened and ask, through mirrorEnv, what has to be asked of whom; whoever
// keeps it compares State and Main before and after. It is part of X's record, so it outlives any
// process; an answer that is not awaited (any more) changes nothing.
//
// The edge from X to another origin always begins with what X itself serves: nothing here makes
// anyone but X a mirror (§2.5).
type Record struct {
	// One of the states, or "" while there is nothing to tell.
	State    string       `json:"state,omitempty"`
	Main     canon.Origin `json:"main,omitzero"` // with OfMain
	By       string       `json:"by,omitempty"`  // with OfMain
	Reason   string       `json:"reason,omitempty"`
	Detail   string       `json:"detail,omitempty"`   // of the reason, for people
	Evidence string       `json:"evidence,omitempty"` // for people
	Since    time.Time    `json:"since,omitzero"`
	Proved   time.Time    `json:"proved,omitzero"` // when the evidence was seen last
	// When pages were compared and turned out different.
	Compared time.Time `json:"compared,omitzero"`
	// Since when an origin that X's claim leads to cannot be had.
	Gone time.Time `json:"gone,omitzero"`

	// Pages of X that were stored while none could be compared.
	Vain uint32 `json:"vain,omitempty"`

	// What X's robots.txt says.
	Claim  crawl.ClaimKind `json:"claim,omitempty"`
	Target canon.Origin    `json:"target,omitzero"`
	Digest []byte          `json:"digest,omitempty"` // robots.Digest of it

	// The examination under way, if Trial is set.
	Trial string `json:"trial,omitempty"`
	// X and the origins asked since; the last one's answer is awaited
	Walk    []canon.Origin `json:"walk,omitempty"`
	End     canon.Origin   `json:"end,omitzero"`      // the origin X is compared with
	Larger  bool           `json:"larger,omitempty"`  // trialTwin: End is to be the main host
	Samples []Sample       `json:"samples,omitempty"` // the pages compared
	// Paths of others, which End's rules keep from us.
	Closed []string `json:"closed,omitempty"`
	// 1: what is known already does not do, and is fetched
	Round int       `json:"round,omitempty"`
	Asked time.Time `json:"asked,omitzero"`

	Due  time.Time `json:"due,omitzero"`   // when to look again; zero: when something happens
	Soon bool      `json:"soon,omitempty"` // Due is part of this crawl, not an upkeep

	Merge // of X's URLs, see package mirrors
}

// Trials.
const (
	TrialClaim    = "claim"
	trialRedirect = "redirect"
	trialTwin     = "www"
)

// Env is what a step of the state machine may know and do.
type Env struct {
	X       canon.Origin
	Now     time.Time
	Refresh time.Time // when X's robots.txt will be old
	InScope func(canon.Origin) bool
	// Up to n of X's pages that can be compared, the root first, without these paths.
	Pages func(n int, skip []string) []Sample
	// Paths of X that have moved for good, the root first; up to mirrorPages.
	Moved func() []string
	Size  func() crawl.Claim // URLs and Led of X

	Asks []crawl.AuxRequest // asked for in this step; without ReplyShard
}

// Ask notes a question to another origin.
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

// rest ends the examination under way and says when to look again.
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

// try begins or goes on with an examination that awaits answers.
func (m *Record) try(e *Env, trial string) {
	m.Trial, m.Asked, m.Due, m.Soon = trial, e.Now, e.Now.Add(mirrorAnswer), false
}

// givenUp reports that what X names has been away for so long that nobody asks any more.
func (m *Record) givenUp(e *Env) bool {
	return !m.Gone.IsZero() && e.Now.Sub(m.Gone) >= mirrorProof
}

// Latest is the latest of some times.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Read takes in what X's robots.txt says, as just read: "recheck with each robots refresh; a
// dropped or changed Host line dissolves the merge at once" (§2.4 step 5).
func (m *Record) Read(e *Env, c crawl.Claim) {
	named := m.Claim != c.Kind || m.Target != c.Target
	if !bytes.Equal(m.Digest, c.Digest) {
		// another file, another case
		m.Compared, m.Gone, m.Vain = time.Time{}, time.Time{}, 0
	}
	m.Claim, m.Target, m.Digest = c.Kind, c.Target, slices.Clone(c.Digest)
	switch {
	case c.Kind != crawl.ClaimTarget:
		if m.Mirrored() && m.By == ByTwin && c.Kind == crawl.ClaimNone || m.Mirrored() && m.By == ByRedirect {
			return // it stands on something else than a claim
		}
		if m.State != Main || m.Trial == TrialClaim || c.Kind == crawl.ClaimSelf && m.Trial != "" {
			m.SetState(e, Main, "", "")
			m.rest(e)
		}
		return
	case named:
		m.Gone = time.Time{}
		if !m.Mirrored() || m.By == byClaim || m.By == ByTwin && m.Main != c.Target {
			m.SetState(e, Unconfirmed, WhyPending, "")
		}
	case m.Trial == TrialClaim || m.givenUp(e):
		return
	}
	m.Samples, m.Round, m.Walk = nil, 0, []canon.Origin{e.X}
	m.try(e, TrialClaim)
	m.follow(e, c)
}

// Claimed takes in what an origin says of itself.
func (m *Record) Claimed(e *Env, of canon.Origin, c crawl.Claim) {
	if m.Trial == "" || len(m.Walk) == 0 || m.Walk[len(m.Walk)-1] != of {
		return // not awaited
	}
	switch m.Trial {
	case TrialClaim:
		m.follow(e, c)
	case trialRedirect:
		m.movedTo(e, of, c)
	case trialTwin:
		m.twinSaid(e, of, c)
	}
}

// follow takes the walk a step on: from X to the origin it names, to the one that names, and
// so on (§2.4 step 2).
func (m *Record) follow(e *Env, c crawl.Claim) {
	at := m.Walk[len(m.Walk)-1]
	next := c.Target
	switch {
	case c.Kind == crawl.ClaimUnknown && len(m.Walk) == 1:
		m.rest(e) // X's own: what was known of it stands
		return
	case c.Kind == crawl.ClaimUnknown:
		m.unreachable(e, at, c.Reason)
		return
	case c.Kind == crawl.ClaimTarget:
	case c.Main != canon.Origin{} && at != e.X:
		next = c.Main // it names nobody, and is known to be another's mirror all the same
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
		m.try(e, TrialClaim)
		e.Ask(crawl.AuxClaim, next, "/robots.txt", 0)
	}
}

// unreachable ends a walk at an origin whose robots.txt cannot be had. It is tried again with each
// refresh, for 30 days: a merge lasts as long.
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

// reached ends a walk at the main host: what remains is evidence (§2.4 step 3).
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
			m.SetState(e, Unconfirmed, WhyPending, "")
		}
		m.compare(e, TrialClaim, main)
	}
}

// fail ends an examination of X's claim without a merge, and dissolves the one there is.
func (m *Record) fail(e *Env, reason, detail string) {
	if m.Mirrored() && m.By == ByRedirect {
		m.rest(e) // whatever it says, all its pages lead there
		return
	}
	m.SetState(e, Unconfirmed, reason, detail)
	m.rest(e)
	if reason == WhyScope && !e.InScope(m.Target) {
		m.Due = time.Time{} // the scope decides, not the hosts
	}
}

// Rescoped takes in that the crawl's scope is another one. Pages are a main host's only while they
// may be crawled there. One that X's have all moved to remains: X has nothing else to show.
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

// Stored tells that a page of X was stored: perhaps there is something to compare now. That is
// looked at less and less often, since it costs the other host requests, and a page costs its owner
// nothing (§2.5).
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
	case m.Trial != "" && len(m.Walk) > 0: // no answer
		m.Claimed(e, m.Walk[len(m.Walk)-1], crawl.Claim{Reason: "no answer"})
	case m.Trial != "":
		m.Round = 1
		m.judge(e)
	case m.Mirrored() && m.By == ByTwin:
		m.compare(e, trialTwin, m.Main)
	case m.Mirrored() && m.By == ByRedirect:
		m.stillMoved(e)
	case m.Claim == crawl.ClaimTarget:
		// Its own robots.txt first: from the copy held, if that is fresh, else the host is visited.
		m.Walk = []canon.Origin{e.X}
		m.try(e, TrialClaim)
		e.Ask(crawl.AuxClaim, e.X, "/robots.txt", 0)
	default:
		m.Due, m.Soon = time.Time{}, false
	}
}

// Times shows what is kept of time. Evidence keeps its age. The next look at a mirror is not put
// off by another clock, unless an answer is being waited for.
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
