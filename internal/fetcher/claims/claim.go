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
	// errLost says that another crawl has the host.
	errLost = errors.New("another crawl has claimed the host")
	// errUnsettled says that the record that was read is older than what we wrote.
	errUnsettled = errors.New("the revision of the record is not known yet")
)

// Claim is a crawl's right to send requests to a host, and the lease that limits it.
type Claim struct {
	c      *Claims
	host   canon.Host
	key    string
	before time.Duration // the delay that the earlier holder left to wait
	lease  *wire.Lease
	cancel context.CancelFunc // of a running renewal
	ctx    context.Context    // of renewals

	write    chan struct{} // has an element while somebody writes, who may use the fields below
	rec      record
	sent     time.Duration // when the last accepted one was sent
	revision uint64
	over     bool

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	delay time.Duration // the least delay that the record has to contain
}

// Hold renews the claim until Release. The context that it returns ends when the claim does. The
// lease decides whether a request may begin.
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

// addDelay records a longer delay between requests at once, instead of at the next renewal. If this
// process were killed before, the next crawl would take the shorter delay from the record and visit
// the host too early.
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
	default: // a claim survives the election of a leader
		k.c.trouble(k.ctx, err)
		next = term / 20
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() == nil {
		k.timer.Reset(next)
	}
}

// rewrite writes the record, in which only the list of waiting crawls may have changed meanwhile.
// It is called by the owner of write.
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
			k.rec.Want, k.revision = now.Want, at // another crawl waits, or an answer was lost
		case at > k.revision:
			return fmt.Errorf("crawl %s: %w", now.Crawl, errLost)
		default: // a server that is behind; if the bucket is lost, the lease will end
			return errUnsettled
		}
	}
}

// Release ends the claim: no request is sent to the host under it any more. until is when the pause
// of the host ends. It is zero if no request was sent. If the record cannot be written, others wait
// until the claim would end.
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
