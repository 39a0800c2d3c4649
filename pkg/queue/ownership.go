package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/nats-io/nats.go/jetstream"
)

// defaultTerm is T of shard ownership. Membership uses the same.
const defaultTerm = 10 * time.Second

// errLetGo ends renewals after Release.
var errLetGo = errors.New("the ownership was released")

// OwnOptions say who wants a shard. Owner is required.
type OwnOptions struct {
	Owner string // unique per data directory, the same after a restart on it
	// Term is T: after a write the owner may act for T; a rival waits 1.5 T. 0: 10 s. All
	// rivals must use the same.
	Term time.Duration
	// SameDir says that we hold the lock on Owner's data directory. Then a record with our own name
	// is that of a dead process, and the shard may be taken at once.
	SameDir bool
	// Mine says whether the shard should be ours at this moment (see Assign). While it says no, the
	// record is watched all the same, so that the 1.5 terms count from a dead owner's last word and
	// not from the assignment. It is asked only when the shard can be taken. nil: always.
	Mine func() bool
	Log  *slog.Logger // nil: slog.Default()
}

// Ownership is the right to act for a shard, as long as Valid says so. Its methods may be called
// from any goroutine.
type Ownership struct {
	kv   jetstream.KeyValue
	key  string
	o    OwnOptions
	prev Record
	was  bool // there was a predecessor

	writing chan struct{} // a semaphore: holds one during a write and what it changes

	mu       sync.Mutex // guards what follows
	record   Record
	revision uint64
	until    time.Duration // on boottime.Now: may act until then
	lost     bool
	letGo    bool // Release was called
}

// Own waits until the shard under key can be taken, and takes it: when nobody has it, when its
// owner released it, when it is our own (OwnOptions.SameDir), or when its record was seen unchanged
// for 1.5 terms. The epoch is greater than every one before, and at least the Unix time in seconds,
// so that this holds even when the bucket is lost. Errors of the broker are waited out; Own fails
// only when ctx ends. Run must be called to keep the ownership.
func Own(ctx context.Context, kv jetstream.KeyValue, key string, o OwnOptions) (*Ownership, error) {
	if o.Owner == "" {
		return nil, errors.New("own: OwnOptions.Owner is empty")
	}
	o.Term = cmp.Or(o.Term, defaultTerm)
	o.Log = cmp.Or(o.Log, slog.Default()).With("shard", key)
	said := ""
	say := func(what string, args ...any) {
		if what != said {
			o.Log.Info(what, args...)
		}
		said = what
	}
	c := &claim{kv: kv, key: key, o: o}
	for {
		s, err := c.try(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("own %s: %w", key, ctx.Err())
		case err == nil && s != nil:
			return s, nil
		case err != nil:
			say("cannot acquire the shard yet", "err", err)
		default:
			say("waiting until the shard's owner releases it or its lease expires")
		}
		select {
		case <-ctx.Done():
		case <-time.After(o.Term / 10):
		}
	}
}

// claim is what one call of Own has seen so far.
//
// Reading proves nothing here, writing does: the write that takes the shard is refused unless the
// revision it is based on is still the latest. So an answer that is out of date, from a server that
// is cut off from the others, costs time but cannot make two owners. If the revision it shows was
// replaced since, the write is refused. If it is still the latest, its owner wrote it before we
// first saw it, and counts its term from before that.
type claim struct {
	kv    jetstream.KeyValue
	key   string
	o     OwnOptions
	seen  uint64        // the revision we watch
	since time.Duration // when we first had it in hand
	tried *Ownership    // our write that got no answer; nil: there is none
}

