package control

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
)

// Reindex has the indexers build their search indexes anew, unless somebody has done so since the
// spec was read that has this Spec.Reindex. It returns the mark of the indexes that are being
// built, and whether this call had them begun.
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

// ReindexStopped is the line of a reindex that a command does by itself, in the files of a crawl
// that does not run. why is the reason if nothing came of it.
func ReindexStopped(by By, why error) crawl.Audit {
	line := audit(by, action{what: actionReindex})
	if why != nil {
		line.Error = why.Error()
	}
	return line.Bounded()
}

// Retire says that an indexer is to give its shards to the others, for good.
func Retire(ctx context.Context, c *asker.Crawl, by By, instance string) error {
	return retired(ctx, c, by, action{what: actionRetire, on: instance}, true)
}

// Unretire lets an indexer have shards again.
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
		return nil // nothing changes by that
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
