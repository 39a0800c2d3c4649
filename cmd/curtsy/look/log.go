package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/spf13/cobra"
)

// followEvery is how often new lines are asked for. Frontiers write them four times a second.
const followEvery = 500 * time.Millisecond

func (a *commands) logCommand() *cobra.Command {
	var q crawl.LogQuery
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show the newest lines of the crawl log",
		Long: `Show the newest lines of the crawl log: URLs that were fetched or refused, and who changed what
in the crawl. With --follow, new lines are printed as they are written.`,
		Example: `  curtsy log --follow
  curtsy log --host docs.example.org --class failed`,
		Args: app.NoArgs,
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "print new lines too, as long as the crawl runs")
	f.StringVar(&q.Host, "host", "", "only lines about this `HOST`")
	f.StringVar(&q.Class, "class", "", "only lines of this `CLASS`: "+strings.Join(crawl.LogClasses, ", "))
	f.StringVar(&q.Reason, "reason", "", "only lines with this `REASON`: robots, http-4xx, and so on")
	f.IntVar(&q.Limit, "limit", crawl.DefaultLimit, fmt.Sprintf("start with the last `N` lines, 1 to %d", crawl.MaxLogLimit))
	f.BoolVar(&asJSON, "json", false, "print JSON Lines")
	cli.Completes(cmd, "class", crawl.LogClasses...)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if q.Limit < 1 || q.Limit > crawl.MaxLogLimit {
			return app.Usage("--limit %d is out of range; use 1 to %d, for example --limit 50", q.Limit, crawl.MaxLogLimit)
		}
		return app.KnownWord("class", q.Class, crawl.LogClasses)
	}
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		print := a.printLogLine
		if asJSON {
			print = func(l crawl.LogLine) error { return a.PrintJSON(l) }
		}
		page, err := a.lastLines(cmd.Context(), from, q)
		for _, l := range page.Lines {
			if perr := print(l); perr != nil {
				return perr
			}
		}
		if !follow || err != nil && !errors.Is(err, ask.ErrIncomplete) {
			return err
		}
		if from.Stopped() {
			fmt.Fprintln(a.Stderr, "the crawl is not running, so there are no new lines to wait for")
			return nil
		}
		return followLog(cmd.Context(), from, q, page.After, print)
	})
}

// backwards bounds how many parts of the log are looked at for as many lines as are wanted.
const backwards = 64

// lastLines are the last lines wanted, looked for from the end of the log on.
func (a *commands) lastLines(ctx context.Context, from *asker.Crawl, q crawl.LogQuery) (page crawl.LogPage, err error) {
	wanted := q.Limit
	for n := range backwards {
		part, perr := from.Log(ctx, q)
		if err = cmp.Or(err, perr); perr != nil && !errors.Is(perr, ask.ErrIncomplete) {
			return page, perr
		}
		page.Lines = append(part.Lines, page.Lines...)
		if n == 0 {
			page.After = part.After
		}
		page.Before = part.Before
		if q.Before = part.Before; part.Before == "" || len(page.Lines) >= wanted {
			return page, err
		}
		q.Limit = wanted - len(page.Lines)
	}
	fmt.Fprintln(a.Stderr, "only the last part of the crawl log was searched; the whole log is in crawl.jsonl")
	return page, err
}

// followLog prints new lines until the crawl ends.
func followLog(ctx context.Context, from *asker.Crawl, q crawl.LogQuery, after string, print func(crawl.LogLine) error) error {
	q.Limit = crawl.MaxLogLimit
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		q.After = after
		page, err := from.Log(ctx, q)
		for _, l := range page.Lines {
			if perr := print(l); perr != nil {
				return perr
			}
		}
		switch {
		case err == nil || errors.Is(err, ask.ErrIncomplete) && ctx.Err() == nil && !from.Queue.NC.IsClosed():
			after = page.After
		case errors.Is(err, ask.ErrNobody) || from.Queue.NC.IsClosed():
			return nil // it has ended
		default:
			return err
		}
		if len(page.Lines) == q.Limit {
			continue // there are more
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// printLogLine prints a line for people.
func (a *commands) printLogLine(l crawl.LogLine) error {
	_, err := fmt.Fprintln(a.Stdout, term.Clean(logText(l, true)))
	return err
}

// logText is a line of the crawl log for people, with or without the URL it is about.
func logText(l crawl.LogLine, url bool) string {
	parts := []string{l.Time.Local().Format(time.DateTime), fmt.Sprintf("%-10s", l.Class())}
	if l.Audit != "" {
		parts = append(parts, l.Audit, l.What, l.Detail)
		if l.Who != "" {
			parts = append(parts, "by "+l.Who)
		}
		if l.From != "" {
			parts = append(parts, "from "+l.From)
		}
		if l.At != nil && l.Time.Sub(*l.At) >= time.Minute { // it waited for a frontier
			parts = append(parts, "on "+l.At.Local().Format(time.DateTime))
		}
		parts = append(parts, l.Error)
	} else {
		status := "-"
		if l.Status != 0 {
			status = strconv.Itoa(l.Status)
		}
		parts = append(parts, fmt.Sprintf("%-3s", status))
		if url {
			parts = append(parts, l.URL)
		}
		if why := strings.TrimPrefix(l.Reason+": "+l.Detail, ": "); why != "" {
			parts = append(parts, "("+strings.TrimSuffix(why, ": ")+")")
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}
