package assignment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Shard is what an indexer does about one shard, whether it holds it or not. One goroutine runs it,
// which alone touches the shard's files while they are closed.
type Shard struct {
	assignments *Assignments
	id          int
	kv          jetstream.KeyValue
	log         *slog.Logger

	here         stamp     // of the page store in our directory
	tidied       uint64    // revision of the home record at which the files were last looked at
	tried        time.Time // when a move away last failed
	lastReported string

	record   Record // while the shard is held: the record as last written
	revision uint64 // of it
}

func ownerKey(shard int) string { return fmt.Sprintf("indexer.%d", shard) }

// publishAgain is how long to wait before a record that was just changed is read again.
const publishAgain = 50 * time.Millisecond

// run holds the shard whenever it is this indexer's to hold, until ctx ends. It fails only on what
// waiting cannot mend.
func (s *Shard) run(ctx context.Context) error {
	x := s.assignments
	var err error
	if s.here, err = look(PagesFile(x.o.Dir, s.id)); hopeless(err) {
		return err // not taken: another indexer would begin an empty store in its place
	} else if err != nil {
		s.log.Warn("the page store here cannot be read", "err", err)
	}
	again := backoff.Delay{Least: time.Second, Most: 30 * time.Second}
	for {
		changed := x.allotment.change()
		s.lookAtOldFile(ctx)
		if !x.allotment.wants(s.id, s.here) {
			s.publishWhere()
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			case <-time.After(x.o.Term / 4):
			}
			continue
		}
		s.lastReported = ""
		began := time.Now()
		err := s.take(ctx)
		switch {
		case hopeless(err):
			return err
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			return nil
		case ctx.Err() != nil:
			return err
		case errors.Is(err, errElsewhere), errors.Is(err, errChanged):
			err = nil
		}
		if err == nil || time.Since(began) > time.Minute {
			again.Reset()
		}
		pause := x.o.Term / 20
		if err != nil {
			pause = again.Next()
			s.log.Error("the shard stopped; trying again", "err", err, "wait", pause)
		}
		if backoff.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// publishWhere tells once where the pages of a shard are that we do not hold.
func (s *Shard) publishWhere() {
	h, there := s.assignments.allotment.where(s.id)
	what := "another indexer has the shard's pages"
	switch {
	case h.revision == 0:
		return
	case h.HandedOver != nil:
		what = "the shard's pages are being moved"
	case !there:
		what = "the indexer that has the shard's pages is away; new pages wait in the queue"
	}
	if what+h.Instance != s.lastReported {
		s.lastReported = what + h.Instance
		s.log.Info(what, "home", h.Instance)
	}
}

// take becomes the shard's owner and holds it until ctx ends, another owner takes it, it is to be
// moved or something fails.
func (s *Shard) take(ctx context.Context) (err error) {
	own, err := s.own(ctx)
	if err != nil {
		return nil // ctx ended, or it is another's now
	}
	// Renewed until all is closed, also past ctx's end.
	rctx, end := context.WithCancel(context.WithoutCancel(ctx))
	held, lose := context.WithCancel(ctx)
	defer lose()
	renewed := make(chan error, 1)
	go func() {
		err := own.Run(rctx)
		if err != nil {
			lose()
		}
		renewed <- err
	}()
	defer func() {
		end()
		err = errors.Join(err, <-renewed)
		release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if e := own.Release(release, ""); e != nil && !errors.Is(e, queue.ErrLost) {
			s.log.Warn("the shard was not released cleanly; the next start acquires it anyway", "err", e)
		}
	}()
	store, err := s.openStore(held)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return s.assignments.o.Serve(held, s, store, own.Epoch())
}

// own waits for the shard's ownership as long as it is ours to take.
func (s *Shard) own(ctx context.Context) (*queue.Ownership, error) {
	x := s.assignments
	octx, cancel := context.WithCancel(ctx)
	asking := make(chan struct{})
	go func() {
		defer close(asking)
		for {
			changed := x.allotment.change()
			if !x.allotment.wants(s.id, s.here) {
				cancel()
			}
			select {
			case <-octx.Done():
				return
			case <-changed:
			}
		}
	}()
	defer func() { <-asking }()
	defer cancel()
	// An owner record with our name is of a process before us on this directory, and only then not
	// worth waiting for, when its store is here: in another directory another process may go by the
	// same name.
	same := x.o.Embedded || s.here.identity != "" && s.here.identity == x.allotment.recordOf(s.id).Store
	return queue.Own(octx, s.kv, ownerKey(s.id), queue.OwnOptions{Owner: x.o.Instance, Term: x.o.Term, SameDir: same, Log: x.o.Log})
}

// ID is the shard's number.
func (s *Shard) ID() int { return s.id }

// Log is the log of what concerns the shard.
func (s *Shard) Log() *slog.Logger { return s.log }

// Refill reports whether the store was begun empty in the place of one that is lost, and the
// frontier is not told yet.
func (s *Shard) Refill() bool { return s.record.Refill }

// Refilled notes that the frontier was told.
func (s *Shard) Refilled(ctx context.Context) error {
	h := s.record
	h.Refill = false
	return s.claim(ctx, h, s.revision)
}
