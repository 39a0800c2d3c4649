// Package asker asks a crawl, puts the answers of its shards together, and hands it what it is told
// from outside: seeds, and hosts that are to be tried again.
//
// A question is answered by handlers that the frontier and the indexer have, one set each
// (ask.Handlers). Of a crawl that runs they are behind NATS, with every instance that holds shards;
// of a crawl at rest they are called directly, on its files. A Crawl is asked in the same way in
// both cases, and says the same.
package asker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Crawl is a crawl that can be asked. Where shards of one that runs do not answer, the error is an
// ask.ErrIncomplete, and what came is valid.
type Crawl struct {
	Spec   crawl.Spec         // as it was when the Crawl was made
	Queue  *queue.Conn        // nil at rest
	Bucket jetstream.KeyValue // the crawl's; nil at rest

	files ask.Handlers // nil while it runs
	close func() error
}

// Running is a crawl that runs. Close closes the connection.
func Running(q *queue.Conn, bucket jetstream.KeyValue, spec crawl.Spec) *Crawl {
	return &Crawl{Spec: spec, Queue: q, Bucket: bucket, close: q.Close}
}

// Stopped is a crawl that does not run, asked by the handlers of those who have opened its files.
// Close calls close.
func Stopped(spec crawl.Spec, close func() error, handlers ...ask.Handlers) *Crawl {
	c := &Crawl{Spec: spec, files: ask.Handlers{}, close: close}
	for _, h := range handlers {
		maps.Copy(c.files, h)
	}
	return c
}

// Stopped reports whether the crawl is one that does not run.
func (c *Crawl) Stopped() bool { return c.files != nil }

// Close ends the connection, or closes the files.
func (c *Crawl) Close() error { return c.close() }

// gather asks a question of all shards and hands on the objects of the answers.
func gather[T any](ctx context.Context, c *Crawl, question string, req any, each func(T) error) error {
	return c.gather(ctx, question, req, decoded(question, each))
}

// gatherOf is gather that waits for some of the shards only.
func gatherOf[T any](ctx context.Context, c *Crawl, question string, req any, wanted []int, each func(T) error) error {
	return c.gatherFrom(ctx, question, req, wanted, decoded(question, each))
}

// decoded is each for objects as they come.
func decoded[T any](question string, each func(T) error) func(any) error {
	return func(v any) error {
		if part, ok := v.(T); ok {
			return each(part)
		}
		part, err := decode[T](question, v)
		if err != nil {
			return err
		}
		return each(part)
	}
}

// gather hands on the objects of the answers: json.RawMessage of a crawl that runs, which is each's
// only until it returns, and the objects themselves from files.
func (c *Crawl) gather(ctx context.Context, question string, req any, each func(any) error) error {
	all := make([]int, c.Spec.Shards)
	for k := range all {
		all[k] = k
	}
	return c.gatherFrom(ctx, question, req, all, each)
}

// gatherFrom is gather that waits for some of the shards of a crawl that runs only.
func (c *Crawl) gatherFrom(ctx context.Context, question string, req any, wanted []int, each func(any) error) error {
	if c.Stopped() {
		return c.files.Ask(ctx, question, req, each)
	}
	return ask.GatherFrom(ctx, c.Queue.NC, crawl.Names(c.Spec.Name), question, req, wanted, c.Spec.Shards, func(raw json.RawMessage) error { return each(raw) })
}

func decode[T any](question string, v any) (part T, err error) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return part, fmt.Errorf("answer to %s: %T instead of %T", question, v, part)
	}
	if err := json.Unmarshal(raw, &part); err != nil {
		return part, fmt.Errorf("answer to %s: %w", question, err)
	}
	return part, nil
}
