package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/plan"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

func (a *commands) planCommand() *cobra.Command {
	cfg := config.NewForesee()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan [flags] URL...",
		Short: "Show what a crawl would fetch, without fetching pages",
		Long: `Show what a crawl with the same flags would do: how many pages it would request, which URLs
it would refuse and why, and the least time that it would take.

Only robots.txt, sitemaps and data.txt of the sites are read, as politely as in a crawl. No page is
requested and nothing is stored. Each site is also asked for /data.json, unless --data-json=false
is given. With a --purpose other than search, tdmrep.json and licence documents are read too.

Sitemaps do not name all pages: a crawl finds more by links, unless --links=false is given. A
mirror is known only if its robots.txt names the main host. ^C stops reading and shows what is
known so far. Flags of curtsy crawl that change nothing here are accepted.`,
		Annotations: cli.ExitCodes("0 The plan is complete.", "1 The plan failed, or no host could be reached.",
			"2 The command line or a setting is wrong.", "130 Reading was interrupted; the plan shows what is known."),
		Example: `  curtsy plan --contact me@example.org https://docs.example.org/
  curtsy plan --contact me@example.org --scope host --links=false --json https://docs.example.org/`,
	}
	app.Configured(cmd, cfg, func(cmd *cobra.Command, args []string, src *config.Source) error {
		seeds, err := a.ReadSeeds(args, cfg.Seeds, &cfg.Plan)
		if err != nil {
			return err
		}
		if len(seeds) == 0 {
			return app.Usage("a plan needs a URL; use for example: curtsy plan --contact me@example.org https://docs.example.org/")
		}
		spec, err := app.PlannedSpec(cfg.Plan, config.NewReader().NATS, src.Given, nil, seeds)
		if err != nil {
			return err
		}
		return a.plan(cmd.Context(), cfg, spec, seeds, asJSON)
	})
	cli.Later(cmd, func() {
		cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
		for _, row := range settings.All() {
			// These flags have no effect. They are accepted so that the command line of a crawl can
			// be tried as it is.
			if !row.NotPlanned {
				continue
			}
			if err := cmd.Flags().MarkHidden(row.Name); err != nil {
				panic(err)
			}
		}
	})
	return cmd
}

// plan makes a plan in a temporary directory.
func (a *commands) plan(ctx context.Context, cfg *config.Foresee, spec crawl.Spec, seeds []canon.URL, asJSON bool) error {
	send, err := a.FetcherOptions(&cfg.Fetch, &cfg.Sign, &cfg.SiteAccess)
	if err != nil {
		return err
	}
	app.PrintProxy(cfg.SiteAccess, func(text string) { fmt.Fprintln(a.Stderr, "warning:", text) })
	dir, err := os.MkdirTemp("", "curtsy-plan-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o := plan.Options{
		Spec: spec, Seeds: seeds, Dir: dir, Version: version.Get().Version, Log: term.ServiceLog(cfg.Common, slog.LevelError, a.Stderr, new(term.Recently)),
		Fetcher: send, Open: a.OpenEngine,
	}
	line := term.NewStatusLine(a.Stderr)
	waits := false // and the user knows
	o.Progress = func(st crawl.Status) {
		if st.OpensAt != nil && !waits {
			line.Clear()
			fmt.Fprintf(a.Stderr, "a plan sends requests, too: it waits for the hours of the crawl, next %s; for a plan now: --hours 00:00-24:00\n", term.Clock(*st.OpensAt, time.Now()))
			waits = true
		}
		line.Show(func() string {
			return fmt.Sprintf("reading robots.txt, sitemaps and data.txt: %s of %s", term.Count(st.Discovered, "URL"), term.Count(st.Hosts, "host"))
		})
	}
	r, err := plan.Make(ctx, o)
	line.Clear()
	if err != nil {
		return err
	}
	if asJSON {
		err = a.PrintJSON(r)
	} else {
		printPlan(a.Stdout, r, spec)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return app.Exit(app.ExitInterrupted, nil)
	case r.Pages == 0 && r.Waiting > 0:
		return app.Exit(app.ExitFailed, fmt.Errorf("no host can be reached: %s", whyWaiting(r)))
	}
	return nil
}

// whyWaiting is why the first of the waiting hosts waits.
func whyWaiting(r *plan.Report) string {
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.Waiting > 0 {
			return term.Clean(h.Host + ": " + waitsFor(h))
		}
	}
	return ""
}

func waitsFor(h *plan.Host) string {
	if h.DelaySource == "crawl-delay" && h.DelayS > 600 {
		return fmt.Sprintf("robots.txt demands %s between requests, so the host is not visited", service.Span(h.DelayS))
	}
	if h.Reason == "" {
		return "its robots.txt could not be read"
	}
	return strings.TrimPrefix("robots.txt: "+h.Reason, "robots.txt: robots.txt ")
}

// What a plan shows of hosts and refusals without --json.
const (
	planHosts    = 10
	planRefusals = 20
)

