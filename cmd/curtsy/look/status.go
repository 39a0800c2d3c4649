package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *commands) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "status", Short: "Show how far a crawl is", Args: app.NoArgs,
		Example: "  curtsy status\n  curtsy status --json --dir ./curtsy-data"}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		st, err := from.Status(cmd.Context())
		if err != nil && len(st.Shards) == 0 {
			return err
		}
		// If some shards do not answer, what the others report is still printed. The error says
		// which are missing.
		if speak, perr := questions.HostsPage.Ask(cmd.Context(), from, crawl.HostsQuery{Has: "usage", Paging: crawl.Paging{Limit: 1}}); perr == nil {
			st.UsageHosts = speak.Matched
		}
		if asJSON {
			return errors.Join(a.PrintJSON(st), err)
		}
		printStatus(a.Stdout, st, lastMinute(cmd.Context(), from, st))
		if purposes := from.Spec.PurposeSet(); purposes.Beyond() {
			fmt.Fprintf(a.Stdout, "for %s: a page whose site forbids all of these uses is not kept\n", purposes)
		}
		return err
	})
}

// lookBack is how much of the history is read to describe the last minute. There is a sample every
// ten seconds.
const lookBack = 65 * time.Second

// lastMinute describes what a running crawl did in the last minute, or since it started; "":
// unknown.
func lastMinute(ctx context.Context, from *asker.Crawl, st crawl.Status) string {
	if st.State != "running" {
		return ""
	}
	h, err := from.History(ctx, lookBack)
	if err != nil || len(h.Samples) < 2 {
		return ""
	}
	return sinceText(h.Samples[0], h.Samples[len(h.Samples)-1])
}

// sinceText describes what was done between two samples.
func sinceText(was, is crawl.HistorySample) string {
	took := is.At.Sub(was.At).Round(time.Second)
	if took < time.Second {
		return ""
	}
	span := "minute"
	if took < 50*time.Second {
		span = term.Count(int64(took.Seconds()), "second")
		if took == time.Second {
			span = "second"
		}
	}
	did := []string{term.Count(max(is.Requests-was.Requests, 0), "request"), term.Count(max(is.Stored-was.Stored, 0), "page") + " stored"}
	if failed := is.Failed - was.Failed; failed > 0 {
		did = append(did, humanize.Comma(failed)+" failed")
	}
	return "in the last " + span + ": " + strings.Join(did, ", ")
}

// printStatus prints a status; lately describes the last minute.
func printStatus(w io.Writer, st crawl.Status, lately string) {
	fmt.Fprintf(w, "%s: %s discovered on %s\n", st.State, term.Count(st.Discovered, "URL"), term.Count(st.Hosts, "host"))
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
		if lately != "" {
			fmt.Fprintln(w, lately)
		}
		fmt.Fprintf(w, "time left: %s\n", service.ETA(st))
	}
	if st.Bottleneck != nil && st.Trouble == "" && st.State != "paused" {
		fmt.Fprintf(w, "%s\n", term.Clean(st.Bottleneck.Sentence))
	}
	if r := st.Round; r != nil {
		is := "began"
		if r.Over {
			is = "is over; it began"
		}
		fmt.Fprintf(w, "round %d %s %s, the next begins %s\n", r.Number, is, r.Began.Local().Format(time.DateTime), term.Clock(r.Next, time.Now()))
	}
	if st.NextAgain != nil {
		fmt.Fprintf(w, "%s asked for again in time, the next %s\n", term.Count(st.Again, "URL"), term.Clock(*st.NextAgain, time.Now()))
	}
	if st.Trouble != "" {
		fmt.Fprintf(w, "paused because %s\n", st.Trouble)
	}
	if st.PagesTrouble != "" {
		fmt.Fprintf(w, "pages are not all stored: %s\n", st.PagesTrouble)
	}
	printTypes(w, st)
	PrintReasons(w, st)
	PrintPostponed(w, st)
	PrintPaused(w, st)
	PrintRendering(w, st)
	if st.MobileRobots != nil {
		fmt.Fprintln(w, robotsText(*st.MobileRobots))
	}
	if st.UsageHosts > 0 {
		fmt.Fprintf(w, "%s in robots.txt how pages may be used: curtsy hosts --has usage\n", countState(st.UsageHosts))
	}
	if st.Limit != "" {
		fmt.Fprintf(w, "ended by a limit: %s\n", st.Limit)
	}
}

// printTypes prints which types of pages can be searched, unless it is HTML alone.
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

// PrintReasons prints why URLs are not stored, failures first. A redirect is not a reason.
func PrintReasons(w io.Writer, st crawl.Status) {
	reasons := service.Reasons(st)
	for _, class := range []crawl.Class{crawl.Failed, crawl.Refused, crawl.Redirected} {
		begun := false
		for _, r := range reasons {
			reason := crawl.Reason(r.Reason)
			if is := reason.Class(); is != class && (is != crawl.Queued || class != crawl.Failed) || reason == crawl.ReasonRedirect {
				continue
			}
			if !begun {
				begun = true
				fmt.Fprintf(w, "%s, by reason:\n", class)
			}
			fmt.Fprintf(w, "  %-12s %8s  %s\n", r.Reason, humanize.Comma(r.N), reason.Words())
		}
	}
}

// countState is "1 host states", or "2 hosts state".
func countState(n int64) string {
	if n == 1 {
		return term.Count(n, "host") + " states"
	}
	return term.Count(n, "host") + " state"
}

// PrintPaused reports hosts whose URLs stay queued because the operator has paused them.
func PrintPaused(w io.Writer, st crawl.Status) {
	if st.PausedHosts > 0 {
		fmt.Fprintf(w, "%s: curtsy hosts --state paused\n", PausedText(st))
	}
}

// PausedText is the number of paused hosts and of their queued URLs.
func PausedText(st crawl.Status) string {
	return fmt.Sprintf("%s paused by the operator, with %s queued", term.Count(st.PausedHosts, "host"), term.Count(st.PausedURLs, "URL"))
}

// PostponedShown is how many postponed hosts are printed for people; --json has all that are in the
// status.
const PostponedShown = 10

// PrintPostponed reports hosts that are postponed, whose URLs stay queued.
func PrintPostponed(w io.Writer, st crawl.Status) {
	if len(st.Postponed) == 0 {
		return
	}
	fmt.Fprintln(w, "postponed hosts (their URLs stay queued; the same command continues with them later):")
	for i, h := range st.Postponed {
		if i == PostponedShown {
			fmt.Fprintf(w, "  and %d more: curtsy hosts --state held\n", len(st.Postponed)-i)
			break
		}
		until := ""
		if !h.Until.IsZero() {
			until = ", until " + h.Until.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, "  %s: %s queued, %s%s\n", h.Host, humanize.Comma(h.Queued), term.Clean(h.Reason), until)
	}
}

// PrintRendering prints how many stored pages need scripts, if any do.
func PrintRendering(w io.Writer, st crawl.Status) {
	r := st.Rendering
	if r.Needed > 0 {
		fmt.Fprintf(w, "%s %s no text without JavaScript; --render auto renders such pages\n", term.Count(r.Needed, "page"), map[bool]string{true: "has", false: "have"}[r.Needed == 1])
	}
	if r.Done > 0 {
		fmt.Fprintf(w, "%s rendered\n", term.Count(r.Done, "page"))
	}
	if r.Failed > 0 {
		fmt.Fprintf(w, "%s could not be rendered; curtsy explain URL shows why\n", term.Count(r.Failed, "page"))
	}
}
