package asker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Seed submits URLs at depth 0 to the logs of their shards and returns once all are acknowledged.
// What is known already changes nothing.
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

// Retry has hosts ("d.example") and URLs tried again without waiting for what failures would have
// us wait, and returns once the shards they fall to have taken that in. Delays and what a
// Retry-After asks are kept. Unknown ones change nothing.
func Retry(ctx context.Context, q *queue.Conn, spec crawl.Spec, what []string) error {
	names := crawl.Names(spec.Name)
	byShard := map[int][]string{}
	for _, w := range what {
		host := canon.Host(w)
		if u, err := canon.Parse(w); err == nil {
			host = u.Host()
		}
		i := crawl.ShardOf(host, spec.Shards)
		byShard[i] = append(byShard[i], w)
	}
	for i, list := range byShard {
		l, err := q.OpenLog(ctx, queue.LogConfig{Stream: names.EventsStream(i), Subject: names.EventsSubject(i)})
		if err != nil {
			return fmt.Errorf("event log %d: %w", i, err)
		}
		const perMessage = 200 // as in Seed
		for part := range slices.Chunk(list, perMessage) {
			if _, err := l.Append(ctx, crawl.AppendEvent(nil, &crawl.Event{Retry: part})); err != nil {
				return fmt.Errorf("have hosts tried again: %w", err)
			}
		}
	}
	upTo, err := lastSequences(ctx, q, spec)
	if err != nil {
		return err
	}
	for {
		st, err := Status(ctx, q, spec)
		applied := err == nil && len(st.Shards) == spec.Shards
		for _, s := range st.Shards {
			applied = applied && s.Applied >= upTo[s.Shard]
		}
		if applied {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
