package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/spf13/cobra"
)

func (a *app) pagesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "pages", Short: "List the stored pages", Args: no, Example: "  curtsy pages\n  curtsy pages --json > pages.jsonl"}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one page a line")
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return questions.Pages.Each(cmd.Context(), from, nil, func(p crawl.PageInfo) error { return a.printJSON(p) })
		}
		t, n := newTable(a.stdout, "STATUS", "SIZE", "TYPE", "DEPTH", "URL", "TITLE"), int64(0)
		err := questions.Pages.Each(cmd.Context(), from, nil, func(p crawl.PageInfo) error {
			n++
			return t.row(strconv.Itoa(p.Status), sizeText(p.Size), p.ContentType, strconv.Itoa(p.Depth), p.URL, short(p.Title, 60))
		})
		err = errors.Join(err, t.flush())
		fmt.Fprintln(a.stderr, count(n, "page"))
		return err
	})
}
