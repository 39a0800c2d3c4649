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

// Shard is what an indexer does about one shard, whether it owns it or not. One goroutine runs it.
// Only this goroutine uses the files of the shard while they are closed.
type Shard struct {
	assignments *Assignments
	id          int
	kv          jetstream.KeyValue
	log         *slog.Logger

	here         stamp     // the page store in our directory
	tidied       uint64    // revision of the record at the last check of the files
	tried        time.Time // when a move to another indexer last failed
	lastReported string

	record   Record // while the shard is owned: the record as last written
	revision uint64 // of it
}

func ownerKey(shard int) string { return fmt.Sprintf("indexer.%d", shard) }

// publishAgain is how long to wait before a record that was just changed is read again.
const publishAgain = 50 * time.Millisecond

// run owns the shard whenever it belongs to this indexer, until ctx ends. It fails only if waiting
// cannot help.
func (s *Shard) run(ctx context.Context) error {
	x := s.assignments
	var err error
	if s.here, err = look(PagesFile(x.o.Dir, s.id)); hopeless(err) {
		return err // not given up: another indexer would begin an empty store in its place
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

// publishWhere reports once where the pages of a shard are that we do not own.
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

// take becomes the owner of the shard, until ctx ends, another owner takes it, it must be moved, or
// something fails.
func (s *Shard) take(ctx context.Context) (err error) {
	own, err := s.own(ctx)
	if err != nil {
		return nil // ctx ended, or it belongs to another indexer now
	}
	// The ownership is renewed until everything is closed, also after the end of ctx.
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

// own waits for the ownership of the shard as long as it belongs to us.
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
	// An owner record with our name is from an earlier process on this directory if its store is
	// here; then it is not worth waiting for. In another directory, another process may have the
	// same name.
	same := x.o.Embedded || s.here.identity != "" && s.here.identity == x.allotment.recordOf(s.id).Store
	return queue.Own(octx, s.kv, ownerKey(s.id), queue.OwnOptions{Owner: x.o.Instance, Term: x.o.Term, SameDir: same, Log: x.o.Log})
}

// ID returns the number of the shard.
func (s *Shard) ID() int { return s.id }

// Log returns the log of the shard.
func (s *Shard) Log() *slog.Logger { return s.log }

// Refill reports whether the store was begun empty in place of a lost one, and the frontier does
// not know yet.
func (s *Shard) Refill() bool { return s.record.Refill }

// Refilled records that the frontier was notified.
func (s *Shard) Refilled(ctx context.Context) error {
	h := s.record
	h.Refill = false
	return s.claim(ctx, h, s.revision)
}
