package asker

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Indexes is how far each shard that answers is with its search index, by number. The error is an
// ask.ErrIncomplete when some do not.
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
