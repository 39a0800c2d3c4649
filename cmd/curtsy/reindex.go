package main

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/spf13/cobra"
)

func (a *app) reindexCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Build the search index anew from the stored pages",
		Long:  "Build the search index of a crawl that does not run anew from its stored pages. ^C stops it; the next crawl goes on with it.",
		Args:  no,
	}
	return configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		if engine.Alive(cfg.Dir) {
			return fmt.Errorf("a crawl runs in %[1]s and keeps its search index itself; to build that anew, stop the crawl with: curtsy stop --dir %[1]s, "+
				"then: curtsy reindex --dir %[1]s; the same curtsy crawl then goes on", cfg.Dir)
		}
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
		var pages int64
		person := config.Terminal(a.stdout)
		err = indexer.Reindex(cmd.Context(), cfg.Dir, cfg.Logger(a.stderr), func(done, left int64) {
			if pages = done; person {
				fmt.Fprintf(a.stdout, "%s%s indexed, %d to go in this shard", clearLine, count(done, "page"), left)
			}
		})
		if person {
			fmt.Fprint(a.stdout, clearLine)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s indexed\n", count(pages, "page"))
		return nil
	})
}
