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

// defaultTerm is the default of the term T of shard ownership. Members uses the same default.
const defaultTerm = 10 * time.Second

// errLetGo ends the renewals after Release.
var errLetGo = errors.New("the ownership was released")

// OwnOptions describe the process that wants to own a shard. Owner is required.
type OwnOptions struct {
	Owner string // unique for each data directory; the same after a restart with that directory
	// Term is T. After a write the owner may act for T, and a rival waits for 1.5 T. All rivals
	// must use the same value. 0 means 10 s.
	Term time.Duration
	// SameDir means that this process holds the lock on the data directory of Owner. A record with
	// Owner in it then belongs to a dead process, and the shard may be taken at once.
	SameDir bool
	// Mine reports whether this process should own the shard at this moment (see Assign). While it
	// returns false, Own still watches the record, so that the 1.5 terms count from the last write
	// of a dead owner and not from the assignment. Own calls Mine only when it could take the
	// shard. nil means always true.
	Mine func() bool
	Log  *slog.Logger // nil: slog.Default()
}

// Ownership is the right to act for a shard while Valid returns true. Its methods may be called
// from any goroutine.
type Ownership struct {
	kv   jetstream.KeyValue
	key  string
	o    OwnOptions
	prev Record
	was  bool // there was a previous owner

	writing chan struct{} // a semaphore with one slot, taken for a write and its effects

	mu       sync.Mutex // guards the fields below
	record   Record
	revision uint64
	until    time.Duration // on boottime.Now: the owner may act until then
	lost     bool
	letGo    bool // Release was called
}

// Own waits until it can take the shard under key, and takes it. It can when nobody has the shard,
// when its owner released it, when the record is our own (OwnOptions.SameDir), or when the record
// stayed unchanged for 1.5 terms. The epoch is greater than every epoch before. It is at least the
// Unix time in seconds, so that this is true even if the bucket was lost. After an error of the
// broker Own tries again; it fails only when ctx ends. The caller must call Run to keep the
// ownership.
func Own(ctx context.Context, kv jetstream.KeyValue, key string, o OwnOptions) (*Ownership, error) {
	if o.Owner == "" {
		return nil, errors.New("own: OwnOptions.Owner is empty")
	}
	o.Term = cmp.Or(o.Term, defaultTerm)
	o.Log = cmp.Or(o.Log, slog.Default()).With("shard", key)
	last := ""
	logChange := func(what string, args ...any) {
		if what != last {
			o.Log.Info(what, args...)
		}
		last = what
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
			logChange("cannot acquire the shard yet", "err", err)
		default:
			logChange("waiting until the shard's owner releases it or its lease expires")
		}
		select {
		case <-ctx.Done():
		case <-time.After(o.Term / 10):
		}
	}
}

// claim is what one call of Own has seen so far.
//
// Two owners at once are impossible, because the write that takes the shard is refused unless it is
// based on the latest revision. An outdated answer, from a server that is cut off from the others,
// only costs time. If the revision in that answer was replaced since, the write is refused. If it
// is still the latest, its owner wrote it before we first saw it, so the owner's term began before
// our 1.5 terms.
type claim struct {
	kv    jetstream.KeyValue
	key   string
	o     OwnOptions
	seen  uint64        // the revision that we watch
	since time.Duration // when we first received it
	tried *Ownership    // our write that was not answered; nil: there is none
}

