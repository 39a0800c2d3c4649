package indexer

import (
	"context"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The outbox of a store contains messages to other shards and to the frontier. A goroutine of its
// own sends them, never the one that stores pages, because two indexers could each wait for space
// in the queue of the other. A message is removed when it is acknowledged, so it may be sent twice,
// which changes nothing.

// postBatch is how many messages are sent at a time. Two URLs of 2 KiB each stay well below the
// limit of a payload.
const postBatch = 100

// sendOutbox sends messages until ctx ends.
func (s *shard) sendOutbox(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		changed := s.store.Outbox().Changed()
		n, err := s.sendOutboxBatch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			wait := again.Next()
			s.log.Warn("changes cannot be sent to other shards yet", "err", err, "wait", wait)
			if !sleep(ctx, wait) {
				return nil
			}
			continue
		case n == postBatch:
			continue
		}
		again.Reset()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// sendOutboxBatch sends the first messages, and returns how many.
func (s *shard) sendOutboxBatch(ctx context.Context) (int, error) {
	queued, err := s.store.Outbox().First(postBatch)
	if err != nil || len(queued) == 0 {
		return 0, err
	}
	var ev crawl.Event
	words := map[int][]crawl.Page{}
	for _, l := range queued {
		u := crawl.Unheld{URL: l.URL, Visit: l.Visit, Why: l.Why, Rules: l.Rules}
		switch l.Kind {
		case pages.OutboxMissing:
			ev.Missing = append(ev.Missing, u)
		case pages.OutboxRemoved:
			ev.Removed = append(ev.Removed, u)
		case pages.OutboxSkipped:
			ev.Skipped = append(ev.Skipped, u)
		case pages.OutboxUnreadable:
			ev.Unreadable = append(ev.Unreadable, u)
		case pages.OutboxAlias:
			to := l.AliasOf.Host()
			if l.MainKnown {
				to = l.URL.Host()
			}
			shard := crawl.ShardOf(to, s.x.shardsInAll())
			words[shard] = append(words[shard], aliasUpdate(l))
		}
	}
	for shard, all := range words {
		if err := s.x.work.Send(ctx, s.x.names.PagesSubject(shard), crawl.AppendPages(nil, all)); err != nil {
			return 0, fmt.Errorf("aliases for shard %d: %w", shard, err)
		}
	}
	if len(ev.Missing)+len(ev.Removed)+len(ev.Unreadable)+len(ev.Skipped) > 0 {
		if err := s.x.publish(ctx, s.id, &ev); err != nil {
			return 0, fmt.Errorf("the frontier: %w", err)
		}
	}
	if err := s.x.step("posted"); err != nil {
		return 0, err
	}
	return len(queued), s.store.Outbox().Sent(queued)
}

// aliasUpdate is what one indexer reports to another about an alias. As from the frontier, Deleted
// means that it is no longer an alias. Renewed means that the main page is stored.
func aliasUpdate(l pages.OutboxMessage) crawl.Page {
	p := crawl.Page{Kind: crawl.KindAlias, URL: l.URL, AliasOf: l.AliasOf, Visit: l.Visit, Renewed: l.MainKnown}
	if l.Gone {
		p.Deleted = crawl.ReasonMirror
	}
	return p
}

// mine reports whether the pages of a host are in this shard.
func (x *Indexer) mine(shard int) func(canon.Host) bool {
	n := x.shardsInAll()
	return func(h canon.Host) bool { return crawl.ShardOf(h, n) == shard }
}

// keepAliases applies reports about aliases. Those about the /data.txt of an origin are stored with
// that file.
func (s *shard) keepAliases(ctx context.Context, words []crawl.Page) error {
	var all []crawl.Page
	for i := range words {
		p := &words[i]
		if p.URL.PathQuery() == "/data.txt" && !p.Renewed && p.Deleted == "" {
			if err := s.persist(ctx, func() error { return s.aliasData(p) }); err != nil {
				return err
			}
			continue
		}
		all = append(all, *p)
	}
	if len(all) == 0 {
		return nil
	}
	return s.persist(ctx, func() error { return s.store.Alias(all) })
}
