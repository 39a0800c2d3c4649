package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// When a shard's changes are committed: whichever comes first. Nothing waits for a commit, since
// granting does not.
const (
	CommitEvery   = 250 * time.Millisecond
	CommitChanges = 16_000 // a link is three, a page fetched two or three
)

// Commit writes changed hosts and the shard's state, and ends the transaction; with again it begins
// the next.
func (s *Ledger) Commit(again bool) error {
	if err := s.Phase.MayWrite(); err != nil {
		return err
	}
	if err := s.PutAway(); err != nil {
		return s.Fail(err)
	}
	if err := s.saveDomains(); err != nil {
		return s.Fail(err)
	}
	if again && !s.Unsaved() {
		return nil
	}
	if err := s.enqueueForwarded(); err != nil {
		return s.Fail(err)
	}
	if full := !s.HasCapacity(); full != s.crammed {
		if s.crammed = full; full {
			s.Log.Warn("other shards accept links more slowly than they are found: no visit is granted until they have caught up", "messages", len(s.Outbox), "bytes", s.pendingBytes)
		}
	}
	for _, n := range s.sent {
		if err := s.Drop(bucketOutbox, outKey(n)); err != nil {
			return s.Fail(err)
		}
	}
	s.sent = s.sent[:0]
	if err := s.Flush(); err != nil {
		return s.Fail(err)
	}
	s.Meta.Written = time.Now().UnixMilli()
	s.Saved = s.Meta.encode()
	if err := s.Put(BucketMeta, keyMeta, s.Saved); err != nil {
		return s.Fail(err)
	}
	// The crawl log is written before the commit, so that no line is missing after a crash. Events
	// that are applied again then bring the same lines again, which are left out.
	s.dropKnown()
	if len(s.Lines) > 0 && s.CrawlLog != nil {
		n, err := s.CrawlLog.Write(s.Lines)
		switch {
		case err == nil:
		case n > 0:
			s.Log.Warn("crawl log: old files cannot be renamed or removed", "error", err)
		case len(s.Lines) <= maxLines: // the next commit tries again
			s.Log.Warn("crawl log: cannot be written; lines wait in memory", "error", err, "bytes", len(s.Lines))
		default:
			s.Log.Error("crawl log: cannot be written; lines are lost", "error", err, "bytes", len(s.Lines))
			n = len(s.Lines)
		}
		if err == nil || n > 0 {
			s.Lines = s.Lines[:0]
		}
	}
	if len(s.Lines) == 0 && s.Phase.Read {
		s.repeated, s.without = time.Time{}, nil
	}
	began := time.Now()
	err := s.DB.Fault("commit")
	if err == nil {
		err = s.Tx.Commit()
	}
	if err != nil {
		s.Tx.Rollback()
		s.EndTx()
		return errors.Join(s.Fail(err), s.DB.Fault("committed"))
	}
	if err := s.DB.Fault("committed"); err != nil {
		s.EndTx()
		return s.Fail(err)
	}
	s.Metrics.Commit.Observe(time.Since(began).Seconds())
	s.Tx, s.Changes = nil, 0
	s.CommittedTo = s.Meta.Outbox
	Signal(s.EventsOut)
	Signal(s.PagesOut)
	if !again {
		s.EndTx()
		return nil
	}
	tx, err := s.DB.Begin(true)
	if err != nil {
		s.EndTx()
		return s.Fail(err)
	}
	s.Tx = tx
	return nil
}

// maxLines is how many bytes of lines wait while the crawl log cannot be written.
const maxLines = 1 << 20

// Unsaved reports whether there is anything to commit.
func (s *Ledger) Unsaved() bool {
	return s.Changes > 0 || s.CrawlLog != nil && len(s.Lines) > 0 || len(s.sent) > 0 || len(s.forward) > 0 || !bytes.Equal(s.Saved, s.Meta.encode())
}

// Put writes to the shard's file; the next commit makes it last. Changes are counted here, in drop,
// and where a host or a domain is marked as changed, so nobody else has to. That the shard's state
// has changed is seen by comparing it.
func (s *Ledger) Put(bucket, key, value []byte) error {
	s.Changes++
	return s.Tx.Bucket(bucket).Put(key, value)
}

// Drop deletes from the shard's file, as put writes.
func (s *Ledger) Drop(bucket, key []byte) error {
	s.Changes++
	return s.Tx.Bucket(bucket).Delete(key)
}

// MarkDirty marks a host as changed: its record is to be written, and its place in the schedule may
// be another.
func (s *Ledger) MarkDirty(h *Host) {
	s.Unschedule(h)
	if !h.dirty {
		h.dirty = true
		s.Changes++
		s.dirty = append(s.dirty, h)
	}
}

// RobotsRef names the robots.txt of an origin of a host, or another file that says more.
type RobotsRef struct {
	ID     HostID
	Origin canon.Origin
	Rights canon.URL // ""; or of such a file
}

// Key is where its text is, in BucketRobots.
func (r RobotsRef) Key() []byte {
	if r.Rights == "" {
		return RobotsKey(r.ID, r.Origin)
	}
	return RightsKey(r.ID, r.Rights)
}

// EndTx notes that the transaction has ended and that no other begins.
func (s *Ledger) EndTx() {
	s.Tx, s.blocks = nil, blocks{}
	s.Phase.close()
}

// Fail marks the shard as failed: its transaction is in doubt, and only opening the file anew puts
// memory and disk in step again.
func (s *Ledger) Fail(err error) error {
	if s.Phase.Err == nil {
		s.Phase.Err = fmt.Errorf("shard %d (%s): %w", s.ID, s.Path, s.Blame(err))
	}
	return s.Phase.Err
}

// Guarded runs what works with the shard's transaction: one event, one tick, one grant. When that
// is done, the hosts it touched are put in their places in the schedule. Damage in the file breaks
// the shard, and not the process.
func (s *Ledger) Guarded(do func() error) error {
	if s.DB == nil {
		return do() // closed, which do notices
	}
	err := s.DB.Guard(func() error {
		err := do()
		if len(s.Misplaced) > 0 && s.Phase.MayWrite() == nil {
			s.hooks.Schedule(time.Now())
		}
		return err
	})
	if s.DB.Damage() != nil {
		s.EndTx() // the transaction must not be touched any more
		s.Fail(s.DB.Damage())
	}
	return err
}

// Blame names the file, and the way out, in an error that only damage explains.
func (s *Ledger) Blame(err error) error {
	if errors.Is(err, ErrRecord) && !boltfile.IsDamaged(err) && s.DB != nil {
		return s.DB.Blame(err)
	}
	return err
}

// Signal wakes whoever waits for c, and does not block.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
