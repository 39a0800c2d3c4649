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
	var asJSON, fields bool
	cmd := &cobra.Command{Use: "pages", Short: "List the stored pages", Args: app.NoArgs, Example: "  curtsy pages\n  curtsy pages --fields\n  curtsy pages --json > pages.jsonl"}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one page a line")
	cmd.Flags().BoolVar(&fields, "fields", false, "also show the fields that site rules found")
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return questions.Pages.Each(cmd.Context(), from, nil, func(p crawl.PageInfo) error { return a.PrintJSON(p) })
		}
		head := []string{"STATUS", "SIZE", "TYPE", "DEPTH", "URL", "TITLE"}
		if fields {
			head = append(head, "FIELDS")
		}
		t, n := term.NewTable(a.Stdout, head...), int64(0)
		err := questions.Pages.Each(cmd.Context(), from, nil, func(p crawl.PageInfo) error {
			n++
			row := []string{strconv.Itoa(p.Status), term.SizeText(p.Size), p.ContentType, strconv.Itoa(p.Depth), p.URL, term.Short(p.Title, 60)}
			if fields {
				row = append(row, FieldsLine(p.Fields))
			}
			return t.Row(row...)
		})
		err = errors.Join(err, t.Flush())
		fmt.Fprintln(a.Stderr, term.Count(n, "page"))
		return err
	})
}
