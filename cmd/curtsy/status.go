package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

// reading makes a command that opens a crawl and prints something of it.
func (a *app) reading(cmd *cobra.Command, run func(cmd *cobra.Command, from *asker.Crawl, args []string) error) *cobra.Command {
	cfg := config.NewReader()
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		from, err := a.open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer from.Close()
		return partly(run(cmd, from, args), func(shards []int) int64 { return from.StoredIn(cmd.Context(), shards) })
	})
}

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "status", Short: "Show how far a crawl is", Args: no,
		Example: "  curtsy status\n  curtsy status --json --dir ./curtsy-data"}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		st, err := from.Status(cmd.Context())
		if err != nil && len(st.Shards) == 0 {
			return err
		}
		// With shards that do not answer, what the others say is wanted all the more; the error
		// says which are missing.
		// Without it the rest is as true.
		if speak, perr := from.HostsPage(cmd.Context(), crawl.HostsQuery{Has: "usage", Paging: crawl.Paging{Limit: 1}}); perr == nil {
			st.UsageHosts = speak.Matched
		}
		if asJSON {
			return errors.Join(a.printJSON(st), err)
		}
		printStatus(a.stdout, st)
		if purposes := from.Spec.PurposeSet(); purposes.Beyond() {
			fmt.Fprintf(a.stdout, "for %s: what its site forbids all of that is not kept\n", purposes)
		}
		return err
	})
}

func printStatus(w io.Writer, st crawl.Status) {
	fmt.Fprintf(w, "%s: %s discovered on %s\n", st.State, count(st.Discovered, "URL"), count(st.Hosts, "host"))
	for _, c := range []struct {
		name string
		n    int64
	}{
		{"queued", st.Queued}, {"in flight", st.InFlight}, {"stored", st.Stored},
		{"redirected", st.Redirected}, {"refused", st.Refused}, {"failed", st.Failed},
	} {
		fmt.Fprintf(w, "  %-10s %10s\n", c.name, humanize.Comma(c.n))
	}
	if st.State == "running" {
		fmt.Fprintf(w, "%.1f URLs a second, time left: %s\n", st.Rate, service.ETA(st))
	}
	if st.Bottleneck != nil && st.Trouble == "" && st.State != "paused" {
		fmt.Fprintf(w, "%s\n", clean(st.Bottleneck.Sentence))
	}
	if r := st.Round; r != nil {
		is := "began"
		if r.Over {
			is = "is over; it began"
		}
		fmt.Fprintf(w, "round %d %s %s, the next begins %s\n", r.Number, is, r.Began.Local().Format(time.DateTime), clock(r.Next, time.Now()))
	}
	if st.NextAgain != nil {
		fmt.Fprintf(w, "%s asked for again in time, the next %s\n", count(st.Again, "URL"), clock(*st.NextAgain, time.Now()))
	}
	if st.Trouble != "" {
		fmt.Fprintf(w, "paused because %s\n", st.Trouble)
	}
	if st.PagesTrouble != "" {
		fmt.Fprintf(w, "pages are not all stored: %s\n", st.PagesTrouble)
	}
	printTypes(w, st)
	printReasons(w, st)
	printHeld(w, st)
	printPaused(w, st)
	if st.UsageHosts > 0 {
		fmt.Fprintf(w, "%s in robots.txt what pages may be used for: curtsy hosts --has usage\n", countSay(st.UsageHosts))
	}
	if st.Limit != "" {
		fmt.Fprintf(w, "ended by a limit: %s\n", st.Limit)
	}
}

// printTypes tells what search has, unless that is HTML alone.
func printTypes(w io.Writer, st crawl.Status) {
	types := service.PageTypes(st)
	if len(types) == 0 || len(types) == 1 && types[0].Type == "html" {
		return
	}
	var words []string
	for _, t := range types {
		words = append(words, t.Type+" "+humanize.Comma(t.N))
	}
	fmt.Fprintf(w, "search has: %s\n", strings.Join(words, ", "))
}

func printReasons(w io.Writer, st crawl.Status) {
	reasons := service.Reasons(st)
	if len(reasons) == 0 {
		return
	}
	fmt.Fprintln(w, "not stored, by reason:")
	for _, r := range reasons {
		fmt.Fprintf(w, "  %-10s %10s\n", r.Reason, humanize.Comma(r.N))
	}
}

// countSay is "1 host says", or "2 hosts say".
func countSay(n int64) string {
	if n == 1 {
		return count(n, "host") + " says"
	}
	return count(n, "host") + " say"
}

// printPaused tells of hosts whose URLs stay queued because the operator has paused them.
func printPaused(w io.Writer, st crawl.Status) {
	if st.PausedHosts > 0 {
		fmt.Fprintf(w, "%s paused by the operator, with %s queued: curtsy hosts --state paused\n", count(st.PausedHosts, "host"), count(st.PausedURLs, "URL"))
	}
}

// heldShown is how many held hosts people are shown; --json has all that the status has.
const heldShown = 10

func printHeld(w io.Writer, st crawl.Status) {
	if len(st.Held) == 0 {
		return
	}
	fmt.Fprintln(w, "hosts on hold (their URLs stay queued; the same command goes on with them later):")
	for i, h := range st.Held {
		if i == heldShown {
			fmt.Fprintf(w, "  and %d more: curtsy hosts\n", len(st.Held)-i)
			break
		}
		until := ""
		if !h.Until.IsZero() {
			until = ", until " + h.Until.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "  %s: %s queued, %s%s\n", h.Host, humanize.Comma(h.Queued), clean(h.Reason), until)
	}
}
