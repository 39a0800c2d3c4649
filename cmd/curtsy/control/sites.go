package control

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
	"github.com/spf13/cobra"
)

// latencies are the intervals at which a site can be asked to report its changes; any leaves that
// to the crawl's settings.
var latencies = []string{string(rup.Day), string(rup.Week), string(rup.Month), "any"}

// oneSite accepts one site, and siteAndLatency a site and an interval.
func oneSite(cmd *cobra.Command, args []string) error {
	if err := app.OneArg("site", "https://docs.example.org/")(cmd, args); err != nil {
		return err
	}
	_, err := siteOf(args[0])
	return err
}

func siteAndLatency(cmd *cobra.Command, args []string) error {
	if len(args) != 2 || !slices.Contains(latencies, args[1]) {
		return app.Usage("%s needs a site, and one of day, week, month or any; use for example: %s https://docs.example.org/ week", cmd.CommandPath(), cmd.CommandPath())
	}
	_, err := siteOf(args[0])
	return err
}

// siteOf is the origin that a person names, by any URL of it.
func siteOf(arg string) (canon.Origin, error) {
	if !strings.Contains(arg, "://") {
		arg = "https://" + arg
	}
	u, err := canon.Parse(arg)
	if err != nil {
		return canon.Origin{}, app.Usage("%s is not a site: %v; use for example https://docs.example.org/", arg, err)
	}
	return u.Origin(), nil
}

// unregister ignores the reports of a site, or accepts them again.
func unregister(ctx context.Context, t target, args []string) (string, error) {
	return changeSite(ctx, t, args[0], func(s *crawl.Spec, site string) string {
		s.UpdatesOff = slices.DeleteFunc(slices.Clone(s.UpdatesOff), func(o string) bool { return o == site })
		if t.undo {
			return "reports of " + site + " are accepted again"
		}
		s.UpdatesOff = append(s.UpdatesOff, site)
		return "reports of " + site + " are ignored from now on"
	})
}

// prefer sets how often a site reports its changes.
func prefer(ctx context.Context, t target, args []string) (string, error) {
	return changeSite(ctx, t, args[0], func(s *crawl.Spec, site string) string {
		s.UpdatesPrefer = maps.Clone(s.UpdatesPrefer)
		if args[1] == "any" {
			delete(s.UpdatesPrefer, site)
			return site + " reports as often as any other site"
		}
		if s.UpdatesPrefer == nil {
			s.UpdatesPrefer = map[string]string{}
		}
		s.UpdatesPrefer[site] = args[1]
		return site + " is asked to report once a " + args[1]
	})
}

// changeSite changes the settings for a site; the shard of the site does the rest.
func changeSite(ctx context.Context, t target, arg string, change func(s *crawl.Spec, site string) string) (string, error) {
	site, err := siteOf(arg)
	if err != nil {
		return "", err
	}
	return control.Updates(ctx, t.Crawl, app.Me(), site, func(s crawl.Spec) (crawl.Spec, string, error) {
		text := change(&s, site.String())
		return s, text, nil
	})
}
