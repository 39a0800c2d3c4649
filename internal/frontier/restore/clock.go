package restore

import (
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
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

// ShiftTimes shifts all times in a shard's file to a clock that is ahead by d of the clock that
// wrote them.
func ShiftTimes(tx *bolt.Tx, d time.Duration) error {
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

// Clock follows the wall clock for one shard: it detects that the clock was set, and then keeps the
// remaining delays. The caller of its methods holds the shard's lock.
type Clock struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	polite   *polite.Polite
	recrawl  *urls.Recrawl
	urls     *urls.URLs

	opened time.Time // when the file was read
	read   reading
}

// NewClock returns the clock of a shard whose file is still to be opened.
func NewClock(p *shard.Parts) *Clock {
	return &Clock{features: p.Features, ledger: p.Ledger, polite: p.Polite, recrawl: p.Recrawl, urls: p.URLs}
}

// reading is a reading of the wall clock, and the time that had passed since some moment.
type reading struct {
	wall   time.Time
	passed time.Duration
}

// seen compares a reading of the wall clock with the time that has passed since some moment. It
// returns by how much the clock was set since the last call, 0 if it was not.
func (c *reading) seen(wall time.Time, passed time.Duration) (by time.Duration) {
	by = wall.Sub(c.wall) - (passed - c.passed)
	first := c.wall.IsZero()
	c.wall, c.passed = wall, passed
	if first || by <= clockJump && by >= -clockJump {
		return 0
	}
	return by
}

// Opened begins with a shard whose file was just read. If the clock is behind that of the last
// owner, delays count from now. No stored time is farther in the future than permitted afterwards.
func (c *Clock) Opened(now time.Time) error {
	c.opened = now
	c.read.seen(now.Round(0), 0)
	if behind := c.ledger.Meta.Written - now.UnixMilli(); c.ledger.Meta.Written > 0 && behind > clockJump.Milliseconds() {
		by := time.Duration(behind) * time.Millisecond
		if err := c.ledger.ShiftEvicted(-by); err != nil {
			return err
		}
		c.recrawl.ClockWas(by)
	}
	return c.Clamp(now, 0)
}

// Follow checks whether the clock was set since the last call. It is called before a visit is
// granted and before an event is applied, so that a time that was stored before the clock was set
// is never compared with one that was read after.
func (c *Clock) Follow(now time.Time) error {
	by := c.read.seen(now.Round(0), now.Sub(c.opened))
	if by == 0 {
		return nil
	}
	if err := c.Set(by, now); err != nil {
		return c.ledger.Fail(err)
	}
	return nil
}

// Set applies a change of the clock: the remaining delays of hosts and features stay the same.
// Afterwards, no stored time is farther in the future than permitted.
func (c *Clock) Set(by time.Duration, now time.Time) error {
	c.ledger.Log.Warn("the clock was set: the delays of hosts are kept and are not extended", "by", by)
	if err := c.ledger.ShiftEvicted(by); err != nil {
		return err
	}
	for _, h := range c.ledger.Hosts {
		h.SetTimes(times.Set(by, now))
	}
	for i := range c.features.List {
		f := &c.features.List[i]
		if f.Times == nil || f.Past {
			continue
		}
		if err := shift(c.ledger.Tx, f.Times, by); err != nil {
			return err
		}
		if f.Load == nil {
			continue
		}
		if err := f.Load(now); err != nil {
			return err
		}
	}
	c.ledger.Meta.ShiftDelayAll(by)
	if err := c.Clamp(now.Round(0), c.ledger.Phase.RemainingDelay(now)); err != nil {
		return err
	}
	c.recrawl.ClockWas(-by)
	return c.recrawl.BeginPlanning()
}

// Clamp reduces stored times of hosts and waiting URLs that are too far in the future. No host
// is visited because of this before its delay after now has passed, or before the longest
// Retry-After. pending is how long nothing is granted yet; delays begin after it. It is an elapsed
// time, because the clock was wrong.
func (c *Clock) Clamp(now time.Time, pending time.Duration) error {
	from := now.Add(pending)
	for _, h := range c.ledger.Hosts {
		h.BoundTimes(from.Add(c.polite.LongestWait(h)), now)
	}
	if err := c.ledger.LoadOverdue(now); err != nil {
		return err
	}
	c.ledger.Meta.BoundDelayAll(from) // no host was visited later
	keys, err := urls.LaterFrom(c.ledger.Tx, store.LaterKey(nil, now, 0, 0))
	if err != nil {
		return err
	}
	for _, k := range keys {
		h, err := c.ledger.HostWith(store.KeyHost(k[8:]))
		if err != nil {
			return err
		}
		if h == nil {
			continue
		}
		r, err := urls.DecodeRecord(k[8:], c.ledger.Records().Get(k[8:]))
		if err != nil {
			return err
		}
		// A Retry-After applies to the whole host, and is in its Due.
		limit := mirror.Latest(from.Add(c.polite.RetryIn(h, max(r.Attempts, 1))), h.Due)
		if !r.Due.After(limit) {
			continue
		}
		if err := urls.MoveLater(c.ledger.Tx, c.ledger.Records(), k, &r, limit); err != nil {
			return err
		}
		// urls.MoveLater is also used for files that no shard has open, so it does not count
		c.ledger.Changed()
	}
	c.urls.LoadLater()
	return nil
}
