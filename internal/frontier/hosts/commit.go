package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A shard commits its changes after CommitEvery or CommitChanges, whichever comes first. Nothing
// waits for a commit, because visits are granted without one.
const (
	CommitEvery   = 250 * time.Millisecond
	CommitChanges = 16_000 // a link makes three changes, a fetched page two or three
)

// Commit writes changed hosts and the shard's state, and ends the transaction. With again it begins
// the next one.
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
	// that are applied again make the same lines again; dropKnown removes those.
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

// maxLines is the number of bytes of lines that are kept while the crawl log cannot be written.
const maxLines = 1 << 20

// Unsaved reports whether there is anything to commit.
func (s *Ledger) Unsaved() bool {
	return s.Changes > 0 || s.CrawlLog != nil && len(s.Lines) > 0 || len(s.sent) > 0 || len(s.forward) > 0 || !bytes.Equal(s.Saved, s.Meta.encode())
}

// Put writes to the shard's file; the next commit makes the change permanent. Put and Drop count
// changes, as do the methods that mark a host or a domain as changed, so callers need not. Changes
// of Meta are found by comparison.
func (s *Ledger) Put(bucket, key, value []byte) error {
	s.Changes++
	return s.Tx.Bucket(bucket).Put(key, value)
}

// Drop deletes from the shard's file. It counts as a change, as Put does.
func (s *Ledger) Drop(bucket, key []byte) error {
	s.Changes++
	return s.Tx.Bucket(bucket).Delete(key)
}

// MarkDirty marks a host as changed: its record must be written, and its position in the schedule
// may be different.
func (s *Ledger) MarkDirty(h *Host) {
	s.Unschedule(h)
	if !h.dirty {
		h.dirty = true
		s.Changes++
		s.dirty = append(s.dirty, h)
	}
}

// RobotsRef identifies the robots.txt of an origin, or one of its rights files.
type RobotsRef struct {
	ID     HostID
	Origin canon.Origin
	Rights canon.URL // URL of a rights file, or "" for robots.txt
}

// Key is the key of the text in BucketRobots.
func (r RobotsRef) Key() []byte {
	if r.Rights == "" {
		return RobotsKey(r.ID, r.Origin)
	}
	return RightsKey(r.ID, r.Rights)
}

// EndTx notes that the transaction has ended and that no other will begin.
func (s *Ledger) EndTx() {
	s.Tx, s.blocks = nil, blocks{}
	s.Phase.close()
}

// Fail marks the shard as failed. The state of its transaction is unknown then, and only opening
// the file again makes memory and disk agree.
func (s *Ledger) Fail(err error) error {
	if s.Phase.Err == nil {
		s.Phase.Err = fmt.Errorf("shard %d (%s): %w", s.ID, s.Path, s.Blame(err))
	}
	return s.Phase.Err
}

// Guarded runs do, which uses the shard's transaction: one event, one tick or one grant. Afterwards
// it updates the positions of changed hosts in the schedule. Damage in the file makes the shard
// fail, but not the process.
func (s *Ledger) Guarded(do func() error) error {
	if s.DB == nil {
		return do() // closed; do finds that out
	}
	err := s.DB.Guard(func() error {
		err := do()
		if len(s.Misplaced) > 0 && s.Phase.MayWrite() == nil {
			s.hooks.Schedule(time.Now())
		}
		return err
	})
	if s.DB.Damage() != nil {
		s.EndTx() // the transaction must not be used any more
		s.Fail(s.DB.Damage())
	}
	return err
}

// Blame adds the file's name and a remedy to an error that only damage explains.
func (s *Ledger) Blame(err error) error {
	if errors.Is(err, ErrRecord) && !boltfile.IsDamaged(err) && s.DB != nil {
		return s.DB.Blame(err)
	}
	return err
}

// Signal notifies a goroutine that waits for c. It does not block.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
