package engine

import (
	"context"

	"github.com/curtsy/curtsy/internal/asker"
)

// Followed is the crawl of a Directory, for questions while it starts and stops. It is a
// questions.Crawl. If the crawl starts or stops while a question is answered, the question is asked
// again, and rows may come twice.
type Followed struct{ *Directory }

// Ask is Ask of asker.Crawl.
func (f Followed) Ask(ctx context.Context, question string, req any, shards func(of int) []int, each func(v any) error) error {
	return f.Directory.Ask(ctx, func(ctx context.Context, c *asker.Crawl) error { return c.Ask(ctx, question, req, shards, each) })
}
