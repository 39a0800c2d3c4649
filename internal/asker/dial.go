package asker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Dial finds a running crawl on a NATS server. It creates nothing there. Its error says what to
// type.
func Dial(ctx context.Context, o queue.Options, names crawl.Names, log *slog.Logger) (*Crawl, error) {
	q, err := queue.Dial(ctx, o, log)
	if err != nil {
		return nil, err
	}
	c, err := find(ctx, q, names)
	if err != nil {
		q.Close()
		return nil, err
	}
	return c, nil
}

// specFor is how long Dial waits for the settings of a crawl that has none. Who creates a crawl
// makes its bucket first, then its streams, and stores the settings last.
const specFor = 2 * time.Second

func find(ctx context.Context, q *queue.Conn, names crawl.Names) (*Crawl, error) {
	kv, err := q.JS.KeyValue(ctx, names.Bucket())
	if err == nil {
		var spec crawl.Spec
		for end := time.Now().Add(specFor); ; {
			if spec, err = service.ReadSpec(ctx, kv); err == nil {
				return Running(q, kv, spec), nil
			}
			if !errors.Is(err, service.ErrNoSpec) || ctx.Err() != nil {
				return nil, err
			}
			if time.Now().After(end) {
				return nil, fmt.Errorf("the crawl %q on this server has no settings yet: it is still starting, or it was not created yet. "+
					"Try again in a moment, or create it with: curtsy seed --nats URL --crawl %s https://example.org/", names, names)
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, err
	}
	there, err := Crawls(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("there is no crawl %q on this server, and no other crawl; create it with: curtsy seed --nats URL --crawl %s https://example.org/", names, names)
	}
	return nil, fmt.Errorf("there is no crawl %q on this server; it has: %s (choose one with --crawl)", names, strings.Join(there, ", "))
}

// Crawls lists the crawls on a NATS server, by name.
func Crawls(ctx context.Context, q *queue.Conn) ([]string, error) {
	var names []string
	lister := q.JS.KeyValueStoreNames(ctx)
	for bucket := range lister.Name() {
		if name, ok := strings.CutSuffix(bucket, strings.TrimPrefix(crawl.Names("x").Bucket(), "x")); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, lister.Error()
}
