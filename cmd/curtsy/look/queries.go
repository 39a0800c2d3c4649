package look

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/spf13/cobra"
)

func (a *commands) queriesCommand() *cobra.Command {
	var asJSON, none, unopened bool
	days, limit := 30, 20
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "queries",
		Short: "List what is searched for",
		Long: `List the queries that were recorded, the most frequent first: how often each was asked and found
nothing, how many pages the last answer had, and which hits were opened. Queries are recorded only
by processes that run with --query-report, and nothing is recorded about who asks.`,
		Example: "  curtsy queries\n  curtsy queries --no-results --days 7\n  curtsy queries --not-opened --json",
		Args:    app.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one query a line")
	cmd.Flags().BoolVar(&none, "no-results", false, "list those that found nothing")
	cmd.Flags().BoolVar(&unopened, "not-opened", false, "list those of which no hit was opened")
	cmd.Flags().IntVar(&days, "days", days, "of the last `N` days, today included")
	cmd.Flags().IntVar(&limit, "limit", limit, "list at most `N` queries")
	return app.Configured(cmd, cfg, func(_ *cobra.Command, _ []string, _ *config.Source) error {
		which := queryreport.Frequent
		switch {
		case none && unopened:
			return app.Usage("--no-results and --not-opened cannot be used together; use one of them")
		case days < 1 || days > queryreport.MaxDays:
			return app.Usage("--days %d is out of range; use 1 to %d, for example --days 30", days, queryreport.MaxDays)
		case limit < 1:
			return app.Usage("--limit %d is out of range; use for example --limit 20", limit)
		case none:
			which = queryreport.NoResults
		case unopened:
			which = queryreport.NotOpened
		}
		all, err := queryreport.Read(queryreport.File(cfg.Dir), days)
		if errors.Is(err, queryreport.ErrNone) {
			return fmt.Errorf("%w: %s does not exist; to record queries, run curtsy serve --query-report --dir %s", err, queryreport.File(cfg.Dir), cfg.Dir)
		}
		if err != nil {
			return err
		}
		return a.printQueries(queryreport.Select(all, which), limit, asJSON)
	})
}

func (a *commands) printQueries(all []queryreport.Query, limit int, asJSON bool) error {
	some := all[:min(len(all), limit)]
	if asJSON {
		for _, q := range some {
			if err := a.PrintJSON(q); err != nil {
				return err
			}
		}
		return nil
	}
	t := term.NewTable(a.Stdout, "QUERY", "ASKED", "NO RESULTS", "PAGES", "OPENED", "LAST", "MOST OPENED HIT")
	for _, q := range some {
		most := "-"
		if len(q.Opened) > 0 {
			most = fmt.Sprintf("%d. %s", q.Opened[0].Rank, term.Short(q.Opened[0].URL, 100))
		}
		if err := t.Row(term.Short(q.Query, 60), fmt.Sprint(q.Asked), fmt.Sprint(q.None), fmt.Sprint(q.Total), fmt.Sprint(q.Opens), q.Last, most); err != nil {
			return err
		}
	}
	err := t.Flush()
	fmt.Fprintf(a.Stderr, "%d of %d queries\n", len(some), len(all))
	return err
}

// RecordQueries makes what records the searches of a process, and a function that writes them until
// its context ends. Without on, nothing is recorded.
func RecordQueries(on bool, dir string, log *slog.Logger) (search.Recorder, func(context.Context) error) {
	if !on {
		return nil, func(context.Context) error { return nil }
	}
	r := queryreport.New(dir, log)
	return r, r.Run
}
