package store

import (
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/times"
)

// Phase is what an owner knows about its shard, and therefore what it may do with it:
//
//	reading → unaccounted → granting → leaving → closed
//
// Two requests to a host come too close together if a visit is granted while a visit of an earlier
// owner still runs, or less than the host's delay after it. Grants are not stored, so a new owner
// cannot look them up. Each stage excludes one of the ways in which the owner could know too
// little:
//
// Reading: the file is as it was committed last. Later events are in the log, for example the
// outcome of a visit, which determines when its host may be visited again. So nothing is granted
// until the owner has applied everything that the log held when reading began. If a new log begins
// (Rewound), the shard returns to this stage.
//
// Unaccounted: visits may still run that neither the file nor the log contains. None of them
// outlives its lease, and none is renewed after its owner has stopped. So the owner waits for a
// whole lease from the end of the log on, and then every host counts as visited at that moment.
// Start determines whether this stage is needed.
//
// Granting: the shard knows every visit that may run. It grants and renews visits, and does its own
// maintenance.
//
// Leaving: nothing is granted or renewed any more, so that the list of outstanding visits that is
// about to be written stays true. The log is still applied for a moment.
//
// Closed: the file's transaction has ended. Nothing can be read or written.
//
// A crash loses the phase, and the next owner begins with reading. How long it then waits depends
// on the file and the ownership record. Both say "in order" only after the shard was left properly:
// the file is marked as not clean before the first visit can be granted (begin), and as clean only
// when leaving (restore.Copies.Farewell, close), if InOrder permits it.
//
// A phase does no I/O. It is guarded by its shard's mutex. The zero phase is reading.
type Phase struct {
	Read   bool // the log is applied up to where it ended when reading began
	Left   bool // leaving has begun
	closed bool // the file's transaction has ended
	// Why the shard failed: memory and file may differ, so the file must be opened again
	Err error

	Until time.Time // when the stage unaccounted ends; no visit is granted before
	// complete: after Until, no visits can be running except those that the shard knows.
	complete bool
	visits   bool // the log that was read contains visits
	// unaware is how long a deposed owner may still act because it does not know that it was
	// deposed. It is zero unless the ownership record was lost: in other cases the new owner has
	// waited for that time before it took the shard.
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

// Start says which visits of earlier owners may still be running when a shard begins.
type Start int

const (
	// StartClean: the last owner left the shard in order, and the file is the one that it left. All
	// visits that may run are in the file's table of visits.
	StartClean Start = iota
	// StartDelay: visits may have been running, but their fetchers are dead. Every host counts as
	// visited just now.
	StartDelay
	// StartLease: visits may still be running. The shard waits for a lease, and then for one delay.
	StartLease
	// StartNew: nobody owned the shard before, unless its log contains visits.
	StartNew
)

// String names what the shard must wait for before work continues.
func (s Start) String() string { return [...]string{"clean", "delay", "lease", "clean"}[s] }

// stage is the current stage.
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

// MayGrant reports whether the phase permits granting visits.
func (p *Phase) MayGrant(now time.Time) bool {
	return p.Err == nil && p.stage(now) == stageGranting
}

// MayRenew reports whether granted visits may be prolonged.
func (p *Phase) MayRenew() bool { return !p.Left && !p.closed }

// MayRead reports whether the shard's transaction is open.
func (p *Phase) MayRead() bool { return !p.closed }

// errClosed: the shard's file is closed.
var errClosed = errors.New("frontier: shard is closed")

// MayWrite is nil, or the reason why nothing may be written.
func (p *Phase) MayWrite() error {
	if p.Err == nil && p.closed {
		return errClosed
	}
	return p.Err
}

// Active reports whether the shard may begin work that no event causes: passes and maintenance.
// They wait until the log is read, because it may already contain the results that they would
// request.
func (p *Phase) Active() bool { return p.Read && !p.Left && p.MayWrite() == nil }

// RemainingDelay is how long the stage unaccounted still lasts. It measures elapsed time, so
// setting the clock does not change it.
func (p *Phase) RemainingDelay(now time.Time) time.Duration { return max(p.Until.Sub(now), 0) }

// InOrder reports whether the shard's visits are all that may be running. A new owner that takes
// the shard with them need not wait for others.
func (p *Phase) InOrder(now time.Time) bool {
	return p.complete && p.RemainingDelay(now) == 0 && p.Err == nil
}

// Begin records how the shard was found, before its log is read. With StartClean the visits in the
// file are complete, so a shard that is left at once is in order.
func (p *Phase) Begin(found Start, unaware time.Duration) {
	p.complete, p.unaware = found == StartClean, unaware
}

// Saw notes an event of the log.
func (p *Phase) Saw(id crawl.VisitID) { p.visits = p.visits || !id.IsZero() }

// CaughtUp ends reading and returns what the shard must wait for now. If a shard looked new but its
// log contains visits, its ownership record was lost. The caller makes every host count as visited
// at Until (StartLease) or now (StartDelay).
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

// Rewound returns to reading, because the log does not continue where it was applied to. Events may
// be lost, and visits with them, so the shard waits for a lease afterwards.
func (p *Phase) Rewound() { p.Read, p.complete = false, false }

// Leave ends granting and renewing for good.
func (p *Phase) Leave() { p.Left = true }

// close notes that the file's transaction has ended and that no other will begin.
func (p *Phase) close() { p.closed = true }
