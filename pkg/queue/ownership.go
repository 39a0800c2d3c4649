package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errLetGo ends renewals after Release.
var errLetGo = errors.New("ownership was released")

// OwnOptions say who wants a shard. Owner is required.
type OwnOptions struct {
	Owner string // unique per data directory, the same after a restart on it
	// Term is T: after a write the owner may act for T; a rival waits 1.5 T. 0: 10 s. All rivals must use the same.
	Term time.Duration
	// SameDir says that the lock on Owner's data directory is held, so that a record with our own name is of a process
	// that is gone, and may be taken at once.
	SameDir bool
	Log     *slog.Logger // nil: slog.Default()
}

// Ownership is the right to act for a shard, as long as Valid says so. Its methods may be called from any goroutine.
type Ownership struct {
	kv   jetstream.KeyValue
	key  string
	o    OwnOptions
	prev Record
	was  bool // there was a predecessor

	write sync.Mutex // held over a write and what it changes

	mu       sync.Mutex // guards what follows
	record   Record
	revision uint64
	until    time.Duration // on bootTime: may act until then
	lost     bool
	letGo    bool // Release was called
}

// Own waits until the shard under key can be taken, and takes it: when nobody has it, when its owner let go of it,
// when it is our own (OwnOptions.SameDir), or when its record was seen unchanged for 1.5 terms. The epoch is greater
// than every one before, and at least the Unix time in seconds, so that it stays so when the bucket is lost. Errors of
// the broker are waited out; only ctx's end makes Own fail. Run must be called to keep what was taken.
func Own(ctx context.Context, kv jetstream.KeyValue, key string, o OwnOptions) (*Ownership, error) {
	if o.Owner == "" {
		return nil, errors.New("own: OwnOptions.Owner is empty")
	}
	o.Term = cmp.Or(o.Term, 10*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default()).With("shard", key)
	var seen uint64         // the revision we watch
	var since time.Duration // when we first had it in hand
	said := ""
	say := func(what string, args ...any) {
		if what != said {
			o.Log.Info(what, args...)
		}
		said = what
	}
	for {
		s, err := tryOwn(ctx, kv, key, o, &seen, &since)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("own %s: %w", key, ctx.Err())
		case err == nil && s != nil:
			return s, nil
		case err != nil:
			say("cannot take the shard yet", "err", err)
		default:
			say("waiting for the shard's owner to let go or fall silent")
		}
		select {
		case <-ctx.Done():
		case <-time.After(o.Term / 10):
		}
	}
}

// tryOwn looks at the record once. It returns nil when the shard is another's.
func tryOwn(ctx context.Context, kv jetstream.KeyValue, key string, o OwnOptions, seen *uint64, since *time.Duration) (*Ownership, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Term)
	defer cancel()
	prev, revision, err := readRecord(ctx, kv, key)
	if err != nil {
		return nil, err
	}
	now := bootTime() // after the read: the owner wrote this revision before, so its term ends before ours
	if revision != *seen {
		*seen, *since = revision, now
	}
	free := revision == 0 || prev.Clean || prev.Owner == o.Owner && o.SameDir || now-*since >= o.Term*3/2
	if !free {
		return nil, nil
	}
	s := &Ownership{kv: kv, key: key, o: o, prev: prev, was: revision != 0}
	s.record = prev
	s.record.Owner, s.record.Clean = o.Owner, false
	s.record.Epoch = max(prev.Epoch+1, uint64(time.Now().Unix()))
	sent := bootTime()
	s.revision, err = writeRecord(ctx, kv, key, s.record, revision)
	if err != nil {
		if changedMeanwhile(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("write %s: %w", key, err)
	}
	s.until = sent + o.Term
	return s, nil
}

// Epoch numbers this ownership; those of a shard grow.
func (s *Ownership) Epoch() uint64 { return s.rec().Epoch }

// Record is what was last written.
func (s *Ownership) Record() Record { return s.rec() }

func (s *Ownership) rec() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// Predecessor is the record that was replaced; the zero Record when the shard was never owned before.
func (s *Ownership) Predecessor() Record { return s.prev }

// Clean reports that nothing a predecessor granted can be outstanding unknown to its checkpoint: it released the shard
// in order, or there was none.
func (s *Ownership) Clean() bool { return !s.was || s.prev.Clean }

