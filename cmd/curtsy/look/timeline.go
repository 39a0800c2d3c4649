package look

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/spf13/cobra"
)

func (a *commands) timelineCommand() *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:     "timeline HOST",
		Short:   "Show the last requests to a host and the pauses between them",
		Example: "  curtsy timeline docs.example.org",
		Args:    app.OneHost,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return app.Usage("--limit %d is negative; use for example --limit 20, or 0 for all", limit)
			}
			return app.IsHost(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().IntVar(&limit, "limit", 0, "show the last `N` requests (0: all that are stored, which are 512 or more)")
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, args []string) error {
		host, err := app.TypedHost(args[0])
		if err != nil {
			return err
		}
		t, known, err := questions.Timeline.Ask(cmd.Context(), from, questions.TimelineRequest{Host: host, Limit: limit})
		switch {
		case err != nil:
			return err
		case !known:
			return fmt.Errorf("the crawl does not know the host %q; to list all hosts: curtsy hosts%s", host, a.About)
		case asJSON:
			return a.PrintJSON(t)
		}
		return printTimeline(a.Stdout, t)
	})
}

// printTimeline prints a line for each request, and one for each period in which a fetcher may have
// sent requests that it did not report.
func printTimeline(w io.Writer, t crawl.Timeline) error {
	if len(t.Requests) == 0 && len(t.Unknown) == 0 {
		_, err := fmt.Fprintf(w, "no request to %s has been recorded yet\n", term.Clean(t.Host))
		return err
	}
	table := term.NewTable(w, "START", "TOOK", "PAUSE", "OWED", "BY", "KIND", "STATUS", "BYTES", "URL")
	unknown := t.Unknown
	gap := func(before time.Time) error {
		for ; len(unknown) > 0 && (before.IsZero() || unknown[0].From.Before(before)); unknown = unknown[1:] {
			u := unknown[0]
			err := table.Row(instant(u.From), term.Seconds(u.To.Sub(u.From)), "", "", "", "", "", "", "unknown: the fetcher did not report what it sent")
			if err != nil {
				return err
			}
		}
		return nil
	}
	var end time.Time
	for _, r := range t.Requests {
		if err := gap(r.Start); err != nil {
			return err
		}
		pause, took, status := "", term.Seconds(r.End.Sub(r.Start)), strconv.Itoa(r.Status)
		if !end.IsZero() {
			pause = term.Seconds(r.Start.Sub(end))
		}
		switch {
		case r.Cut:
			took, status = "", "cut"
		case r.Unsent:
			status = "unsent"
		case r.Status == 0:
			status = "none"
		}
		err := table.Row(instant(r.Start), took, pause, strconv.FormatFloat(r.BoundS, 'g', 4, 64)+"s", r.BoundSource, r.Kind, status,
			strconv.FormatInt(r.Bytes, 10), cmp.Or(r.URL, "forgotten"))
		if err != nil {
			return err
		}
		end = r.End
	}
	if err := gap(time.Time{}); err != nil {
		return err
	}
	return table.Flush()
}

// instant is the time of a request.
func instant(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
