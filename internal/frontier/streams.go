package frontier

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// StreamLimits are the capacities of a crawl's streams. Zero values mean 256 MiB for each event log
// and 1 GiB for pages.
type StreamLimits struct {
	Events, Pages int64 // bytes
	Replicas      int
}

// EnsureStreams creates the streams of a crawl, or finds them. Every service may call it; it is
// idempotent.
func EnsureStreams(ctx context.Context, q *queue.Conn, spec crawl.Spec, limits StreamLimits) error {
	if limits.Events == 0 {
		limits.Events = 256 << 20
	}
	if limits.Pages == 0 {
		limits.Pages = 1 << 30
	}
	names := crawl.Names(spec.Name)
	var subjects []string
	for i := range spec.Shards {
		_, err := q.OpenLog(ctx, queue.LogConfig{
			Stream: names.EventsStream(i), Subject: names.EventsSubject(i), MaxBytes: limits.Events, Replicas: limits.Replicas,
		})
		if err != nil {
			return fmt.Errorf("event log %d: %w", i, err)
		}
		subjects = append(subjects, names.PagesSubject(i))
	}
	_, err := q.OpenWork(ctx, queue.WorkConfig{
		Stream: names.PagesStream(), Subjects: subjects, MaxBytes: limits.Pages, Replicas: limits.Replicas,
		MaxMsgsPerSubject: pagesPerShard(limits.Pages, spec.Shards),
	})
	if err != nil {
		return fmt.Errorf("pages hand-off: %w", err)
	}
	return nil
}

// pagesPerShard is how many messages of pages may wait for one shard's indexer. A shard without an
// indexer fills its own share of the capacity and stops; the others continue. With more than 32
// shards in 1 GiB the shares overlap, because a few messages would be too little for a busy shard.
// It is unlikely that all shards have no indexer, and that all messages have the maximum length.
func pagesPerShard(capacity int64, shards int) int64 {
	return max(64, capacity/int64(shards)/crawl.MaxEventBytes)
}
