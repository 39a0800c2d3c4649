package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/spf13/cobra"
)

func (a *app) updatesCommand() *cobra.Command {
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
		Args:    no,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines, one site a line")
	cmd.AddCommand(a.unregisterCommand(), a.preferCommand())
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return questions.Updates.Each(cmd.Context(), from, nil, func(u crawl.UpdatesInfo) error { return a.printJSON(u) })
		}
		t, n := newTable(a.stdout, "SITE", "SOURCE", "CHANNEL", "STATE", "SINCE", "LAST", "GAPS", "REPORTED", "COST", "WHY"), int64(0)
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
			return t.row(u.Site, u.Source, u.Channel, u.State, since, last, fmt.Sprint(u.Gaps), told, fmt.Sprint(u.Requests), short(u.Reason, 100))
		})
		err = errors.Join(err, t.flush())
		fmt.Fprintln(a.stderr, count(n, "channel"))
		return err
	})
}

func (a *app) unregisterCommand() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:   "unregister SITE",
		Short: "Ignore the reports of a site, in a running crawl",
		Long: `Ignore the reports of a site. A registration there is ended as soon as the delay of the site
allows it, and the site is not queried any more. Its pages are then fetched again like those of any
other site. --undo accepts reports again.`,
		Example: "  curtsy updates unregister https://docs.example.org/\n  curtsy updates unregister --undo https://docs.example.org/",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := one("site", "https://docs.example.org/")(cmd, args); err != nil {
				return err
			}
			_, err := siteOf(args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "accept the reports of the site again")
	return a.steeringUpdates(cmd, func(s *crawl.Spec, site string, _ []string) (string, error) {
		s.UpdatesOff = slices.DeleteFunc(slices.Clone(s.UpdatesOff), func(o string) bool { return o == site })
		if undo {
			return "reports of " + site + " are accepted again", nil
		}
		s.UpdatesOff = append(s.UpdatesOff, site)
		return "reports of " + site + " are ignored from now on", nil
	})
}

func (a *app) preferCommand() *cobra.Command {
	words := []string{string(rup.Day), string(rup.Week), string(rup.Month), "any"}
	cmd := &cobra.Command{
		Use:     "prefer SITE " + strings.Join(words, "|"),
		Short:   "Set how often a site reports, in a running crawl",
		Long:    `Set how often a site reports its changes. It has an effect if the site offers that interval. With any, --updates-latency decides, as for all sites.`,
		Example: "  curtsy updates prefer https://docs.example.org/ week",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return words, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || !slices.Contains(words, args[1]) {
				return usage("%s needs a site, and one of day, week, month or any; use for example: %s https://docs.example.org/ week", cmd.CommandPath(), cmd.CommandPath())
			}
			_, err := siteOf(args[0])
			return err
		},
	}
	return a.steeringUpdates(cmd, func(s *crawl.Spec, site string, args []string) (string, error) {
		s.UpdatesPrefer = maps.Clone(s.UpdatesPrefer)
		if args[1] == "any" {
			delete(s.UpdatesPrefer, site)
			return site + " reports as often as any other site", nil
		}
		if s.UpdatesPrefer == nil {
			s.UpdatesPrefer = map[string]string{}
		}
		s.UpdatesPrefer[site] = args[1]
		return site + " is asked to report once a " + args[1], nil
	})
}

// steeringUpdates is a command that changes the settings for a site; its shard does the rest.
func (a *app) steeringUpdates(cmd *cobra.Command, change func(s *crawl.Spec, site string, args []string) (string, error)) *cobra.Command {
	cfg := config.NewReader()
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, _ *config.Source) error {
		site, err := siteOf(args[0])
		if err != nil {
			return err
		}
		l, err := a.reach(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		said, err := control.Updates(cmd.Context(), l, me(), site, func(s crawl.Spec) (crawl.Spec, string, error) {
			said, err := change(&s, site.String(), args)
			return s, said, err
		})
		if err == nil {
			_, err = fmt.Fprintln(a.stdout, said)
		}
		return err
	})
}

// siteOf is the origin that a person names, by any URL of it.
func siteOf(arg string) (canon.Origin, error) {
	if !strings.Contains(arg, "://") {
		arg = "https://" + arg
	}
	u, err := canon.Parse(arg)
	if err != nil {
		return canon.Origin{}, usage("%s is not a site: %v; use for example https://docs.example.org/", arg, err)
	}
	return u.Origin(), nil
}
