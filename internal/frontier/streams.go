package frontier

import (
	"context"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// StreamLimits is how much the streams of a crawl may hold. Zero values mean 256 MiB an event log
// and 1 GiB of pages.
type StreamLimits struct {
	Events, Pages int64 // bytes
	Replicas      int
}

// EnsureStreams creates the streams of a crawl, or finds them there. Every service may call
// it; it is idempotent.
func EnsureStreams(ctx context.Context, q *queue.Conn, spec crawl.Spec, room StreamLimits) error {
	if room.Events == 0 {
		room.Events = 256 << 20
	}
	if room.Pages == 0 {
		room.Pages = 1 << 30
	}
	names := crawl.Names(spec.Name)
	var subjects []string
	for i := range spec.Shards {
		_, err := q.OpenLog(ctx, queue.LogConfig{
			Stream: names.EventsStream(i), Subject: names.EventsSubject(i), MaxBytes: room.Events, Replicas: room.Replicas,
		})
		if err != nil {
			return fmt.Errorf("event log %d: %w", i, err)
		}
		subjects = append(subjects, names.PagesSubject(i))
	}
	_, err := q.OpenWork(ctx, queue.WorkConfig{
		Stream: names.PagesStream(), Subjects: subjects, MaxBytes: room.Pages, Replicas: room.Replicas,
		MaxMsgsPerSubject: pagesPerShard(room.Pages, spec.Shards),
	})
	if err != nil {
		return fmt.Errorf("pages hand-off: %w", err)
	}
	return nil
}

// pagesPerShard is how many messages of pages may wait for one shard's indexer. A shard that nobody
// empties fills its own share of the room and stops; the others go on. Past 32 shards in 1 GiB
// shares overlap: a few messages would be too little for a busy shard, and not all shards are
// without an indexer, nor all messages as long as they may be.
func pagesPerShard(room int64, shards int) int64 {
	return max(64, room/int64(shards)/crawl.MaxEventBytes)
}
