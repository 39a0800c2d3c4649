package asker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Done reports whether nothing more can be done now (design §9.1). Then every shard has an owner
// that has applied everything in its log, and nothing was added since. No visit is outstanding, no
// auxiliary request is unanswered, and no URL is due within hold-max. All pages are stored and
// searchable. Done asks for the status twice, because something may move while it asks.
func Done(ctx context.Context, q *queue.Conn, spec crawl.Spec) (crawl.Status, bool, error) {
	before, err := lastSequences(ctx, q, spec)
	if err != nil {
		return crawl.Status{}, false, err
	}
	st, err := Status(ctx, q, spec)
	if err != nil {
		return st, false, err
	}
	if len(st.Shards) != spec.Shards || endless(st) {
		return st, false, nil
	}
	epochs := map[int]uint64{}
	for _, s := range st.Shards {
		epochs[s.Shard] = s.Epoch
		if s.Applied < before[s.Shard] || s.Outstanding > 0 || s.Outbox > 0 || s.Aux > 0 || s.DueSoon > 0 {
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
	again, err := Status(ctx, q, spec)
	if err != nil || len(again.Shards) != spec.Shards || endless(again) {
		return st, false, err
	}
	for _, s := range again.Shards {
		if s.Epoch != epochs[s.Shard] || s.Applied < after[s.Shard] || s.Outstanding > 0 || s.Outbox > 0 || s.Aux > 0 || s.DueSoon > 0 {
			return again, false, nil
		}
	}
	again.State = "done"
	return again, true, nil
}

// endless reports that a crawl keeps its stored pages fresh, so that it never ends. A crawl without
// stored pages does end.
func endless(st crawl.Status) bool { return st.Again > 0 && st.Stored > 0 }

func lastSequences(ctx context.Context, q *queue.Conn, spec crawl.Spec) (seqs []uint64, err error) {
	for _, i := range all(spec) {
		seq, err := lastSequence(ctx, q, spec, i)
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, seq)
	}
	return seqs, nil
}

// lastSequence is the sequence number of the last event in a shard's log.
func lastSequence(ctx context.Context, q *queue.Conn, spec crawl.Spec, shard int) (uint64, error) {
	st, err := q.JS.Stream(ctx, crawl.Names(spec.Name).EventsStream(shard))
	if err != nil {
		return 0, fmt.Errorf("event log %d: %w", shard, err)
	}
	return st.CachedInfo().State.LastSeq, nil
}

// handedOver reports whether every page has been stored and, if search is on, indexed. Indexers are
// asked at different moments, and they send each other messages about aliases: one of them may have
// answered before a message came, and the other one after it had sent it. Such a message passes
// through the stream of pages, so its last sequence has to be the same before and after.
func handedOver(ctx context.Context, q *queue.Conn, spec crawl.Spec) (bool, error) {
	waiting, before, err := pagesInStream(ctx, q, spec)
	if err != nil || waiting > 0 {
		return false, err
	}
	var behind int64
	err = indexers(ctx, q, spec, func(part crawl.IndexerStatus) { behind += part.Behind + part.Pending })
	if err != nil || behind > 0 {
		return false, err
	}
	waiting, after, err := pagesInStream(ctx, q, spec)
	return waiting == 0 && before == after, err
}

// pagesInStream returns how many pages wait to be stored, and the number of the last one.
func pagesInStream(ctx context.Context, q *queue.Conn, spec crawl.Spec) (waiting, last uint64, err error) {
	st, err := q.JS.Stream(ctx, crawl.Names(spec.Name).PagesStream())
	if err != nil {
		return 0, 0, fmt.Errorf("pages hand-off: %w", err)
	}
	return st.CachedInfo().State.Msgs, st.CachedInfo().State.LastSeq, nil
}

// WaitReady waits until every shard has an owner that grants, or ctx ends.
func WaitReady(ctx context.Context, q *queue.Conn, spec crawl.Spec) error {
	for open := 0; ; {
		actx, cancel := context.WithTimeout(ctx, time.Second)
		st, err := Status(actx, q, spec)
		cancel()
		if err == nil && len(st.Shards) == spec.Shards {
			return nil
		}
		open = max(open, len(st.Shards))
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d shards are open: %w", open, spec.Shards, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// WaitIndexers waits until every shard has an indexer, or ctx ends.
func WaitIndexers(ctx context.Context, q *queue.Conn, spec crawl.Spec) error {
	for ctx.Err() == nil {
		actx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		err := indexers(actx, q, spec, func(crawl.IndexerStatus) {})
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return ctx.Err()
}

// ArchiveForgot counts what running indexers have removed from their archives because of takedowns.
// The counts begin when the processes start.
type ArchiveForgot struct {
	Records  int64
	Outlinks int64 // in the metadata of other pages
	Files    int64 // that were rewritten
}

// ArchiveForgot asks all indexers for their counts, and adds them up.
func (c *Crawl) ArchiveForgot(ctx context.Context) (all ArchiveForgot, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	seen := map[string]bool{} // an indexer's counts are of all its shards
	err = indexers(ctx, c.Queue, c.Spec, func(part crawl.IndexerStatus) {
		if !seen[part.Instance] {
			all.Records, all.Outlinks, all.Files = all.Records+part.ArchiveRecords, all.Outlinks+part.ArchiveOutlinks, all.Files+part.ArchiveFiles
		}
		seen[part.Instance] = true
	})
	return all, err
}

// Forgotten asks all shards whether they use the Spec.Forgotten of spec. hidden reports that they
// do, so that nothing of it is fetched or shown any more. done reports that it is also deleted.
func Forgotten(ctx context.Context, q *queue.Conn, spec crawl.Spec) (hidden, done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text := spec.ForgottenText()
	st, err := Status(ctx, q, spec)
	if err != nil {
		return false, false, err
	}
	hidden, done = true, true
	for _, s := range st.Shards {
		hidden, done = hidden && s.Forgotten == text, done && !s.Forgetting
	}
	err = indexers(ctx, q, spec, func(part crawl.IndexerStatus) {
		hidden, done = hidden && part.Forgotten == text, done && !part.Forgetting && part.Behind == 0
	})
	return hidden && err == nil, done && err == nil, err
}
