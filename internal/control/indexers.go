package control

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
)

// Reindex makes the indexers rebuild their search indexes. It does nothing if somebody else did so
// after the caller read the spec, whose Spec.Reindex is seen. It returns the mark of the indexes
// that are being built, and whether this call started it.
func Reindex(ctx context.Context, c *asker.Crawl, by By, seen string) (mark string, begun bool, err error) {
	ours := time.Now().UTC().Format(time.RFC3339Nano)
	begun, err = change(ctx, c, by, action{what: actionReindex}, func(s crawl.Spec) (crawl.Spec, bool, error) {
		if mark = s.Reindex; mark != seen {
			return s, false, nil
		}
		mark, s.Reindex = ours, ours
		return s, true, nil
	})
	return mark, begun, err
}

// ReindexStopped returns the line for a command that rebuilds the indexes of a stopped crawl
// itself. why is the error if that failed.
func ReindexStopped(by By, why error) crawl.Audit {
	line := audit(by, action{what: actionReindex})
	if why != nil {
		line.Error = why.Error()
	}
	return line.Bounded()
}

// Retire makes an indexer hand its shards over to the others, for good.
func Retire(ctx context.Context, c *asker.Crawl, by By, instance string) error {
	return retired(ctx, c, by, action{what: actionRetire, on: instance}, true)
}

// Unretire allows an indexer to take shards again.
func Unretire(ctx context.Context, c *asker.Crawl, by By, instance string) error {
	return retired(ctx, c, by, action{what: actionUnretire, on: instance}, false)
}

func retired(ctx context.Context, c *asker.Crawl, by By, a action, is bool) error {
	if c.Stopped() {
		return ErrNotRunning
	}
	key := crawl.Retired(a.on)
	_, err := c.Bucket.Get(ctx, key)
	switch {
	case err == nil == is && (err == nil || errors.Is(err, jetstream.ErrKeyNotFound)):
		return nil // it is so already
	case err != nil && !errors.Is(err, jetstream.ErrKeyNotFound):
		return err
	}
	if err := notify(ctx, c, "", audit(by, a)); err != nil {
		return err
	}
	if is {
		_, err = c.Bucket.PutString(ctx, key, time.Now().UTC().Format(time.RFC3339))
	} else {
		err = c.Bucket.Delete(ctx, key)
	}
	if err != nil {
		return failed(ctx, c, by, a, err)
	}
	return nil
}
