package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *commands) reindexCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Build the search index again from the stored pages",
		Long: `Build the search index of a crawl again from its stored pages, shard by shard. The old index of
a shard answers queries until the new one replaces it. The answers stay the same; the files become
as small as possible. The disk needs free space for three times the files of one shard.

In a running crawl the indexers do the work, and the crawl continues; ^C only ends the progress
display. In a crawl that is not running, this command does the work; after ^C, the remaining shards
keep their old index.`,
		Example: `  curtsy reindex
  curtsy reindex --nats nats://127.0.0.1:4222 --crawl docs`,
		Args: app.NoArgs,
	}
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		ended := func() bool { return cfg.URL == "" && !engine.Alive(cfg.Dir) }
		return a.onCrawl(cmd.Context(), cfg,
			func(l *asker.Crawl) error { return a.reindexRunning(cmd.Context(), l, ended) },
			func() error { return a.reindexStopped(cmd.Context(), cfg) })
	})
}

func (a *commands) reindexStopped(ctx context.Context, cfg *config.Reader) (err error) {
	// Its error says what to type if there is no crawl, or if it runs.
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
	if err := frontier.LogAudit(cfg.Dir, control.ReindexStopped(app.Me(), nil)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, frontier.LogAudit(cfg.Dir, control.ReindexStopped(app.Me(), err)))
		}
	}()
	var pages int64
	line := term.NewStatusLine(a.Stderr)
	err = indexer.Reindex(ctx, cfg.Dir, &from.Spec, a.Logger(cfg), func(done, left int64) {
		pages = done
		line.Show(func() string {
			return fmt.Sprintf("%s indexed, %s left in this shard", term.Count(done, "page"), humanize.Comma(left))
		})
	})
	line.Clear()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s indexed\n", term.Count(pages, "page"))
	return nil
}
