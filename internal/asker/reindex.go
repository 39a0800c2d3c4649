package asker

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Indexes is the state of the search index of each shard, by the number of the shard. The error is
// an ask.ErrIncomplete when some shards do not answer.
func (c *Crawl) Indexes(ctx context.Context) (all map[int]crawl.IndexBuild, err error) {
	all = map[int]crawl.IndexBuild{}
	err = indexers(ctx, c.Queue, c.Spec, func(part crawl.IndexerStatus) {
		for _, k := range part.Shards {
			if _, there := all[k]; !there {
				all[k] = crawl.IndexBuild{Shard: k}
			}
		}
		for _, b := range part.Indexes {
			all[b.Shard] = b
		}
	})
	return all, err
}
