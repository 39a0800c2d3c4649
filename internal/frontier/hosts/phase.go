package hosts

import (
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// Phase is how far an owner is with its shard, and so what it may do with it:
//
//	reading → owing → granting → leaving → closed
//
// Two requests come too close together if a host is granted while a visit that an earlier owner
// granted still runs, or less than the host's delay after one. Visits are granted without writing
// anything down, so a new owner cannot look them up. Each stage rules out one of the ways in which
// it could know too little:
//
// Reading: the file is as it was committed last. What happened since is in the log, for example the
// outcome of a visit and with it when its host may be visited again. So nothing is granted until
// all that the log held when reading began is applied. A log that begins anew (rewound) brings the
// shard back here.
//
// Owing: visits may still run that neither the file nor the log tells of. None outlives its lease,
// and none is renewed after its owner has stopped. So a whole lease is waited, from the end of the
// log on, and every host counts as visited at the end of that. What start says decides whether
// this stage is needed at all.
//
// Granting: the shard knows every visit that may run. It grants, renews, and does what its own
// upkeep calls for.
//
// Leaving: nothing is granted or renewed any more, so that what is about to be written of the
// outstanding visits stays true. The log is still applied for a moment.
//
// Closed: the file's transaction has ended. Nothing can be read or written.
//
// A crash forgets the phase, whatever it was, and the next owner begins with reading. What it then
// waits for depends on the file and the ownership record, and both say "in order" only after the
// last stage was left: the file is marked as not clean before the first visit can be granted
// (begin), and as clean only when leaving (farewell, close), if InOrder allows it.
//
// A phase does no I/O. It is guarded by its shard's mu. The zero phase is reading.
type Phase struct {
	Read   bool  // the log is applied as far as it went when reading it began
	Left   bool  // leaving has begun
	closed bool  // the file's transaction has ended
	Err    error // why the shard failed: memory and file may differ, it must be opened anew

	Until time.Time // when owing ends; no visit is granted before
	// complete: once until has passed, no visit can be under way but those in the shard's visits.
	complete bool
	visits   bool // the log that was read tells of visits
	// unaware is how long a deposed owner may still act without knowing it. It is zero unless the
	// ownership record was lost: else whoever took the shard has waited for that already.
	unaware time.Duration
}

type stage int

const (
	stageReading stage = iota
	stageUnaccounted
	stageGranting
	stageLeaving
	stageClosed
)

// Start says what visits of earlier owners a shard must reckon with when it begins.
type Start int

const (
	// StartClean: the last owner left the shard in order, and the file is the one it left. All
	// visits that may run stand in the file's table of visits.
	StartClean Start = iota
	// StartDelay: visits may have been under way, but their fetchers are dead. Every host counts as
	// visited just now.
	StartDelay
	// StartLease: visits may still be under way. A lease must pass, and then one delay.
	StartLease
	// StartNew: nobody had the shard before, unless its log tells of visits.
	StartNew
)

// String says what is owed before work goes on.
func (s Start) String() string { return [...]string{"clean", "delay", "lease", "clean"}[s] }

// stage is where the shard is now.
func (p *Phase) stage(now time.Time) stage {
	switch {
	case p.closed:
		return stageClosed
	case p.Left:
		return stageLeaving
	case !p.Read:
		return stageReading
	case p.RemainingDelay(now) > 0:
		return stageUnaccounted
	}
	return stageGranting
}

// MayGrant reports whether visits may be granted, as far as the phase goes.
func (p *Phase) MayGrant(now time.Time) bool {
	return p.Err == nil && p.stage(now) == stageGranting
}

// MayRenew reports whether the visits that were granted may be prolonged.
func (p *Phase) MayRenew() bool { return !p.Left && !p.closed }

// MayRead reports whether the shard's transaction is open.
func (p *Phase) MayRead() bool { return !p.closed }

// errClosed: the shard's file is closed.
var errClosed = errors.New("frontier: shard is closed")

// MayWrite is nil, or why nothing may be written.
func (p *Phase) MayWrite() error {
	if p.Err == nil && p.closed {
		return errClosed
	}
	return p.Err
}

// Active reports whether the shard may begin something that no event calls for: passes and upkeep.
// They wait until the log is read, since that may have the answers they would ask for.
func (p *Phase) Active() bool { return p.Read && !p.Left && p.MayWrite() == nil }

// RemainingDelay is how long owing still lasts. Time that passes counts, whatever the clock is set
// to.
func (p *Phase) RemainingDelay(now time.Time) time.Duration { return max(p.Until.Sub(now), 0) }

// InOrder reports whether the shard's visits are all that may be under way: who takes the shard
// with them need not wait for others.
func (p *Phase) InOrder(now time.Time) bool {
	return p.complete && p.RemainingDelay(now) == 0 && p.Err == nil
}

// Begin notes how the shard was found, before its log is read. With StartClean the visits that came
// with the file are complete already: should the shard be left at once, it is in order.
func (p *Phase) Begin(found Start, unaware time.Duration) {
	p.complete, p.unaware = found == StartClean, unaware
}

// Saw takes note of an event of the log.
func (p *Phase) Saw(id crawl.VisitID) { p.visits = p.visits || !id.IsZero() }

// CaughtUp ends reading and returns what is owed now. A shard that looked new, but whose log tells
// of visits, is one whose ownership record was lost. The caller has every host count as visited at
// until (StartLease) or now (StartDelay).
func (p *Phase) CaughtUp(found Start, now time.Time) Start {
	if found == StartNew {
		found = StartClean
		if p.visits {
			found = StartLease
		}
	}
	if found == StartLease {
		p.Until = now.Add(p.unaware + times.OwnerLease)
	}
	p.Read, p.complete = true, true
	return found
}

// Rewound goes back to reading: the log does not go on where it was applied to. Events may be lost,
// and visits with them. So what is owed after it is a lease.
func (p *Phase) Rewound() { p.Read, p.complete = false, false }

// Leave ends granting and renewing for good.
func (p *Phase) Leave() { p.Left = true }

// close notes that the file's transaction has ended and that no other begins.
func (p *Phase) close() { p.closed = true }