// try looks at the record once. It returns nil if the shard belongs to another owner.
func (c *claim) try(ctx context.Context) (*Ownership, error) {
	// The timeout matters only if nobody answers; other requests take milliseconds.
	rctx, cancel := context.WithTimeout(ctx, c.o.Term/3)
	defer cancel()
	prev, revision, err := readRecord(rctx, c.kv, c.key)
	if err != nil {
		return nil, err
	}
	// Take the time after the read. The owner wrote this revision earlier, so its term ends before
	// our 1.5 terms.
	now := boottime.Now()
	if revision != c.seen {
		c.seen, c.since = revision, now
	}
	s := &Ownership{kv: c.kv, key: c.key, o: c.o, prev: prev, was: revision != 0, writing: make(chan struct{}, 1)}
	free := revision == 0 || prev.Clean || prev.Owner == c.o.Owner && c.o.SameDir || now-c.since >= c.o.Term*3/2
	if t := c.tried; t != nil && prev.Owner == t.record.Owner && prev.Epoch == t.record.Epoch {
		// Our own unanswered write was stored: nobody else writes our name with this epoch. The
		// previous record is the one that we saw before that write.
		s.prev, s.was, free = t.prev, t.was, true
	}
	if !free || c.o.Mine != nil && !c.o.Mine() {
		return nil, nil
	}
	s.record = prev
	s.record.Owner, s.record.Clean = c.o.Owner, false
	s.record.Epoch = max(prev.Epoch+1, uint64(time.Now().Unix()))
	wctx, done := context.WithTimeout(ctx, c.o.Term/3) // Mine may have taken long
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

// Epoch returns the number of this ownership. Every later ownership of the shard has a greater one.
func (s *Ownership) Epoch() uint64 { return s.rec().Epoch }

// Record returns the record that was written last.
func (s *Ownership) Record() Record { return s.rec() }

func (s *Ownership) rec() Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// Predecessor returns the record that this ownership replaced. It is the zero Record if the shard
// never had an owner.
func (s *Ownership) Predecessor() Record { return s.prev }

// Clean reports whether the checkpoint of the predecessor contains every visit that it granted: the
// predecessor released the shard in order, or there was none.
func (s *Ownership) Clean() bool { return !s.was || s.prev.Clean }

// TookOver reports whether the previous owner was another one.
func (s *Ownership) TookOver() bool { return s.was && s.prev.Owner != s.o.Owner }

// Valid reports whether the owner may act now: less than a term has passed since it *sent* the last
// write that was accepted. The call takes less than a microsecond. Call it before every action that
// another owner might perform as well.
func (s *Ownership) Valid() bool {
	now := boottime.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lost && !s.letGo && now < s.until
}

// Run renews the ownership every third of a term until ctx ends or Release was called, and then
// returns nil. Run does not release the shard; only Release does. It returns a wrapped ErrLost when
// another owner has the shard. After other errors of the broker it tries again, so often that an
// election of a leader does not end the ownership.
func (s *Ownership) Run(ctx context.Context) error {
	next, logged := s.o.Term/3, false
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
			if logged {
				s.o.Log.Info("ownership renewed again")
			}
			logged = false
			continue
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrLost):
			return err
		case !logged:
			s.o.Log.Warn("cannot renew the ownership of the shard; trying again", "err", err)
			logged = true
		}
		next = s.o.Term / 20
	}
}

// Update calls edit (nil means no change) with the record and writes the result. That also renews
// the ownership. Epoch and Owner cannot be changed. An unanswered write is repeated for half a
// term, so edit may be called more than once. After an error other than ErrLost the change may have
// been stored or not: call Update again. ErrLost means that another owner has the shard.
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

// begin waits until no other write is running, or until ctx ends.
func (s *Ownership) begin(ctx context.Context) error {
	select {
	case s.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("renew shard %s: another write is running: %w", s.key, ctx.Err())
	}
}

// end allows the next write.
func (s *Ownership) end() { <-s.writing }

// rewrite is the part of Update between begin and end.
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

// lookIfLate reads the record before a write if the term is over. Normally the write alone would
// fail if another owner has the shard, because the revision has changed. But servers that lost
// power forget the last revisions and use them again.
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

// adopt reads who wrote the record in the meantime. If it was this process, with a write whose
// answer was lost, adopt takes over the revision. That does not renew the ownership, since we do
// not know when that write was sent.
func (s *Ownership) adopt(ctx context.Context) error {
	r, revision, err := readRecord(ctx, s.kv, s.key)
	if err != nil {
		return err
	}
	return s.judge(r, revision)
}

// judge processes a record that is not the one we wrote last.
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
		// In the last case even a server that lags has caught up by now. So the record is gone,
		// perhaps together with its bucket.
		s.lost = true
		return fmt.Errorf("shard %s, epoch %d: owned by %q since epoch %d: %w", s.key, s.record.Epoch, r.Owner, r.Epoch, ErrLost)
	}
	// The answer is older than our last write, which that server does not know yet. It does not
	// show the current state.
	return fmt.Errorf("renew shard %s: the revision of the record is not known yet", s.key)
}

// Release gives up the shard in order. The next owner may take it at once and rely on checkpoint
// (empty: the checkpoint in the record). From the moment of the call Valid returns false, even if
// Release fails. While the broker does not answer, Release tries again until ctx ends, for a term
// at most.
func (s *Ownership) Release(ctx context.Context, checkpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Term)
	defer cancel()
	s.mu.Lock()
	s.letGo = true
	s.mu.Unlock()
	if err := s.begin(ctx); err != nil { // a running renewal ends first
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
