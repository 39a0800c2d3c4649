package look

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/spf13/cobra"
)

func (a *commands) pagesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "pages", Short: "List the stored pages", Args: app.NoArgs, Example: "  curtsy pages\n  curtsy pages --json > pages.jsonl"}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one page a line")
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return questions.Pages.Each(cmd.Context(), from, nil, func(p crawl.PageInfo) error { return a.PrintJSON(p) })
		}
		t, n := term.NewTable(a.Stdout, "STATUS", "SIZE", "TYPE", "DEPTH", "URL", "TITLE"), int64(0)
		err := questions.Pages.Each(cmd.Context(), from, nil, func(p crawl.PageInfo) error {
			n++
			return t.Row(strconv.Itoa(p.Status), term.SizeText(p.Size), p.ContentType, strconv.Itoa(p.Depth), p.URL, term.Short(p.Title, 60))
		})
		err = errors.Join(err, t.Flush())
		fmt.Fprintln(a.Stderr, term.Count(n, "page"))
		return err
	})
}