// TookOver reports whether the owner before was another one.
func (s *Ownership) TookOver() bool { return s.was && s.prev.Owner != s.o.Owner }

// Valid reports whether the owner may act now: a term has not passed since it *sent* the last write that was accepted.
// It costs under a microsecond; ask before every act that another owner might do as well.
func (s *Ownership) Valid() bool {
	now := bootTime()
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lost && !s.letGo && now < s.until
}

// Run renews the ownership every third of a term until ctx ends or Release was called, and then returns
// nil. Ending it lets go of nothing: that is Release's. It returns ErrLost, wrapped, when another owner has the shard. Errors of the broker are tried again.
func (s *Ownership) Run(ctx context.Context) error {
	t := time.NewTicker(s.o.Term / 3)
	defer t.Stop()
	said := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		err := s.Update(ctx, nil)
		switch {
		case errors.Is(err, errLetGo):
			return nil
		case err == nil:
			if said {
				s.o.Log.Info("ownership renewed again")
			}
			said = false
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrLost):
			return err
		case !said:
			s.o.Log.Warn("cannot renew the ownership of the shard, trying again", "err", err)
			said = true
		}
	}
}

// Update rewrites the record after edit (nil: as it is) has changed it, and so renews the ownership. Epoch and Owner
// cannot be changed. When the answer to a write is lost, the change may have been made or not: call it again. ErrLost
// means that another owner has the shard.
func (s *Ownership) Update(ctx context.Context, edit func(*Record)) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.isLetGo() {
		return fmt.Errorf("shard %s: %w", s.key, errLetGo)
	}
	return s.rewrite(ctx, edit)
}

func (s *Ownership) isLetGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.letGo
}

// rewrite is Update with s.write held.
func (s *Ownership) rewrite(ctx context.Context, edit func(*Record)) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Term/2)
	defer cancel()
	for {
		s.mu.Lock()
		r, revision, lost := s.record, s.revision, s.lost
		s.mu.Unlock()
		if lost {
			return fmt.Errorf("shard %s, epoch %d: %w", s.key, r.Epoch, ErrLost)
		}
		if edit != nil {
			epoch, owner := r.Epoch, r.Owner
			edit(&r)
			r.Epoch, r.Owner = epoch, owner
		}
		sent := bootTime()
		next, err := writeRecord(ctx, s.kv, s.key, r, revision)
		if err == nil {
			s.mu.Lock()
			s.record, s.revision, s.until = r, next, sent+s.o.Term
			s.mu.Unlock()
			return nil
		}
		if !changedMeanwhile(err) {
			return fmt.Errorf("renew shard %s: %w", s.key, err)
		}
		if err := s.adopt(ctx); err != nil {
			return err
		}
	}
}

// adopt looks who wrote the record meanwhile. When it was us, in a write whose answer was lost, its revision is taken
// over; it renews nothing, since we cannot say when it was sent.
func (s *Ownership) adopt(ctx context.Context) error {
	r, revision, err := readRecord(ctx, s.kv, s.key)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Owner != s.record.Owner || r.Epoch != s.record.Epoch {
		s.lost = true
		return fmt.Errorf("shard %s, epoch %d: held by %q since epoch %d: %w", s.key, s.record.Epoch, r.Owner, r.Epoch, ErrLost)
	}
	if revision == s.revision { // an answer from before our write; ask again later
		return fmt.Errorf("renew shard %s: the record's revision is not settled", s.key)
	}
	s.record, s.revision = r, revision
	return nil
}

// Release lets go of the shard in order, so that the next owner may take it at once and trust checkpoint (empty: the one
// recorded already). From the moment it is called Valid says no, whatever comes of it.
func (s *Ownership) Release(ctx context.Context, checkpoint string) error {
	s.mu.Lock()
	s.letGo = true
	s.mu.Unlock()
	s.write.Lock() // a renewal under way ends first
	defer s.write.Unlock()
	err := s.rewrite(ctx, func(r *Record) {
		r.Clean = true
		if checkpoint != "" && checkpoint != r.Checkpoint {
			r.Previous, r.Checkpoint = r.Checkpoint, checkpoint
		}
	})
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
