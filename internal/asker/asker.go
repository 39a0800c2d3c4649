// Package asker has the crawl as its askers see it: a Crawl, either running or stopped, that
// answers the questions of package questions. The frontier and the indexer have the handlers. Those
// of a running crawl are called over NATS, in each instance that holds shards. Those of a stopped
// crawl are called directly, on its files. Both give the same answers.
//
// The methods of Crawl are the answers that take more than one question, or more than the merging
// of rows: the status with a forecast, the history, the crawl log, a search, an explanation. Every
// other question is asked directly, for example questions.Mirrors.Each(ctx, c, nil, print).
//
// The package also submits to a running crawl what comes from outside: seeds, and hosts and URLs
// that are to be tried again.
package asker

import (
	"context"
	"maps"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Crawl is a crawl that can be asked. Where shards of a running crawl do not answer, the error is
// an ask.ErrIncomplete, and the answer of the others is valid. Its methods may be called from many
// goroutines.
type Crawl struct {
	Spec   crawl.Spec         // as it was when the Crawl was made
	Queue  *queue.Conn        // nil for a stopped crawl
	Bucket jetstream.KeyValue // of the crawl; nil for a stopped one

	files ask.Handlers // nil for a running crawl
	close func() error
}

// Running makes a Crawl of a running crawl. Close closes the connection.
func Running(q *queue.Conn, bucket jetstream.KeyValue, spec crawl.Spec) *Crawl {
	return &Crawl{Spec: spec, Queue: q, Bucket: bucket, close: q.Close}
}

// Stopped makes a Crawl of a stopped crawl, from the handlers of the services that have opened its
// files. Close calls close.
func Stopped(spec crawl.Spec, close func() error, handlers ...ask.Handlers) *Crawl {
	c := &Crawl{Spec: spec, files: ask.Handlers{}, close: close}
	for _, h := range handlers {
		maps.Copy(c.files, h)
	}
	return c
}

// Stopped reports whether the crawl is a stopped one.
func (c *Crawl) Stopped() bool { return c.files != nil }

// Close closes the connection or the files.
func (c *Crawl) Close() error { return c.close() }

// Ask asks all shards, or those listed. Package questions has the questions; their methods call it.
// Objects of the answer of a running crawl are json.RawMessage, and those of a stopped crawl are
// the handlers' own.
func (c *Crawl) Ask(ctx context.Context, question string, req any, shards func(of int) []int, each func(v any) error) error {
	if c.Stopped() {
		return c.files.Ask(ctx, question, req, each)
	}
	return ask.Running{NC: c.Queue.NC, Name: crawl.Names(c.Spec.Name), Shards: c.Spec.Shards}.Ask(ctx, question, req, shards, each)
}
