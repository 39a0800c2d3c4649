package main

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
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
		from, err := openFiles(cfg.Dir) // says what to type when there is no crawl, or one that runs
		if err != nil {
			return err
		}
		if err := from.Close(); err != nil {
			return err
		}
		lock, err := service.LockDir(cfg.Dir, lockFile)
		if err != nil {
			return lockedHint(err)
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
