package tune

import (
	"errors"
	"fmt"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/spf13/cobra"
)

const (
	// maxQueries is how many queries a preview asks.
	maxQueries = 1000
	// maxQueriesFile is how many bytes the file of --queries has at most.
	maxQueriesFile = maxQueries * (query.MaxBytes + 1)
	// usualQueries is how many queries of the report are asked if none are given.
	usualQueries = 20
)

// previewed is what changes for one query. --json prints it.
type previewed struct {
	Query   string       `json:"query"`
	Changed bool         `json:"changed"`
	Hits    []asker.Move `json:"hits"`
}

func (a *commands) previewCommand() *cobra.Command {
	var file string
	var asJSON bool
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "preview FILE [QUERY…]",
		Short: "Show what other search rules would change",
		Long: `Show for queries the first ten results by the search rules in a file, and how each has moved
against the rules of the crawl. Nothing is changed. The queries are arguments (put each in quotes
for the shell), or lines of the file in --queries. Without any, they are the 20 most frequent ones
of those that were recorded in --dir with --query-report.`,
		Annotations: cli.ExitCodes("0 The preview was printed.", "1 The crawl does not answer.", "2 The command line or the file is wrong."),
		Example: `  curtsy search-rules preview search.yaml
  curtsy search-rules preview search.yaml "install windows" upgrade
  curtsy search-rules preview search.yaml --queries frequent.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usage(`preview needs a file of search rules; use for example: curtsy search-rules preview search.yaml "install windows"`)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "queries", "", "read queries from this `FILE`, one a line")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one query a line")
	return a.ReadingWith(cmd, cfg, func(cmd *cobra.Command, from *asker.Crawl, args []string) error {
		rules, _, err := readRules(args[0])
		if err != nil {
			return err
		}
		var queries []string
		if len(args) == 1 && file == "" {
			queries, err = frequent(cfg.Dir, args[0])
		} else {
			queries, err = queriesOf(args[1:], file)
		}
		if err != nil {
			return err
		}
		changed := 0
		for _, q := range queries {
			p := previewed{Query: q}
			var err error
			if p.Hits, p.Changed, err = from.Moves(cmd.Context(), q, rules); err != nil {
				return err
			}
			if p.Changed {
				changed++
			}
			if asJSON {
				err = a.PrintJSON(p)
			} else {
				err = a.printMoves(p)
			}
			if err != nil {
				return err
			}
		}
		if asJSON {
			return nil
		}
		_, err = fmt.Fprintf(a.Stdout, "%d of %d queries would change\n", changed, len(queries))
		return err
	})
}

// frequent are the most frequent queries that were recorded in a data directory. rules is the name
// of the file of a preview, for the error if there are none.
func frequent(dir, rules string) (some []string, err error) {
	all, err := queryreport.Read(queryreport.File(dir), 0)
	if err != nil && !errors.Is(err, queryreport.ErrNone) {
		return nil, err
	}
	if len(all) == 0 {
		return nil, app.Usage(`preview needs queries, and none are recorded in %s; use for example: curtsy search-rules preview %s "install windows", or --queries FILE; to record what is searched for, run curtsy serve --query-report --dir %s`,
			queryreport.File(dir), rules, dir)
	}
	all = queryreport.Select(all, queryreport.Frequent)
	for _, q := range all[:min(len(all), usualQueries)] {
		some = append(some, q.Query)
	}
	return some, nil
}

// queriesOf are the queries of a preview: the arguments, and the lines of a file.
func queriesOf(args []string, file string) (all []string, err error) {
	all = args
	if file != "" {
		b, err := readFile(file, maxQueriesFile)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				all = append(all, line)
			}
		}
	}
	switch {
	case len(all) == 0:
		return nil, app.Usage("%s has no queries; write one a line", file)
	case len(all) > maxQueries:
		return nil, app.Usage("these are more than %d queries; use the most frequent ones", maxQueries)
	}
	return all, nil
}

// printMoves prints what changes for a query.
func (a *commands) printMoves(p previewed) error {
	w := a.Stdout
	if !p.Changed {
		_, err := fmt.Fprintf(w, "%s: no change\n", term.Clean(p.Query))
		return err
	}
	fmt.Fprintf(w, "%s:\n", term.Clean(p.Query))
	for _, m := range p.Hits {
		rank, how := fmt.Sprint(m.Is), m.Text()
		if m.Is == 0 {
			rank = "-"
		}
		if m.Pinned {
			how += ", pinned"
		}
		if _, err := fmt.Fprintf(w, "%4s  %-14s  %s\n", rank, how, term.Clean(m.URL)); err != nil {
			return err
		}
	}
	return nil
}