func printPlan(w io.Writer, r *plan.Report, spec crawl.Spec) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, term.Clean(fmt.Sprintf(format, args...)))
	}
	line("scope", "%s", r.Scope)
	switch r.PagesAre {
	case plan.PagesAll:
		line("pages", "%s would be requested", humanize.Comma(r.Pages))
	case plan.PagesAtLeast:
		line("pages", "at least %s would be requested%s", humanize.Comma(r.Pages), map[bool]string{false: "; links of pages lead to more"}[spec.NoLinks])
	default:
		line("pages", "unknown: %s, and more pages are found only by links", noSitemap(spec))
	}
	if r.Limit != "" {
		line("", "--%s ends the crawl there", r.Limit)
	}
	if r.WrongType > 0 {
		line("", "%s of them have names of types that are not kept (--types); they are requested and probably refused", humanize.Comma(r.WrongType))
	}
	if r.Cut != "" {
		line("", "the plan was cut short: %s", r.Cut)
	}
	line("datasets", "%s", announced(r))
	line("requests", "%s, with those for robots.txt, sitemaps and data.txt", humanize.Comma(r.Requests))
	if r.Rendering {
		line("", "what the scripts of pages request is not among them, and takes more time (--render)")
	}
	line("duration", "%s", atLeast(r))
	for i := range r.Hosts[:min(len(r.Hosts), planHosts)] {
		h := &r.Hosts[i]
		line(map[bool]string{true: "hosts"}[i == 0], "%s", hostPlan(h))
	}
	if n := len(r.Hosts) - planHosts; n > 0 {
		line("", "and %s more; --json shows all", term.Count(int64(n), "host"))
	}
	line("refused", "%s", term.Count(r.Refused, "URL"))
	for _, g := range r.Refusals[:min(len(r.Refusals), planRefusals)] {
		line("", "%s", refusal(&g))
	}
	if len(r.Refusals) > planRefusals || r.More > 0 {
		line("", "and more; --json shows all")
	}
	if r.Waiting > 0 {
		line("waiting", "%s of hosts that cannot be reached now: %s", term.Count(r.Waiting, "URL"), whyWaiting(r))
	}
}

func noSitemap(spec crawl.Spec) string {
	if !spec.Sitemaps {
		return "sitemaps are not read (--sitemaps reads them), so only the seeds are known"
	}
	return "no sitemap names pages besides the seeds"
}

func announced(r *plan.Report) string {
	if r.Datasets == 0 {
		return "none announced in data.txt"
	}
	titles := make([]string, 0, 3)
	for _, t := range r.Titles[:min(len(r.Titles), 3)] {
		titles = append(titles, fmt.Sprintf("%.60q", t))
	}
	more := ""
	if r.Datasets > int64(len(titles)) {
		more = ", …"
	}
	return fmt.Sprintf("%s announced in data.txt: %s%s", humanize.Comma(r.Datasets), strings.Join(titles, ", "), more)
}

func atLeast(r *plan.Report) string {
	if r.Requests == 0 {
		return "no request would be sent"
	}
	text := "at least " + service.Span(r.ShortestS)
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.Host == r.Longest && r.Limit == "" {
			text += fmt.Sprintf(", because of %s: %s with %s between them (%s), answered in %s", h.Host, term.Count(h.Read+h.Pages, "request"), apart(h.DelayS), delayWords(h.DelaySource), apart(h.ResponseS))
		}
	}
	return text
}

// apart is a time between requests, or that a response takes.
func apart(s float64) string { return term.Seconds(time.Duration(s * float64(time.Second))) }

// delayWords describes the source of a delay.
func delayWords(source string) string {
	switch source {
	case "configured":
		return "--delay"
	case "default":
		return "the minimum for a host that is not yours"
	case "crawl-delay":
		return "from its robots.txt"
	}
	return source
}

func hostPlan(h *plan.Host) string {
	text := fmt.Sprintf("%s: %s, %s refused", h.Host, term.Count(h.Pages, "page"), humanize.Comma(h.Refused))
	switch {
	case h.MirrorOf != "":
		return text + ", a mirror of " + h.MirrorOf
	case h.Waiting > 0:
		return text + fmt.Sprintf(", %s waiting: %s", humanize.Comma(h.Waiting), waitsFor(h))
	}
	text += fmt.Sprintf(", delay %s (%s)", apart(h.DelayS), delayWords(h.DelaySource))
	if h.Sitemaps > 0 {
		text += ", " + term.Count(int64(h.Sitemaps), "sitemap")
	}
	if len(h.Unread) > 0 {
		text += fmt.Sprintf(", unread: %s (%s)", h.Unread[0].URL, unreadFor(&h.Unread[0]))
		if n := len(h.Unread) - 1; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
	}
	return text
}

func unreadFor(s *crawl.SitemapInfo) string {
	switch {
	case s.Reason != "":
		return s.Reason
	case s.Queued:
		return "not read yet"
	}
	return "not read"
}

func refusal(g *plan.Refusal) string {
	text := humanize.Comma(g.URLs) + " " + g.Reason
	if g.Host != "" {
		text += " · " + g.Host
	}
	if g.Line > 0 {
		text += fmt.Sprintf(" · line %d", g.Line)
	}
	if g.Rule != "" {
		text += " · " + g.Rule
	}
	return text
}
