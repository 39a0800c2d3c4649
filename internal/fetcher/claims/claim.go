package claims

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

var (
	// errLost says that somebody else has the host.
	errLost = errors.New("another crawl has claimed the host")
	// errUnsettled says that the record read is older than what we wrote.
	errUnsettled = errors.New("the revision of the record is not known yet")
)

// Claim is a crawl's right to be at a host, and the lease it lasts by.
type Claim struct {
	c      *Claims
	host   canon.Host
	key    string
	before time.Duration // what the host was owed by whoever was there before
	lease  *wire.Lease
	cancel context.CancelFunc // of a renewal under way
	ctx    context.Context    // of renewals

	write    chan struct{} // has an element while somebody writes, who may use what follows
	rec      record
	sent     time.Duration // when the last one was sent that was accepted
	revision uint64
	over     bool

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	delay time.Duration // what the record has to say, at least
}

// Hold renews the claim until Release. The context that it returns ends when the claim does, and
// the lease says whether a request may begin.
func (k *Claim) Hold(ctx context.Context) (*wire.Lease, context.Context) {
	lease, held := wire.NewLease(ctx, k.c.now, k.sent, term)
	k.lease = lease
	k.ctx, k.cancel = context.WithCancel(held)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(k.sent+term/3-k.c.now(), k.renew)
	lease.OnDelay(k.addDelay)
	return lease, held
}

// addDelay has the record say soon that requests are farther apart than it says: whoever comes
// after a holder that was killed should not come earlier.
func (k *Claim) addDelay(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d > k.delay {
		k.delay = d
		k.timer.Reset(0)
	}
}

// renew writes the record again, and plans the next time.
func (k *Claim) renew() {
	k.write <- struct{}{}
	defer func() { <-k.write }()
	if k.over || k.ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	delay := min(k.delay, MaxPause)
	k.mu.Unlock()
	r := k.rec
	r.Pause = max(r.Pause, delay)
	ctx, cancel := context.WithTimeout(k.ctx, term/3)
	defer cancel()
	next := term / 3
	switch err := k.rewrite(ctx, r); {
	case err == nil:
		k.lease.Renew(k.sent, term)
	case errors.Is(err, errLost):
		k.over = true
		k.lease.End()
		k.c.log.Warn("a visit ends early: another crawl has claimed its host", "host", string(k.host), "err", err)
		return
	default: // the election of a leader costs no claim
		k.c.trouble(k.ctx, err)
		next = term / 20
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() == nil {
		k.timer.Reset(next)
	}
}

// rewrite writes the record, whose list of those who wait may have changed meanwhile, and nothing
// else. Called by who has write.
func (k *Claim) rewrite(ctx context.Context, r record) error {
	for {
		r.Want = k.rec.Want
		sent := k.c.now()
		revision, err := k.c.store.write(ctx, k.key, r, k.revision)
		if err == nil {
			k.rec, k.revision, k.sent = r, revision, sent
			k.c.wrote(k.key, r, revision, sent)
			return nil
		}
		k.c.unsure(k.key)
		if !errors.Is(err, errChanged) {
			return err
		}
		now, at, err := k.c.store.read(ctx, k.key)
		switch {
		case err != nil:
			return err
		case at > k.revision && now.of(&k.rec):
			k.rec.Want, k.revision = now.Want, at // and somebody waits, or an answer was lost
		case at > k.revision:
			return fmt.Errorf("crawl %s: %w", now.Crawl, errLost)
		default: // a server that lags behind; if the bucket is lost, the lease will end
			return errUnsettled
		}
	}
}

// Release gives the claim up: nothing is asked of the host under it any more. until is when the
// host has rested; zero: nothing was asked of it. If nobody can be told, others wait for the
// claim's end.
func (k *Claim) Release(ctx context.Context, until time.Time) {
	k.lease.End()
	k.cancel()
	k.mu.Lock()
	k.timer.Stop()
	k.mu.Unlock()
	k.write <- struct{}{}
	defer func() { <-k.write }()
	if k.over {
		return
	}
	k.over = true
	r := k.rec
	r.Held, r.Pause = false, k.before
	if !until.IsZero() {
		r.Pause = min(max(time.Until(until), 0), MaxPause)
	}
	ctx, cancel := context.WithTimeout(ctx, term/3)
	defer cancel()
	if err := k.rewrite(ctx, r); err != nil && !errors.Is(err, errLost) {
		k.c.trouble(ctx, err)
	}
}
