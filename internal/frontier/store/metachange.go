package store

import (
	"time"
)

// This file has the changes of a shard's state. They are made in memory, with the lock of the file;
// the next commit writes them. A crash before that commit loses a change together with the position
// of the log, so a replay makes it again.

// CheckpointMade notes a checkpoint that its record names.
func (m *Meta) CheckpointMade(mark Mark) { m.Mark = mark }

// DelayAll makes every host that is not in memory count as visited at a time.
func (m *Meta) DelayAll(last time.Time) {
	m.DelayedUntil = max(m.DelayedUntil, last.UnixMilli())
}

// ShiftDelayAll moves the time of DelayAll to a clock that is ahead by so much.
func (m *Meta) ShiftDelayAll(by time.Duration) {
	if m.DelayedUntil > 0 {
		m.DelayedUntil += by.Milliseconds()
	}
}

// BoundDelayAll moves the time of DelayAll back to most, if it is later.
func (m *Meta) BoundDelayAll(most time.Time) {
	m.DelayedUntil = min(m.DelayedUntil, most.UnixMilli())
}

// Arrived notes that a file was restored from the checkpoint mark names, and moves the times of the
// state to the clock here, as if none had passed since the checkpoint was made. It returns by how
// much the other times of the file have to be moved.
func (m *Meta) Arrived(mark Mark, now time.Time) (shift time.Duration) {
	shift = now.Sub(time.UnixMilli(m.Written))
	m.Mark = mark
	if m.DelayedUntil > 0 {
		m.DelayedUntil += shift.Milliseconds()
	}
	// A later time would look like a clock that was set back, and the times would be moved again.
	m.Written = min(m.Written, now.UnixMilli())
	return shift
}

// PacesChanged notes that an operator may have slowed hosts down. Hosts that are not in memory find
// out when they are loaded.
func (m *Meta) PacesChanged() { m.Paces++ }

// EvictForRecrawl sets whether hosts are evicted until URLs and sitemaps are requested again.
func (m *Meta) EvictForRecrawl(on bool) { m.EvictRecrawl = on }

// AskedSitemaps notes by which settings all origins were asked for their sitemaps; "": by none.
func (m *Meta) AskedSitemaps(text string) { m.Sitemaps = text }

// AskedUpdates notes whether all origins were asked for /rupinfo.txt.
func (m *Meta) AskedUpdates(on bool) { m.Updates = on }

// DispatchCounts count the mobile robots that were sent, since the shard began.
type DispatchCounts struct {
	Sent      int64 `json:"sent,omitempty"`
	Pages     int64 `json:"pages,omitempty"` // that they brought
	Unchanged int64 `json:"unchanged,omitempty"`
	Received  int64 `json:"received,omitempty"`  // bytes from servers
	Confirmed int64 `json:"confirmed,omitempty"` // compared pages that were the same
	Dropped   int64 `json:"dropped,omitempty"`   // servers
}

// CountDispatches adds to the counts of mobile robots.
func (m *Meta) CountDispatches(n DispatchCounts) {
	c := &m.Robots
	c.Sent, c.Pages, c.Unchanged = c.Sent+n.Sent, c.Pages+n.Pages, c.Unchanged+n.Unchanged
	c.Received, c.Confirmed, c.Dropped = c.Received+n.Received, c.Confirmed+n.Confirmed, c.Dropped+n.Dropped
}

// AskedDispatches notes by which settings all origins were asked for servers of mobile robots; "":
// by none.
func (m *Meta) AskedDispatches(text string) { m.Dispatches = text }

// GrantedStrangers notes that visits were granted to processes that may outlive this one.
func (m *Meta) GrantedStrangers() { m.Strangers = true }

// NextOrder returns the number of a URL that is accepted now.
func (m *Meta) NextOrder() uint64 {
	m.Order++
	return m.Order
}

// NamesOpened notes how far the pass has come that accepts closed names by another limit: up to the
// key next; nil: through all of them, by the limit most.
func (m *Meta) NamesOpened(next []byte, most int64) {
	if m.OpenedTo = next; next == nil {
		m.MaxHosts = most
	}
}

// DecidedBy notes the fingerprint of what URLs are decided by.
func (m *Meta) DecidedBy(fingerprint string) { m.Spec = fingerprint }

// Left notes whether the owner leaves the shard in order: without an outstanding visit, or with
// those that the file lists.
func (m *Meta) Left(clean bool) { m.Clean = clean }

// Booted notes on which boot of the machine the file is written.
func (m *Meta) Booted(id string) { m.BootID = id }

// NewHost returns the id of a host that is new.
func (m *Meta) NewHost() HostID {
	m.NextHost++
	return HostID(m.NextHost)
}

// KnownHosts is the number of known hosts without closed ones.
func (m *Meta) KnownHosts() int64 { return int64(m.NextHost) - m.Closed }

// AddClosed adds n to the number of closed hosts.
func (m *Meta) AddClosed(n int64) { m.Closed += n }

// DomainsCounted notes that the hosts of each registered domain are counted.
func (m *Meta) DomainsCounted() { m.Counted = true }
