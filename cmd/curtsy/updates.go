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
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/steer"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/spf13/cobra"
)

func (a *app) updatesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "updates",
		Short: "List the sites that tell what changed on them, and what came of that",
		Long: `List the sites that tell what changed on them, a line for each way by which they do: with --recrawl by the Remote Update Protocol
(/rupinfo.txt), by the feeds that their pages announce and by the dates in their sitemaps; with --updates-indexnow by IndexNow;
with --updates-websub by the WebSub hubs of its feeds.

  CHANNEL  mail: it mails reports to an address of its own; http: by IndexNow or a hub; poll: it is asked; none: see STATE and WHY
  LAST     the number of the last report in sequence, and when it came; +N: so many are missing
  TOLD     URLs in all that it told, of them put first or new, fetched since as said to have changed, had changed, and had not (wrong)
  COST     requests for being told: reports, feeds, sitemaps, key files, hubs; the pages fetched are in TOLD`,
		Args: no,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON Lines, one site a line")
	cmd.AddCommand(a.unregisterCommand(), a.preferCommand())
	return a.reading(cmd, func(cmd *cobra.Command, from *asker.Crawl, _ []string) error {
		if asJSON {
			return from.Updates(cmd.Context(), func(u crawl.UpdatesInfo) error { return a.printJSON(u) })
		}
		t, n := newTable(a.stdout, "SITE", "SOURCE", "CHANNEL", "STATE", "SINCE", "LAST", "GAPS", "TOLD", "COST", "WHY"), int64(0)
		err := from.Updates(cmd.Context(), func(u crawl.UpdatesInfo) error {
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
			told := fmt.Sprintf("%d/%d/%d/%d/%d", u.Told, u.Sooner, u.Looked, u.Confirmed, u.Wrong)
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
		Short: "Have a site tell us no more, in a crawl that runs",
		Long: `Have a site tell us no more what changed: if we are registered there, that is ended as soon as the site's delay allows, and it is not asked
any more. Its pages are then asked for again as any other's. --undo lets it tell again.`,
		Example: "  curtsy updates unregister https://docs.example.org/",
		Args:    one("site", "https://docs.example.org/"),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "let it tell again")
	return a.steeringUpdates(cmd, func(s *crawl.Spec, site string, _ []string) (string, error) {
		s.UpdatesOff = slices.DeleteFunc(slices.Clone(s.UpdatesOff), func(o string) bool { return o == site })
		if undo {
			return site + " may tell again", nil
		}
		s.UpdatesOff = append(s.UpdatesOff, site)
		return site + " is to tell us no more", nil
	})
}

func (a *app) preferCommand() *cobra.Command {
	words := []string{string(rup.Day), string(rup.Week), string(rup.Month), "any"}
	cmd := &cobra.Command{
		Use:     "prefer SITE " + strings.Join(words, "|"),
		Short:   "Say how often a site is to tell, in a crawl that runs",
		Long:    `Say how often a site is to tell what changed; it holds where the site offers it. any: as --updates-latency says, for all sites.`,
		Example: "  curtsy updates prefer https://docs.example.org/ week",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return words, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || !slices.Contains(words, args[1]) {
				return usage("%s takes a site and day, week, month or any, for example: %s https://docs.example.org/ week", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
	}
	return a.steeringUpdates(cmd, func(s *crawl.Spec, site string, args []string) (string, error) {
		s.UpdatesPrefer = maps.Clone(s.UpdatesPrefer)
		if args[1] == "any" {
			delete(s.UpdatesPrefer, site)
			return site + " is to tell as any other", nil
		}
		if s.UpdatesPrefer == nil {
			s.UpdatesPrefer = map[string]string{}
		}
		s.UpdatesPrefer[site] = args[1]
		return site + " is to tell once a " + args[1], nil
	})
}

// steeringUpdates is a command that changes what is wanted of a site; its shard does the rest.
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
		said, err := steer.Updates(cmd.Context(), l, me(), site, func(s crawl.Spec) (crawl.Spec, string, error) {
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
		return canon.Origin{}, usage("%s is no site: %v; use for example https://docs.example.org/", arg, err)
	}
	return u.Origin(), nil
}