// try looks at the record once. It returns nil when the shard is another's.
func (c *claim) try(ctx context.Context) (*Ownership, error) {
	// for a request that nobody answers; others take milliseconds
	rctx, cancel := context.WithTimeout(ctx, c.o.Term/3)
	defer cancel()
	prev, revision, err := readRecord(rctx, c.kv, c.key)
	if err != nil {
		return nil, err
	}
	// after the read: the owner wrote this revision before, so its term ends before ours
	now := boottime.Now()
	if revision != c.seen {
		c.seen, c.since = revision, now
	}
	s := &Ownership{kv: c.kv, key: c.key, o: c.o, prev: prev, was: revision != 0, writing: make(chan struct{}, 1)}
	free := revision == 0 || prev.Clean || prev.Owner == c.o.Owner && c.o.SameDir || now-c.since >= c.o.Term*3/2
	if t := c.tried; t != nil && prev.Owner == t.record.Owner && prev.Epoch == t.record.Epoch {
		// We wrote that ourselves a moment ago: nobody else writes our name with this epoch. The
		// predecessor is the one we saw before that write.
		s.prev, s.was, free = t.prev, t.was, true
	}
	if !free || c.o.Mine != nil && !c.o.Mine() {
		return nil, nil
	}
	s.record = prev
	s.record.Owner, s.record.Clean = c.o.Owner, false
	s.record.Epoch = max(prev.Epoch+1, uint64(time.Now().Unix()))
	wctx, done := context.WithTimeout(ctx, c.o.Term/3) // Mine may have taken its time
	defer done()
	sent := boottime.Now()
	s.revision, err = writeRecord(wctx, c.kv, c.key, s.record, revision)
	if err != nil {
		if ChangedMeanwhile(err) {
			return nil, nil
		}
		c.tried = s
		return nil, fmt.Errorf("write %s: %w", c.key, err)
	}
	s.until = sent + c.o.Term
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

// Predecessor is the record that was replaced; the zero Record when the shard was
// never owned before.
func (s *Ownership) Predecessor() Record { return s.prev }

// Clean reports that every visit a predecessor granted is in its checkpoint: it released the shard
// in order, or there was none.
func (s *Ownership) Clean() bool { return !s.was || s.prev.Clean }

// TookOver reports whether the owner before was another one.
func (s *Ownership) TookOver() bool { return s.was && s.prev.Owner != s.o.Owner }

// Valid reports whether the owner may act now: less than a term has passed since it *sent* the
// last write that was accepted. It costs under a microsecond. Ask before every act that another
// owner might do as well.
func (s *Ownership) Valid() bool {
	now := boottime.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lost && !s.letGo && now < s.until
}

// Run renews the ownership every third of a term until ctx ends or Release was called, and then
// returns nil. It does not release the shard when it ends; Release does. It returns a wrapped
// ErrLost when another owner has the shard. Errors of the broker are tried again, often enough that
// the election of a leader costs no ownership.
func (s *Ownership) Run(ctx context.Context) error {
	next, said := s.o.Term/3, false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
		err := s.Update(ctx, nil)
		next = s.o.Term / 3
		switch {
		case errors.Is(err, errLetGo):
			return nil
		case err == nil:
			if said {
				s.o.Log.Info("ownership renewed again")
			}
			said = false
			continue
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrLost):
			return err
		case !said:
			s.o.Log.Warn("cannot renew the ownership of the shard; trying again", "err", err)
			said = true
		}
		next = s.o.Term / 20
	}
}

// Update rewrites the record after edit (nil: no change) has changed it, and so renews the
// ownership. Epoch and Owner cannot be changed. A write that is not answered is tried again for
// half a term, so edit may be called more than once. After an error other than ErrLost the change
// may have been made or not: call Update again. ErrLost means that another owner has the shard.
func (s *Ownership) Update(ctx context.Context, edit func(*Record)) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	b := backoff{least: s.o.Term / 100, most: s.o.Term / 20}
	for end := boottime.Now() + s.o.Term/2; ; {
		if s.isLetGo() {
			return fmt.Errorf("shard %s: %w", s.key, errLetGo)
		}
		err := s.rewrite(ctx, edit)
		if err == nil || edit == nil || errors.Is(err, ErrLost) || boottime.Now() >= end || b.wait(ctx, nil) != nil {
			return err
		}
	}
}

func (s *Ownership) isLetGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.letGo
}

