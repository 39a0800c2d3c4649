package asker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Status asks the frontiers of a running crawl for the accounting, and adds it up.
func Status(ctx context.Context, q *queue.Conn, spec crawl.Spec) (crawl.Status, error) {
	c := &Crawl{Spec: spec, Queue: q}
	return c.accounting(ctx)
}

func (c *Crawl) accounting(ctx context.Context) (crawl.Status, error) {
	var parts []crawl.Status
	err := questions.Status.Each(ctx, c, struct{}{}, func(part crawl.Status) error {
		parts = append(parts, part)
		return nil
	})
	st := Sum(parts)
	foresee(&st, c.Spec)
	return st, err
}

// StoredIn is how many pages these shards of a running crawl store, according to their frontiers.
// It is -1 if not all of them answer within 200 ms. It says how much is missing while indexers are
// away.
func (c *Crawl) StoredIn(ctx context.Context, shards []int) int64 {
	if c.Stopped() {
		return -1
	}
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	stored := map[int]int64{}
	// Answers that came in time are valid, and the others are noticed below.
	_ = questions.Status.Each(ctx, c, struct{}{}, func(part crawl.Status) error {
		if len(part.Shards) == 1 {
			stored[part.Shards[0].Shard] = part.Stored
		}
		return nil
	})
	var sum int64
	for _, k := range shards {
		n, ok := stored[k]
		if !ok {
			return -1
		}
		sum += n
	}
	return sum
}

// Status is the accounting of the crawl. It includes whether nothing more can be done now, and what
// prevents pages from being stored.
func (c *Crawl) Status(ctx context.Context) (crawl.Status, error) {
	st, err := c.accounting(ctx)
	st.Indexers, st.PagesTrouble = c.indexers(ctx)
	if c.Stopped() {
		st.State = cmp.Or(st.State, "done") // a crawl without shards has nothing to do
		return st, err
	}
	if err != nil || st.State != "running" || !resting(st) {
		return st, err
	}
	if _, done, err := Done(ctx, c.Queue, c.Spec); err == nil && done {
		st.State = "done"
	}
	return st, nil
}

// indexers asks the indexers for their states, and describes what prevents pages from being stored.
// Indexers that do not answer within two seconds are a part of this description.
func (c *Crawl) indexers(ctx context.Context) (parts []crawl.IndexerStatus, trouble string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := questions.IndexerStatus.Each(ctx, c, struct{}{}, func(part crawl.IndexerStatus) error {
		parts = append(parts, part)
		return nil
	})
	slices.SortFunc(parts, func(a, b crawl.IndexerStatus) int { return strings.Compare(a.Instance, b.Instance) })
	if c.Stopped() {
		return parts, "" // nothing is stored
	}
	var all []string
	for _, part := range parts {
		if part.Paused != "" {
			all = append(all, part.Paused)
		}
	}
	var missing *ask.IncompleteError
	if errors.As(err, &missing) {
		all = append(all, fmt.Sprintf("%d of %d shards have no indexer at the moment; their pages wait in the queue", len(missing.Missing), missing.Shards))
	} else if err != nil {
		all = append(all, "no indexer answers: "+err.Error())
	}
	return parts, strings.Join(all, "; ")
}

// indexers calls each for the status of every indexer that has shards.
func indexers(ctx context.Context, q *queue.Conn, spec crawl.Spec, each func(crawl.IndexerStatus)) error {
	return questions.IndexerStatus.Each(ctx, &Crawl{Spec: spec, Queue: q}, struct{}{}, func(part crawl.IndexerStatus) error {
		each(part)
		return nil
	})
}

// resting reports whether a running crawl may have nothing to do. Whether it is done, Done finds
// out.
func resting(st crawl.Status) bool {
	return !slices.ContainsFunc(st.Shards, func(s crawl.ShardStatus) bool { return s.Outstanding > 0 || s.DueSoon > 0 })
}
