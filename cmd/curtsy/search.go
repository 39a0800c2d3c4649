package main

import (
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/cobra"
)

func (a *app) searchCommand() *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:     "search WORDS",
		Short:   "Look words up in the stored pages",
		Example: "  curtsy search \"vacuum freeze\"\n  curtsy search --json --limit 3 event loop",
		Args: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, "")) == "" {
				return usage("search for what? for example: curtsy search \"event loop\"")
			}
			if limit < 1 || limit > 1000 {
				return usage("--limit %d: use 1 to 1000", limit)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON Lines, one hit a line")
	cmd.Flags().IntVar(&limit, "limit", 10, "show at most `N` hits")
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, args []string) error {
		ans, err := from.Search(cmd.Context(), crawl.SearchRequest{Query: strings.Join(args, " "), Limit: limit})
		if err != nil && len(ans.Hits) == 0 {
			return err
		}
		if !asJSON {
			a.printHits(ans)
			return err
		}
		for _, h := range ans.Hits {
			if err := a.printJSON(h); err != nil {
				return err
			}
		}
		return err
	})
}

// printHits shows hits to a person.
func (a *app) printHits(ans crawl.SearchAnswer) {
	for i, h := range ans.Hits {
		title := clean(h.Title)
		if title == "" {
			title = "(no title)"
		}
		fmt.Fprintf(a.stdout, "%d. %s\n   %s\n", i+1, title, h.URL)
		if h.Snippet != nil && *h.Snippet != "" {
			fmt.Fprintf(a.stdout, "   %s\n", clean(*h.Snippet))
		}
		if len(h.Also) > 0 {
			fmt.Fprintf(a.stdout, "   also at %s\n", strings.Join(h.Also, " "))
		}
	}
	if len(ans.Hits) == 0 {
		fmt.Fprintln(a.stderr, "nothing found")
	}
	if ans.Behind > 0 {
		fmt.Fprintf(a.stderr, "the index is %s behind the crawl\n", count(ans.Behind, "page"))
	}
}
