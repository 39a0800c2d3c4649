package frontier

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Room is how much the streams of a crawl may hold. Zero values mean 256 MiB an event log and 1 GiB of pages.
type Room struct {
	Events, Pages int64 // bytes
	Replicas      int
}

// EnsureStreams creates the streams of a crawl, or finds them there. Every service may call it; it is idempotent.
func EnsureStreams(ctx context.Context, q *queue.Conn, spec crawl.Spec, room Room) error {
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

// pagesPerShard is how many messages of pages may wait for one shard's indexer. A shard that nobody empties fills its own share of the
// room and stops; the others go on. Past 32 shards in 1 GiB shares overlap: a few messages would be too little for a busy shard, and
// not all shards are without an indexer, nor all messages as long as they may be.
func pagesPerShard(room int64, shards int) int64 {
	return max(64, room/int64(shards)/crawl.MaxEventBytes)
}

// Seed submits URLs at depth 0 to the logs of their shards and returns once all are acknowledged. What is known already
// changes nothing.
func Seed(ctx context.Context, q *queue.Conn, spec crawl.Spec, urls []canon.URL) error {
	names := crawl.Names(spec.Name)
	byShard := map[int][]canon.URL{}
	for _, u := range urls {
		i := crawl.ShardOf(u.Host(), spec.Shards)
		byShard[i] = append(byShard[i], u)
	}
	for i, list := range byShard {
		l, err := q.OpenLog(ctx, queue.LogConfig{Stream: names.EventsStream(i), Subject: names.EventsSubject(i)})
		if err != nil {
			return fmt.Errorf("event log %d: %w", i, err)
		}
		const perMessage = 200 // × 2 KiB stays well under the payload limit
		for part := range slices.Chunk(list, perMessage) {
			ev := crawl.Event{Links: []crawl.Links{{Seed: true, URLs: part}}}
			if _, err := l.Append(ctx, crawl.AppendEvent(nil, &ev)); err != nil {
				return fmt.Errorf("submit seeds: %w", err)
			}
		}
	}
	return nil
}

// Ask gathers the status of a crawl from whatever frontiers hold its shards.
func Ask(ctx context.Context, q *queue.Conn, spec crawl.Spec) (crawl.Status, error) {
	var parts []crawl.Status
	err := ask.Gather(ctx, q.NC, crawl.Names(spec.Name), "status", struct{}{}, spec.Shards, func(raw json.RawMessage) error {
		var part crawl.Status
		if err := json.Unmarshal(raw, &part); err != nil {
			return err
		}
		parts = append(parts, part)
		return nil
	})
	return Sum(parts), err
}

// Done asks whether nothing more can be done now (design §9.1): every shard has an owner that has applied all there was
// in its log before we asked, nothing came since, no visit is outstanding, no errand unanswered, nothing due within
// hold-max, all pages are stored and searchable. Asking twice guards against what moved in between.
func Done(ctx context.Context, q *queue.Conn, spec crawl.Spec) (crawl.Status, bool, error) {
	before, err := lastSequences(ctx, q, spec)
	if err != nil {
		return crawl.Status{}, false, err
	}
	st, err := Ask(ctx, q, spec)
	if err != nil {
		return st, false, err
	}
	if len(st.Shards) != spec.Shards || endless(st) {
		return st, false, nil
	}
	epochs := map[int]uint64{}
	for _, s := range st.Shards {
		epochs[s.Shard] = s.Epoch
		if s.Applied < before[s.Shard] || s.Outstanding > 0 || s.Outbox > 0 || s.Errands > 0 || s.DueSoon > 0 {
			return st, false, nil
		}
	}
	if ok, err := handedOver(ctx, q, spec); !ok || err != nil {
		return st, false, err
	}
	after, err := lastSequences(ctx, q, spec)
	if err != nil || !slices.Equal(before, after) {
		return st, false, err
	}
	again, err := Ask(ctx, q, spec)
	if err != nil || len(again.Shards) != spec.Shards || endless(again) {
		return st, false, err
	}
	for _, s := range again.Shards {
		if s.Epoch != epochs[s.Shard] || s.Applied < after[s.Shard] || s.Outstanding > 0 || s.Outbox > 0 || s.Errands > 0 || s.DueSoon > 0 {
			return again, false, nil
		}
	}
	again.State = "done"
	return again, true, nil
}

// endless reports that a crawl keeps what it has stored fresh. One that has stored nothing has nothing to keep: it ends, and says why.
func endless(st crawl.Status) bool { return st.Again > 0 && st.Stored > 0 }

func lastSequences(ctx context.Context, q *queue.Conn, spec crawl.Spec) ([]uint64, error) {
	seqs := make([]uint64, spec.Shards)
	for i := range seqs {
		st, err := q.JS.Stream(ctx, crawl.Names(spec.Name).EventsStream(i))
		if err != nil {
			return nil, fmt.Errorf("event log %d: %w", i, err)
		}
		info := st.CachedInfo()
		seqs[i] = info.State.LastSeq
	}
	return seqs, nil
}

// handedOver reports whether every page has been stored and, with search on, indexed.
func handedOver(ctx context.Context, q *queue.Conn, spec crawl.Spec) (bool, error) {
	st, err := q.JS.Stream(ctx, crawl.Names(spec.Name).PagesStream())
	if err != nil {
		return false, fmt.Errorf("pages hand-off: %w", err)
	}
	if st.CachedInfo().State.Msgs > 0 {
		return false, nil
	}
	var behind int64
	err = ask.Gather(ctx, q.NC, crawl.Names(spec.Name), "indexer-status", struct{}{}, spec.Shards, func(raw json.RawMessage) error {
		var part crawl.IndexerStatus
		err := json.Unmarshal(raw, &part)
		behind += part.Behind + part.Pending
		return err
	})
	return behind == 0, err
}

// WaitReady waits until every shard has an owner that grants, or ctx ends.
func WaitReady(ctx context.Context, q *queue.Conn, spec crawl.Spec) error {
	for {
		actx, cancel := context.WithTimeout(ctx, time.Second)
		st, err := Ask(actx, q, spec)
		cancel()
		if err == nil && len(st.Shards) == spec.Shards {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
