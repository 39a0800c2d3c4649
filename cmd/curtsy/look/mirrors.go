package look

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/spf13/cobra"
)

func (a *commands) mirrorsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "mirrors",
		Short: "List mirrors, with the evidence for each",
		Long: `List the origins that name a main mirror in their robots.txt (Host:), and those that proved to
be another name of a site: because all their pages have moved there, or because they serve the same
pages with and without www. The column STATE is one of:

  main         the origin names itself
  mirror       it is a mirror of MAIN: its pages are stored under the URLs of
               MAIN; the column EVIDENCE shows how that is known
  unconfirmed  it names MAIN, but there is no other evidence (see WHY); its
               pages are not fetched, as its robots.txt demands`,
		Example: "  curtsy mirrors\n  curtsy mirrors --json",
		Args:    app.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one origin a line")
	return a.Reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return questions.Mirrors.Each(cmd.Context(), from, nil, func(m crawl.MirrorInfo) error { return a.PrintJSON(m) })
		}
		t, n := term.NewTable(a.Stdout, "ORIGIN", "STATE", "MAIN", "EVIDENCE", "SINCE", "WHY"), int64(0)
		err := questions.Mirrors.Each(cmd.Context(), from, nil, func(m crawl.MirrorInfo) error {
			n++
			why := m.Reason
			if m.Detail != "" {
				why += ": " + term.Short(m.Detail, 100)
			}
			return t.Row(m.Origin, m.State, m.Main, cmp.Or(m.Evidence, "-"), m.Since.Local().Format(time.DateTime), why)
		})
		err = errors.Join(err, t.Flush())
		fmt.Fprintln(a.Stderr, term.Count(n, "origin"))
		return err
	})
}
