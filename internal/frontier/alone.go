package frontier

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Alone is one shard without a broker, for measurements (bench/frontier). Events are applied
// directly, and visits are granted directly, at the times that the caller passes. It commits as a
// frontier does, unless ByChanges is set. It must not be used concurrently.
type Alone struct {
	// ByChanges makes it commit by the number of changes only, not also by time. On a machine with
	// other work more time passes, and commits would be smaller.
	ByChanges bool

	s         *Shard
	seq       uint64
	committed time.Time
}

// OpenAlone opens shard 0 of a crawl in dir, creating its file when there is none.
func OpenAlone(dir string, spec crawl.Spec) (*Alone, error) {
	j, err := judge.New(spec)
	if err != nil {
		return nil, err
	}
	s, err := openShard(dir, 0, j, 1, "alone", func() bool { return true }, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	s.Ledger.Attach(nil, &budget.Budget{}, store.NewMetrics(nil))
	s.Visits.Attach(schedule.NewSlots(), make(chan struct{}, 1))
	s.copies = restore.NewCopies(s.Parts, restore.Deltas{}, nil)
	now := time.Now()
	a := &Alone{s: s, seq: s.Ledger.Meta.Seq, committed: now}
	if err := s.begin(store.StartDelay, 0, now); err != nil {
		return nil, errors.Join(err, s.close(false))
	}
	s.catchUp(store.StartDelay)
	return a, nil
}

// Apply applies an event, encoded as crawl.AppendEvent does.
func (a *Alone) Apply(event []byte) error {
	now := time.Now()
	a.seq++
	e := queue.Entry{Position: queue.Position{Seq: a.seq, Time: now}, Data: event}
	if err := a.s.apply([]queue.Entry{e}); err != nil {
		return err
	}
	if a.ByChanges || now.Sub(a.committed) < store.CommitEvery {
		return nil
	}
	a.committed = now
	return a.s.Ledger.Guarded(func() error { return a.s.upkeep(now) })
}

// Grant grants up to n visits to hosts that are due at that time.
func (a *Alone) Grant(n int, at time.Time) (granted []crawl.Visit, err error) {
	err = a.s.Ledger.Guarded(func() (err error) {
		granted, _, err = a.s.Visits.Grant(n, schedule.MaxGrantBytes, at)
		return err
	})
	return granted, err
}

// Commit commits all changes.
func (a *Alone) Commit() error {
	return a.s.Ledger.Guarded(func() error { return a.s.Ledger.Commit(true) })
}

// Status returns the shard's status.
func (a *Alone) Status() crawl.Status { return a.s.Account.Status(time.Now()) }

// HostsInMemory is how many of the known hosts are in memory.
func (a *Alone) HostsInMemory() int { return len(a.s.Ledger.Hosts) }

// Close commits and closes the file.
func (a *Alone) Close() error { return a.s.close(true) }

// Checkpointed is the size of a checkpoint in bytes: of the file, of the part that was written to
// the checkpoint, and of that part compressed, as it is stored.
type Checkpointed struct{ File, Reported, Stored int64 }

// Checkpoint makes a checkpoint and discards it. The next one may be a delta to it.
func (a *Alone) Checkpoint() (c Checkpointed, err error) {
	var im restore.Image
	err = a.s.Ledger.Guarded(func() (err error) {
		im, err = a.s.copies.Image()
		return err
	})
	if err != nil {
		return c, err
	}
	defer im.Close()
	var reported, stored counter
	z := s2.NewWriter(&stored, s2.WriterConcurrency(1))
	next, err := im.Copy(io.MultiWriter(&reported, z))
	if err = errors.Join(err, z.Close()); err != nil {
		return c, err
	}
	a.s.copies.Recorded(next)
	return Checkpointed{im.Tx.Size(), int64(reported), int64(stored)}, nil
}

type counter int64

// Write counts the bytes.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
