package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
)

// live is a crawl asked over NATS.
type live struct {
	q     *queue.Conn
	kv    jetstream.KeyValue
	names crawl.Names
	spec  crawl.Spec
}

// dialCrawl finds a crawl on a server. It creates nothing there.
func dialCrawl(ctx context.Context, o queue.Options, names crawl.Names, log *slog.Logger) (*live, error) {
	q, err := queue.Dial(ctx, o, log)
	if err != nil {
		return nil, err
	}
	l, err := findCrawl(ctx, q, names)
	if err != nil {
		q.Close()
		return nil, err
	}
	return l, nil
}

func findCrawl(ctx context.Context, q *queue.Conn, names crawl.Names) (*live, error) {
	kv, err := q.JS.KeyValue(ctx, names.Bucket())
	if err == nil {
		var spec crawl.Spec
		if spec, err = service.ReadSpec(ctx, kv); err == nil {
			return &live{q, kv, names, spec}, nil
		}
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) && !errors.Is(err, service.ErrNoSpec) {
		return nil, err
	}
	there, err := crawlsOn(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("there is no crawl %q on this server, nor any other; create it with: curtsy seed --nats URL --crawl %s https://example.org/", names, names)
	}
	return nil, fmt.Errorf("there is no crawl %q on this server; it has: %s (name one with --crawl)", names, strings.Join(there, ", "))
}

// crawlsOn lists the crawls a server holds.
func crawlsOn(ctx context.Context, q *queue.Conn) ([]string, error) {
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

func (l *live) Close() error { return l.q.Close() }

// gather asks a question of all shards and hands on the parts of the answer.
func gather[T any](ctx context.Context, l *live, question string, req any, each func(T) error) error {
	return ask.Gather(ctx, l.q.NC, l.names, question, req, l.spec.Shards, func(raw json.RawMessage) error {
		var part T
		if err := json.Unmarshal(raw, &part); err != nil {
			return fmt.Errorf("answer to %s: %w", question, err)
		}
		return each(part)
	})
}

func (l *live) Status(ctx context.Context) (crawl.Status, error) {
	var parts []crawl.Status
	err := gather(ctx, l, "status", nil, func(part crawl.Status) error {
		parts = append(parts, part)
		return nil
	})
	st := frontier.Sum(parts)
	st.PagesTrouble = l.pagesTrouble(ctx)
	if err != nil || st.State != "running" || !resting(st) {
		return st, err
	}
	if _, done, err := frontier.Done(ctx, l.q, l.spec); err == nil && done {
		st.State = "done"
	}
	return st, nil
}

// pagesTrouble asks the indexers what keeps them from storing pages. Those that do not answer within two seconds are part of it.
func (l *live) pagesTrouble(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var all []string
	err := gather(ctx, l, "indexer-status", nil, func(part crawl.IndexerStatus) error {
		if part.Paused != "" {
			all = append(all, part.Paused)
		}
		return nil
	})
	var missing *ask.IncompleteError
	if errors.As(err, &missing) {
		all = append(all, fmt.Sprintf("%d of %d shards have no indexer at the moment, their pages wait in the queue", len(missing.Missing), missing.Shards))
	} else if err != nil {
		all = append(all, "no indexer answers: "+err.Error())
	}
	return strings.Join(all, "; ")
}

// resting reports whether a crawl that runs may have nothing to do; whether it is done takes a closer look.
func resting(st crawl.Status) bool {
	for _, s := range st.Shards {
		if s.Outstanding > 0 || s.DueSoon > 0 {
			return false
		}
	}
	return true
}

func (l *live) Hosts(ctx context.Context, each func(crawl.HostInfo) error) error {
	return gather(ctx, l, "hosts", nil, each)
}

func (l *live) Explain(ctx context.Context, url string) (crawl.Explanation, error) {
	var x crawl.Explanation
	err := gather(ctx, l, "explain", map[string]string{"url": url}, func(part crawl.Explanation) error {
		if !x.Seen { // one shard knows the URL, if any does
			x = part
		}
		return nil
	})
	return x, err
}

func (l *live) Pages(ctx context.Context, each func(crawl.PageInfo) error) error {
	return gather(ctx, l, "pages", nil, each)
}

func (l *live) Search(ctx context.Context, query string, limit int) (crawl.SearchAnswer, error) {
	var all crawl.SearchAnswer
	var parts []crawl.SearchAnswer
	req := map[string]any{"query": query, "limit": limit}
	err := gather(ctx, l, "search", req, func(part crawl.SearchAnswer) error {
		parts = append(parts, part)
		all.Behind += part.Behind
		return nil
	})
	all.Hits = search.Merge(parts, limit)
	return all, err
}

func (l *live) Export(ctx context.Context, what, format string, w io.Writer) error {
	req := map[string]string{"what": what, "format": format}
	return ask.Gather(ctx, l.q.NC, l.names, "export", req, l.spec.Shards, func(raw json.RawMessage) error {
		if raw[0] != '"' { // a JSON line goes out as it came
			if _, err := w.Write(raw); err != nil {
				return err
			}
			_, err := w.Write([]byte{'\n'})
			return err
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return fmt.Errorf("answer to export: %w", err)
		}
		_, err := io.WriteString(w, text)
		return err
	})
}
