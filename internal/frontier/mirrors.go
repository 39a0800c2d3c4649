package frontier

import (
	"bytes"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The states of an origin X in the mirror database (protocols §2.4).
const (
	mirrorMain        = "main"        // it names no other origin
	mirrorOfMain      = "mirror"      // of mirror.Main, for which there is evidence
	mirrorUnconfirmed = "unconfirmed" // it names another origin, and that is all there is: mirror.Reason
)

// Why a claim is unconfirmed.
const (
	whyPending = "pending"            // it is being looked into
	whyTarget  = "target-unreachable" // the robots.txt of the origin it names cannot be had
	whyCycle   = "cycle"              // the origins it leads to lead back to it, or in a circle
	whyChain   = "chain"              // they lead on for more than maxMirrorHops
	whyDiffers = "content-differs"    // the pages compared are not the same
	whyNoProof = "no-evidence"        // no page could be compared, and the two files differ
	whyScope   = "out-of-scope"       // it leads out of the crawl's scope: nobody was asked
)

// What a mirror is recognised by.
const (
	byClaim    = ""         // the Host line of its robots.txt
	byRedirect = "redirect" // all its pages have moved there for good
	byTwin     = "www"      // it is the other's name with or without www.
)

const (
	maxMirrorHops = 5                   // from claim to claim (§2.4)
	mirrorPages   = 5                   // how many pages are compared
	mirrorClosed  = 20                  // how many may turn out to be closed to us on the main host before no others are tried
	mirrorProof   = 30 * 24 * time.Hour // how long evidence lasts, and how long a main host may be away
	mirrorAnswer  = pendingMax          // how long an answer is waited for
	mirrorSettle  = 5 * time.Second     // from the first page that could be compared to the comparison: there are more soon
)

// mirror is what is known of an origin X's being a mirror: a state machine that does no I/O. Its methods are told what
// happened and ask, through mirrorEnv, what has to be asked of whom; whoever keeps it compares State and Main before and
// after. It is part of X's record, so it outlives any process; an answer that is not awaited (any more) changes nothing.
//
// The edge from X to another origin always begins with what X itself serves: nothing here makes anyone but X a mirror
// (§2.5).
type mirror struct {
	State    string       `json:"state,omitempty"` // one of the states, or "" while there is nothing to tell
	Main     canon.Origin `json:"main,omitzero"`   // with mirrorOfMain
	By       string       `json:"by,omitempty"`    // with mirrorOfMain
	Reason   string       `json:"reason,omitempty"`
	Detail   string       `json:"detail,omitempty"`   // of the reason, for people
	Evidence string       `json:"evidence,omitempty"` // for people
	Since    time.Time    `json:"since,omitzero"`
	Proved   time.Time    `json:"proved,omitzero"`   // when the evidence was seen last
	Compared time.Time    `json:"compared,omitzero"` // when pages were compared and turned out different
	Gone     time.Time    `json:"gone,omitzero"`     // since when an origin that X's claim leads to cannot be had

	// What X's robots.txt says.
	Claim  crawl.ClaimKind `json:"claim,omitempty"`
	Target canon.Origin    `json:"target,omitzero"`
	Digest []byte          `json:"digest,omitempty"` // robots.Digest of it

	// The examination under way, if Trial is set.
	Trial   string         `json:"trial,omitempty"`
	Walk    []canon.Origin `json:"walk,omitempty"`    // X and the origins asked since; the last one's answer is awaited
	End     canon.Origin   `json:"end,omitzero"`      // the origin X is compared with
	Larger  bool           `json:"larger,omitempty"`  // trialTwin: End is to be the main host
	Samples []mirrorSample `json:"samples,omitempty"` // the pages compared
	Closed  []string       `json:"closed,omitempty"`  // paths of others, which End's rules keep from us
	Round   int            `json:"round,omitempty"`   // 1: what is known already does not do, and is fetched
	Asked   time.Time      `json:"asked,omitzero"`

	Due  time.Time `json:"due,omitzero"`   // when to look again; zero: when something happens
	Soon bool      `json:"soon,omitempty"` // Due is part of this crawl, not an upkeep

	merge // of X's URLs, see mirrormerge.go
}

// Trials.
const (
	trialClaim    = "claim"
	trialRedirect = "redirect"
	trialTwin     = "www"
)

// mirrorEnv is what a step of the state machine may know and do.
type mirrorEnv struct {
	x       canon.Origin
	now     time.Time
	refresh time.Time // when X's robots.txt will be old
	inScope func(canon.Origin) bool
	pages   func(n int, skip []string) []mirrorSample // up to n of X's pages that can be compared, the root first, without these paths
	moved   func() []string                           // paths of X that have moved for good, the root first; up to mirrorPages
	size    func() crawl.Claim                        // URLs and Led of X

	asks []crawl.Errand // asked for in this step; without ReplyShard
}

func (e *mirrorEnv) ask(kind crawl.ErrandKind, to canon.Origin, pathQuery string, hop int) {
	if u, err := to.URL(pathQuery); err == nil {
		e.asks = append(e.asks, crawl.Errand{Kind: kind, URL: u, Origin: e.x, Hop: hop})
	}
}

// mirrored reports whether X's pages are those of Main.
func (m *mirror) mirrored() bool { return m != nil && m.State == mirrorOfMain }

// pending reports whether there is more to be found out in this crawl.
func (m *mirror) pending() bool { return m.Trial != "" || m.Soon }

// become changes the state.
func (m *mirror) become(e *mirrorEnv, state, reason, detail string) {
	if m.State != state || m.Reason != reason {
		m.Since = e.now
	}
	m.State, m.Reason, m.Detail = state, reason, detail
	m.Main, m.By, m.Evidence, m.Proved = canon.Origin{}, "", "", time.Time{}
}

// confirm makes X a mirror.
func (m *mirror) confirm(e *mirrorEnv, main canon.Origin, by, evidence string) {
	if m.State != mirrorOfMain || m.Main != main {
		m.Since = e.now
	}
	m.State, m.Reason, m.Detail = mirrorOfMain, "", ""
	m.Main, m.By, m.Evidence, m.Proved = main, by, evidence, e.now
	m.rest(e)
}

// rest ends the examination under way and says when to look again.
func (m *mirror) rest(e *mirrorEnv) {
	m.Trial, m.Walk, m.End, m.Larger, m.Samples, m.Closed, m.Round, m.Asked = "", nil, canon.Origin{}, false, nil, nil, 0, time.Time{}
	m.Due, m.Soon = time.Time{}, false
	switch {
	case m.mirrored() && m.By != byClaim:
		m.Due = m.Proved.Add(mirrorProof)
	case m.Claim == crawl.ClaimTarget && !m.givenUp(e):
		m.Due = latest(e.refresh, e.now.Add(time.Minute))
	}
}

// try begins or goes on with an examination that awaits answers.
func (m *mirror) try(e *mirrorEnv, trial string) {
	m.Trial, m.Asked, m.Due, m.Soon = trial, e.now, e.now.Add(mirrorAnswer), false
}

// givenUp reports that what X names has been away for so long that nobody asks any more.
func (m *mirror) givenUp(e *mirrorEnv) bool {
	return !m.Gone.IsZero() && e.now.Sub(m.Gone) >= mirrorProof
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// read takes in what X's robots.txt says, as just read: "recheck with each robots refresh; a dropped or changed Host line
// dissolves the merge at once" (§2.4 step 5).
func (m *mirror) read(e *mirrorEnv, c crawl.Claim) {
	named := m.Claim != c.Kind || m.Target != c.Target
	if !bytes.Equal(m.Digest, c.Digest) {
		m.Compared, m.Gone = time.Time{}, time.Time{} // another file, another case
	}
	m.Claim, m.Target, m.Digest = c.Kind, c.Target, slices.Clone(c.Digest)
	switch {
	case c.Kind != crawl.ClaimTarget:
		if m.mirrored() && m.By == byTwin && c.Kind == crawl.ClaimNone || m.mirrored() && m.By == byRedirect {
			return // it stands on something else than a claim
		}
		if m.State != mirrorMain || m.Trial == trialClaim || c.Kind == crawl.ClaimSelf && m.Trial != "" {
			m.become(e, mirrorMain, "", "")
			m.rest(e)
		}
		return
	case named:
		m.Gone = time.Time{}
		if !m.mirrored() || m.By == byClaim || m.By == byTwin && m.Main != c.Target {
			m.become(e, mirrorUnconfirmed, whyPending, "")
		}
	case m.Trial == trialClaim || m.givenUp(e):
		return
	}
	if !e.inScope(c.Target) {
		m.fail(e, whyScope, "")
		return
	}
	m.Samples, m.Round, m.Walk = nil, 0, []canon.Origin{e.x}
	m.try(e, trialClaim)
	m.follow(e, c)
}

// claimed takes in what an origin says of itself.
func (m *mirror) claimed(e *mirrorEnv, of canon.Origin, c crawl.Claim) {
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

// follow takes the walk a step on: from X to the origin it names, to the one that names, and so on (§2.4 step 2).
func (m *mirror) follow(e *mirrorEnv, c crawl.Claim) {
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
	case c.Main != canon.Origin{} && at != e.x:
		next = c.Main // it names nobody, and is known to be another's mirror all the same
	default:
		m.reached(e, at, c)
		return
	}
	switch {
	case slices.Contains(m.Walk, next):
		m.Gone = time.Time{}
		m.fail(e, whyCycle, at.String()+" names "+next.String())
	case len(m.Walk) > maxMirrorHops:
		m.Gone = time.Time{}
		m.fail(e, whyChain, "")
	default:
		m.Walk = append(m.Walk, next)
		m.try(e, trialClaim)
		e.ask(crawl.ErrandClaim, next, "/robots.txt", 0)
	}
}

// unreachable ends a walk at an origin whose robots.txt cannot be had. It is tried again with each refresh, for 30 days: a
// merge lasts as long.
func (m *mirror) unreachable(e *mirrorEnv, at canon.Origin, why string) {
	if m.Gone.IsZero() {
		m.Gone = e.now
	}
	if m.mirrored() && !(m.By == byClaim && m.givenUp(e)) {
		m.rest(e)
		return
	}
	if why != "" {
		why = at.String() + ": " + why
	}
	m.fail(e, whyTarget, why)
}

// reached ends a walk at the main host: what remains is evidence (§2.4 step 3).
func (m *mirror) reached(e *mirrorEnv, main canon.Origin, c crawl.Claim) {
	m.Gone, m.Walk = time.Time{}, nil
	same := m.mirrored() && m.By == byClaim && m.Main == main
	switch {
	case main == e.x:
		m.rest(e)
	case !e.inScope(main):
		m.fail(e, whyScope, "")
	case c.Kind == crawl.ClaimSelf && len(c.Digest) > 0 && bytes.Equal(c.Digest, m.Digest):
		m.confirm(e, main, byClaim, "robots.txt")
	case same && e.now.Sub(m.Proved) < mirrorProof:
		m.rest(e)
	case m.State == mirrorUnconfirmed && m.Reason == whyDiffers && e.now.Sub(m.Compared) < mirrorProof:
		m.rest(e)
	default:
		if m.mirrored() && m.By == byClaim && !same {
			m.become(e, mirrorUnconfirmed, whyPending, "")
		}
		m.compare(e, trialClaim, main)
	}
}

// fail ends an examination of X's claim without a merge, and dissolves the one there is.
func (m *mirror) fail(e *mirrorEnv, reason, detail string) {
	if m.mirrored() && m.By == byRedirect {
		m.rest(e) // whatever it says, all its pages lead there
		return
	}
	m.become(e, mirrorUnconfirmed, reason, detail)
	m.rest(e)
	if reason == whyScope {
		m.Due = time.Time{} // the scope decides, not the hosts
	}
}

// stored tells that a page of X was stored: perhaps there is something to compare now.
func (m *mirror) stored(e *mirrorEnv) {
	if m.State == mirrorUnconfirmed && m.Reason == whyNoProof && m.Trial == "" && !m.Soon {
		m.Due, m.Soon = e.now.Add(mirrorSettle), true
	}
}

// tick does what is due.
func (m *mirror) tick(e *mirrorEnv) {
	if m.Due.IsZero() || m.Due.After(e.now) {
		return
	}
	switch {
	case m.Trial != "" && len(m.Walk) > 0: // no answer
		m.claimed(e, m.Walk[len(m.Walk)-1], crawl.Claim{Reason: "no answer"})
	case m.Trial != "":
		m.Round = 1
		m.judge(e)
	case m.mirrored() && m.By == byTwin:
		m.compare(e, trialTwin, m.Main)
	case m.mirrored() && m.By == byRedirect:
		m.stillMoved(e)
	case m.Claim == crawl.ClaimTarget:
		// Its own robots.txt first: from the copy held, if that is fresh, else the host is visited.
		m.Walk = []canon.Origin{e.x}
		m.try(e, trialClaim)
		e.ask(crawl.ErrandClaim, e.x, "/robots.txt", 0)
	default:
		m.Due, m.Soon = time.Time{}, false
	}
}

// shift moves the times to another machine's clock, see arrive. What is waited for is waited for as long as was left; evidence is not
// younger for having been on the way, nor is the next look at it later, and nothing is from the future.
func (m *mirror) shift(d time.Duration, move func(*time.Time, time.Duration)) {
	for _, t := range []*time.Time{&m.Since, &m.Proved, &m.Compared} {
		move(t, min(d, 0))
	}
	move(&m.Gone, d)
	move(&m.Asked, d)
	if m.Trial == "" {
		d = min(d, 0)
	}
	move(&m.Due, d)
}
