package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/cobra"
)

func (a *app) datasetsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "datasets", Short: "List the datasets that sites announce in /data.txt", Args: no}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON Lines, one dataset a line")
	return a.reading(cmd, func(cmd *cobra.Command, from answers, _ []string) error {
		if asJSON {
			return from.Datasets(cmd.Context(), func(d crawl.DatasetInfo) error { return a.printJSON(d) })
		}
		t, n := newTable(a.stdout, "ORIGIN", "NAME", "TYPE", "LICENSE", "TITLE", "URL"), int64(0)
		err := from.Datasets(cmd.Context(), func(d crawl.DatasetInfo) error {
			n++
			return t.row(d.Origin, short(d.Name, 40), d.Type, short(d.License, 30), short(d.Title, 50), strings.Join(d.URLs, " "))
		})
		if err != nil {
			return err
		}
		if err := t.flush(); err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.stderr, count(n, "dataset"))
		return err
	})
}

func (f *files) Datasets(_ context.Context, each func(crawl.DatasetInfo) error) error {
	return f.indexer.Datasets(f.frontier.Spec().Agent, each)
}

func (l *live) Datasets(ctx context.Context, each func(crawl.DatasetInfo) error) error {
	return gather(ctx, l, "datasets", nil, each)
}
