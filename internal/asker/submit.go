package asker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// perMessage is how many URLs one message has. With 2 KiB each they are well below the limit of a
// message.
const perMessage = 200

// Submission consists of the events that are submitted to a crawl, by their shards.
type Submission map[int][]crawl.Event

// Seeds adds URLs to the crawl at depth 0. URLs that are known already stay as they are.
func Seeds(spec crawl.Spec, urls []canon.URL) Submission {
	return submission(spec, urls, canon.URL.Host, func(part []canon.URL) crawl.Event {
		return crawl.Event{Links: []crawl.Links{{Seed: true, URLs: part}}}
	})
}

// Retries makes hosts ("d.example") and URLs due at once, in spite of the back-off after failures.
// Delays and the time of a Retry-After are kept. Unknown hosts and URLs are ignored.
func Retries(spec crawl.Spec, what []string) Submission {
	return submission(spec, what, hostOf, func(part []string) crawl.Event { return crawl.Event{Retry: part} })
}

// Refetches makes URLs due for another fetch, in whatever state they are. Unknown URLs are ignored.
func Refetches(spec crawl.Spec, urls []string) Submission {
	return submission(spec, urls, hostOf, func(part []string) crawl.Event { return crawl.Event{Refetch: part} })
}

func hostOf(what string) canon.Host {
	if u, err := canon.Parse(what); err == nil {
		return u.Host()
	}
	return canon.Host(what)
}

func submission[T any](spec crawl.Spec, all []T, host func(T) canon.Host, event func([]T) crawl.Event) Submission {
	byShard := map[int][]T{}
	for _, v := range all {
		i := crawl.ShardOf(host(v), spec.Shards)
		byShard[i] = append(byShard[i], v)
	}
	s := Submission{}
	for i, list := range byShard {
		for part := range slices.Chunk(list, perMessage) {
			s[i] = append(s[i], event(part))
		}
	}
	return s
}

// Submit appends events to the logs of their shards. It returns when all are acknowledged.
func Submit(ctx context.Context, q *queue.Conn, spec crawl.Spec, s Submission) error {
	names := crawl.Names(spec.Name)
	for _, i := range slices.Sorted(maps.Keys(s)) {
		l, err := q.OpenLog(ctx, queue.LogConfig{Stream: names.EventsStream(i), Subject: names.EventsSubject(i)})
		if err != nil {
			return fmt.Errorf("event log %d: %w", i, err)
		}
		for j := range s[i] {
			if _, err := l.Append(ctx, crawl.AppendEvent(nil, &s[i][j])); err != nil {
				return fmt.Errorf("event log %d: %w", i, err)
			}
		}
	}
	return nil
}

// Seed submits Seeds.
func Seed(ctx context.Context, q *queue.Conn, spec crawl.Spec, urls []canon.URL) error {
	return Submit(ctx, q, spec, Seeds(spec, urls))
}

// Retry submits Retries, and returns when they are Applied.
func Retry(ctx context.Context, q *queue.Conn, spec crawl.Spec, what []string) error {
	s := Retries(spec, what)
	if err := Submit(ctx, q, spec, s); err != nil {
		return err
	}
	return s.Applied(ctx, q, spec)
}

// Applied waits until the shards of a submission have applied everything that is in their logs now,
// or until ctx ends. Other shards may be away.
func (s Submission) Applied(ctx context.Context, q *queue.Conn, spec crawl.Spec) error {
	return applied(ctx, q, spec, slices.Sorted(maps.Keys(s)))
}

// Applied waits until all shards have applied everything that is in their logs now, or until ctx
// ends.
func Applied(ctx context.Context, q *queue.Conn, spec crawl.Spec) error {
	return applied(ctx, q, spec, all(spec))
}

func all(spec crawl.Spec) []int {
	shards := make([]int, spec.Shards)
	for i := range shards {
		shards[i] = i
	}
	return shards
}

func applied(ctx context.Context, q *queue.Conn, spec crawl.Spec, shards []int) error {
	upTo := map[int]uint64{}
	for _, i := range shards {
		seq, err := lastSequence(ctx, q, spec, i)
		if err != nil {
			return err
		}
		upTo[i] = seq
	}
	for {
		st, err := Status(ctx, q, spec)
		for _, s := range st.Shards {
			if seq, wanted := upTo[s.Shard]; wanted && s.Applied >= seq {
				delete(upTo, s.Shard)
			}
		}
		if len(upTo) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil || errors.Is(err, ctx.Err()) {
				return cmp.Or(err, ctx.Err())
			}
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
