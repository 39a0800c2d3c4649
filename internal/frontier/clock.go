package frontier

import (
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// keptTimes are all parts of a file that contain times: those of the features, hosts, and URLs that
// wait for another attempt.
func keptTimes() []times.In {
	all := []times.In{store.InRecords[hosts.Host](store.BucketHosts), hosts.SeeEvicted, urls.SeeLater}
	for _, f := range shard.New(hosts.Options{}).Features.List { // the list is the same for all
		if f.Times != nil {
			all = append(all, f.Times)
		}
	}
	return all
}

// shiftTimes shifts all times in a shard's file to a clock that is ahead by d of the clock that
// wrote them.
func shiftTimes(tx *bolt.Tx, d time.Duration) error {
	for _, walk := range keptTimes() {
		if err := shift(tx, walk, d); err != nil {
			return err
		}
	}
	return nil
}

func shift(tx *bolt.Tx, walk times.In, d time.Duration) error {
	err := walk(tx, times.ShiftBy(d))
	if errors.Is(err, store.ErrRecord) {
		err = fmt.Errorf("%w: %w", store.ErrUnreadable, err)
	}
	return err
}

// clockJump is the difference between the wall clock and the elapsed time from which on the clock
// counts as set.
const clockJump = 2 * time.Second

// watchClock detects that the wall clock was set.
type watchClock struct {
	wall   time.Time
	passed time.Duration
}

// seen compares a reading of the wall clock with the time that has passed since some moment. It
// returns by how much the clock was set since the last call, 0 if it was not.
func (c *watchClock) seen(wall time.Time, passed time.Duration) (by time.Duration) {
	by = wall.Sub(c.wall) - (passed - c.passed)
	first := c.wall.IsZero()
	c.wall, c.passed = wall, passed
	if first || by <= clockJump && by >= -clockJump {
		return 0
	}
	return by
}

// followClock checks whether the clock was set since the last call. It is called before a visit is
// granted and before an event is applied, so that a time that was stored before the clock was set
// is never compared with one that was read after.
func (s *Shard) followClock(now time.Time) error {
	by := s.clock.seen(now.Round(0), now.Sub(s.opened))
	if by == 0 {
		return nil
	}
	if err := s.clockSet(by, now); err != nil {
		return s.ledger.Fail(err)
	}
	return nil
}

// beforeGrant is followClock for a shard that may be closed.
func (s *Shard) beforeGrant(now time.Time) error {
	if !s.Visits.MayGrant(now) {
		return nil
	}
	return s.followClock(now)
}

// clockSet applies a change of the clock: the remaining delays of hosts and features stay the same.
// Afterwards, no stored time is farther in the future than permitted.
func (s *Shard) clockSet(by time.Duration, now time.Time) error {
	s.ledger.Log.Warn("the clock was set: the delays of hosts are kept and are not extended", "by", by)
	if err := s.ledger.ShiftEvicted(by); err != nil {
		return err
	}
	for _, h := range s.ledger.Hosts {
		h.SetTimes(times.Set(by, now))
	}
	for i := range s.Features.List {
		f := &s.Features.List[i]
		if f.Times == nil || f.Past {
			continue
		}
		if err := shift(s.ledger.Tx, f.Times, by); err != nil {
			return err
		}
		if f.Load == nil {
			continue
		}
		if err := f.Load(now); err != nil {
			return err
		}
	}
	s.ledger.Meta.ShiftDelayAll(by)
	if err := s.clampTimes(now.Round(0), s.ledger.Phase.RemainingDelay(now)); err != nil {
		return err
	}
	s.Recrawl.ClockWas(-by)
	return s.Recrawl.BeginPlanning()
}

// clampTimes reduces stored times of hosts and waiting URLs that are too far in the future. No host
// is visited because of this before its delay after now has passed, or before the longest
// Retry-After. pending is how long nothing is granted yet; delays begin after it. It is an elapsed
// time, because the clock was wrong.
func (s *Shard) clampTimes(now time.Time, pending time.Duration) error {
	from := now.Add(pending)
	for _, h := range s.ledger.Hosts {
		h.BoundTimes(from.Add(s.Polite.LongestWait(h)), now)
	}
	if err := s.ledger.LoadOverdue(now); err != nil {
		return err
	}
	s.ledger.Meta.BoundDelayAll(from) // no host was visited later
	keys, err := urls.LaterFrom(s.ledger.Tx, store.LaterKey(nil, now, 0, 0))
	if err != nil {
		return err
	}
	for _, k := range keys {
		h, err := s.ledger.HostWith(store.KeyHost(k[8:]))
		if err != nil {
			return err
		}
		if h == nil {
			continue
		}
		r, err := urls.DecodeRecord(k[8:], s.ledger.Records().Get(k[8:]))
		if err != nil {
			return err
		}
		// A Retry-After applies to the whole host, and is in its Due.
		limit := mirror.Latest(from.Add(s.Polite.RetryIn(h, max(r.Attempts, 1))), h.Due)
		if !r.Due.After(limit) {
			continue
		}
		if err := urls.MoveLater(s.ledger.Tx, s.ledger.Records(), k, &r, limit); err != nil {
			return err
		}
		// urls.MoveLater is also used for files that no shard has open, so it does not count
		s.ledger.Changed()
	}
	s.URLs.LoadLater()
	return nil
}
