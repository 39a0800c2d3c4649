package claims

import (
	"context"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// No clock of a server decides when a record is deleted, because it may be wrong, and the record
// may be that of a running visit. A process records the revision of the newest record, and by its
// own clock when it saw it. A record with the same or a lower revision was written before. When
// that is long enough ago, all such records are deleted: a crawl that is at a host has written a
// newer one since.

// sighted says that all records up to a revision had been written by then.
type sighted struct {
	revision uint64
	at       time.Duration
}

// sweep deletes old records, if it is time to. It is called when a host is to be claimed: where
// nobody claims any, nothing has to be deleted.
func (c *Claims) sweep(ctx context.Context) {
	c.mu.Lock()
	now := c.now()
	due := now-c.swept >= sweepEvery
	if due {
		c.swept = now
	}
	c.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, term/3)
	defer cancel()
	revision, edition, err := c.store.last(ctx)
	if err == nil {
		if old := c.sighted(revision, edition); old > 0 {
			err = c.store.forget(ctx, old)
		}
	}
	if err != nil && ctx.Err() == nil {
		c.log.Warn("old records of hosts cannot be deleted and slowly fill their bucket", "bucket", crawl.HostsBucket, "err", err)
	}
}

// sighted records the newest revision. It returns the revision up to which all records are old, 0
// if it knows none.
func (c *Claims) sighted(revision uint64, edition string) (old uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if n := len(c.sights); edition != c.edition || n > 0 && revision < c.sights[n-1].revision {
		c.edition, c.sights = edition, nil
	}
	c.sights = append(c.sights, sighted{revision, now})
	for len(c.sights) > 0 && now-c.sights[0].at >= forgetAfter {
		old = c.sights[0].revision
		c.sights = slices.Delete(c.sights, 0, 1)
	}
	return old
}