// begin waits until no other write is under way, or until ctx ends.
func (s *Ownership) begin(ctx context.Context) error {
	select {
	case s.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("renew shard %s: another write is running: %w", s.key, ctx.Err())
	}
}

// end lets the next write begin.
func (s *Ownership) end() { <-s.writing }

// rewrite is Update between begin and end.
func (s *Ownership) rewrite(ctx context.Context, edit func(*Record)) error {
	// A request that nobody answers must leave time for another one within the term.
	ctx, cancel := context.WithTimeout(ctx, s.o.Term/3)
	defer cancel()
	if err := s.lookIfLate(ctx); err != nil {
		return err
	}
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
		sent := boottime.Now()
		next, err := writeRecord(ctx, s.kv, s.key, r, revision)
		if err == nil {
			s.mu.Lock()
			s.record, s.revision, s.until = r, next, sent+s.o.Term
			s.mu.Unlock()
			return nil
		}
		if !ChangedMeanwhile(err) {
			return fmt.Errorf("renew shard %s: %w", s.key, err)
		}
		if err := s.adopt(ctx); err != nil {
			return err
		}
	}
}

// lookIfLate reads the record before it is written when the term is over. The write alone would
// show by the revision that another owner has the shard. But servers that lost power forget the
// last revisions and use them again.
func (s *Ownership) lookIfLate(ctx context.Context) error {
	s.mu.Lock()
	record, revision, late := s.record, s.revision, boottime.Now() >= s.until && !s.lost
	s.mu.Unlock()
	if !late {
		return nil
	}
	r, now, err := readRecord(ctx, s.kv, s.key)
	if err != nil || now == revision && r.Owner == record.Owner && r.Epoch == record.Epoch {
		return err
	}
	return s.judge(r, now)
}

// adopt looks who wrote the record in the meantime. If it was us, in a write whose answer was lost,
// its revision is taken over. That renews nothing, since we do not know when that write was sent.
func (s *Ownership) adopt(ctx context.Context) error {
	r, revision, err := readRecord(ctx, s.kv, s.key)
	if err != nil {
		return err
	}
	return s.judge(r, revision)
}

// judge takes in a record that is not the one we wrote last.
func (s *Ownership) judge(r Record, revision uint64) error {
	now := boottime.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	ours := r.Owner == s.record.Owner && r.Epoch == s.record.Epoch
	switch {
	case ours && revision > s.revision:
		s.record, s.revision = r, revision
		return nil
	case revision > s.revision, r.Epoch > s.record.Epoch, now >= s.until+s.o.Term:
		// In the last case a server that lags would have caught up by now, so the record is gone,
		// perhaps with its bucket.
		s.lost = true
		return fmt.Errorf("shard %s, epoch %d: owned by %q since epoch %d: %w", s.key, s.record.Epoch, r.Owner, r.Epoch, ErrLost)
	}
	// The answer is from before our last write, which that server has not heard of yet. It
	// says nothing about now.
	return fmt.Errorf("renew shard %s: the revision of the record is not known yet", s.key)
}

// Release gives the shard up in order, so that the next owner may take it at once and trust
// checkpoint (empty: the one recorded already). From the moment it is called Valid says no,
// even if Release fails. While the broker does not answer it tries again until ctx ends,
// for a term at most.
func (s *Ownership) Release(ctx context.Context, checkpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Term)
	defer cancel()
	s.mu.Lock()
	s.letGo = true
	s.mu.Unlock()
	if err := s.begin(ctx); err != nil { // a renewal under way ends first
		return fmt.Errorf("release: %w", err)
	}
	defer s.end()
	b := backoff{least: s.o.Term / 100, most: s.o.Term / 20}
	for {
		err := s.rewrite(ctx, func(r *Record) {
			r.Clean = true
			if checkpoint != "" && checkpoint != r.Checkpoint {
				r.Previous, r.Checkpoint = r.Checkpoint, checkpoint
			}
		})
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrLost) || b.wait(ctx, nil) != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
}
