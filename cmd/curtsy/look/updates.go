package look

import (
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/control"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/spf13/cobra"
)

func (a *commands) updatesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "updates",
		Short: "List the sites that report their changes",
		Long: `List the sites that report their changes, a line for each way in which they do: with --recrawl
by the Remote Update Protocol (/rupinfo.txt), by feeds and by the dates in sitemaps; with
--updates-indexnow by IndexNow; with --updates-websub by the WebSub hubs of feeds.

  CHANNEL  mail: the site mails reports; http: IndexNow or a hub sends them;
           poll: we query the site; none: see STATE and WHY
  LAST     number of the last report, and when it arrived; +N: N are missing
  REPORTED URLs that were reported / queued earlier or new because of it /
           fetched since / changed / not changed (wrong)
  COST     requests for reports, feeds, sitemaps, key files and hubs, without
           those for the pages in REPORTED`,
		Example: "  curtsy updates\n  curtsy updates --json",
		Args:    app.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one site a line")
	cmd.AddCommand(control.ActionsUnder(a.App, "updates")...)
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return questions.Updates.Each(cmd.Context(), from, nil, func(u crawl.UpdatesInfo) error { return a.PrintJSON(u) })
		}
		t, n := term.NewTable(a.Stdout, "SITE", "SOURCE", "CHANNEL", "STATE", "SINCE", "LAST", "GAPS", "REPORTED", "COST", "WHY"), int64(0)
		err := questions.Updates.Each(cmd.Context(), from, nil, func(u crawl.UpdatesInfo) error {
			n++
			since, last := "-", "-"
			if u.Since != nil {
				since = u.Since.Local().Format(time.DateTime)
			}
			if l := u.LastReport; l != nil {
				last = l.At.Local().Format(time.DateTime)
				if u.Channel == "mail" {
					last = fmt.Sprintf("%d, %s", u.LastSequence, last)
				}
			}
			if u.Missing > 0 {
				last += fmt.Sprintf(" +%d", u.Missing)
			}
			told := fmt.Sprintf("%d/%d/%d/%d/%d", u.Reported, u.Sooner, u.Looked, u.Confirmed, u.Wrong)
			return t.Row(u.Site, u.Source, u.Channel, u.State, since, last, fmt.Sprint(u.Gaps), told, fmt.Sprint(u.Requests), term.Short(u.Reason, 100))
		})
		err = errors.Join(err, t.Flush())
		fmt.Fprintln(a.Stderr, term.Count(n, "channel"))
		return err
	})
}
