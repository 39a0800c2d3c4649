package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/steer"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *app) reindexCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Build the search index anew from the stored pages",
		Long: `Build the search index of a crawl anew from its stored pages, shard by shard, beside the one there is, which answers until the
new one takes its place. The answers stay the same; the files become as small as they can be. Meanwhile there must be room on the disk
for the files of a shard three times more.

Of a crawl that runs the indexers do it, with the processor time that search may have; the crawl goes on. ^C ends only the watching.
Of a crawl at rest in --dir this command does it; ^C leaves the shards that are not done with the index they have.`,
		Example: `  curtsy reindex
  curtsy reindex --nats nats://127.0.0.1:4222 --crawl docs`,
		Args: no,
	}
	return configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		if cfg.URL == "" {
			l, err := a.dialEngine(cmd.Context(), cfg.Dir, a.logger(cfg))
			if errors.Is(err, engine.ErrNotRunning) {
				return a.reindexAtRest(cmd.Context(), cfg)
			}
			if err != nil {
				return err
			}
			defer l.Close()
			return a.reindexRunning(cmd.Context(), l, func() bool { return !engine.Alive(cfg.Dir) })
		}
		l, err := a.reach(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		return a.reindexRunning(cmd.Context(), l, func() bool { return false })
	})
}

func (a *app) reindexAtRest(ctx context.Context, cfg *config.Reader) (err error) {
	// Says what to type when there is no crawl, or one that runs.
	from, err := engine.OpenFiles(cfg.Dir)
	if err != nil {
		return err
	}
	if err := from.Close(); err != nil {
		return err
	}
	lock, err := engine.Lock(cfg.Dir)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := frontier.LogAudit(cfg.Dir, steer.ReindexAtRest(me(), nil)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, frontier.LogAudit(cfg.Dir, steer.ReindexAtRest(me(), err)))
		}
	}()
	var pages int64
	line := newStatusLine(a.stderr)
	err = indexer.Reindex(ctx, cfg.Dir, from.Spec.Reindex, a.logger(cfg), func(done, left int64) {
		pages = done
		line.show(func() string {
			return fmt.Sprintf("%s indexed, %s left in this shard", count(done, "page"), humanize.Comma(left))
		})
	})
	line.clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s indexed\n", count(pages, "page"))
	return nil
}
