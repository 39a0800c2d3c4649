package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/check"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/internal/webtext"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
)

// demoDelay is the time between requests of the demo: short enough for a person who watches, and
// long enough that the delay limits the crawl.
const demoDelay = 20 * time.Millisecond

func (a *commands) demoCommand() *cobra.Command {
	cfg := config.NewDemo()
	var stay bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a simulated web on this machine, without the internet",
		Long: `Serve a small simulated web on this machine, crawl it, and show the result: pages, refusals
by reason, a search. Nothing is sent to the internet. With --stay the simulated web and the
dashboard of the crawl are served until ^C.`,
		Example: `  curtsy demo
  curtsy demo --stay --listen 127.0.0.1:7890`,
		Args: app.NoArgs,
	}
	cmd.Flags().BoolVar(&stay, "stay", false, "continue to serve the simulated web and the dashboard until ^C")
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, _ []string, src *config.Source) error {
		return a.demo(cmd.Context(), cfg, src.Given("dir"), stay)
	})
}

func (a *commands) demo(ctx context.Context, cfg *config.Demo, keep, stay bool) error {
	sites := simweb.Demo()
	sites.Listen = a.Listen
	web, err := simweb.Start(sites)
	if err != nil {
		return err
	}
	defer web.Close()
	dir := cfg.Dir
	if !keep {
		tmp, err := os.MkdirTemp("", "curtsy-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = filepath.Join(tmp, "data")
	}
	c := config.NewCrawl()
	c.Common, c.Admin, c.Dir = cfg.Common, cfg.Admin, dir
	// The scope stays the domain: the simulated web also links to addresses of this machine, to
	// find out whether a crawler requests them.
	c.Delay, c.AllowPrivate, c.HoldMax = demoDelay, true, 5*time.Second
	c.Resolve = []string{web.Resolve()}
	var seeds []canon.URL
	for _, raw := range web.Seeds() {
		u, err := canon.Parse(raw)
		if err != nil {
			return err
		}
		seeds = append(seeds, u)
	}
	fmt.Fprintf(a.Stdout, "a simulated web of %d hosts is served on %s; crawling it from %s\n", len(web.Hosts()), web.Addr(), seeds[0])
	p := newProgress(a.Stdout, a.Stderr, "auto")
	all := func(string) bool { return true }
	// The simulated web is broken on purpose in every way, so no warnings are shown.
	end, err := a.crawl(ctx, c, all, seeds, &feeds{stop: func() {}}, p, term.ServiceLog(c.Common, slog.LevelError, p.logTo(), p.warnings))
	if err != nil {
		return err
	}
	p.clear()
	fmt.Fprintln(a.Stdout)
	summarize(a.Stdout, end)
	if code := end.code(); code != app.ExitOK {
		return app.Exit(code, nil)
	}
	if err := a.demoSearch(ctx, dir, web); err != nil {
		return err
	}
	a.demoPoliteness(web)
	if keep || stay {
		fmt.Fprintf(a.Stdout, "\nlook at it yourself:\n  curtsy search --dir %[1]s \"words\"\n  curtsy explain --dir %[1]s http://h0001.sim.test/\n", webtext.ShellWord(dir))
	}
	if stay {
		fmt.Fprintf(a.Stdout, "\nstill serving on %s until ^C; crawl it yourself with:\n%s\n", web.Addr(), check.SimwebHint(web))
		if cfg.Listen == "off" {
			<-ctx.Done()
			return nil
		}
		d := config.NewDashboard()
		d.Common, d.Dir, d.Listen = cfg.Common, dir, cfg.Listen
		return look.ServeDashboard(ctx, a.App, d)
	}
	fmt.Fprintf(a.Stdout, "\nnow a real site, with your address for its webmaster:\n  curtsy crawl --contact me@example.org https://example.org/\n")
	return nil
}

// demoSearch searches the pages of the crawl.
func (a *commands) demoSearch(ctx context.Context, dir string, web *simweb.Server) error {
	from, err := engine.OpenFiles(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	const query = "quiet harbor"
	ans, err := from.Search(ctx, crawl.SearchRequest{Query: query, Limit: 3})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\ncurtsy search %q\n", query)
	look.PrintHits(a.App, ans, 0)
	return nil
}

// demoPoliteness reads the log of the simulated web, which is what a webmaster would see.
func (a *commands) demoPoliteness(web *simweb.Server) {
	log := web.Log()
	bad := requestlog.Check(log, requestlog.CheckOptions{
		Token: "curtsy",
		Delay: func(string) time.Duration { return demoDelay },
		// The simulated web has no webmaster, so there is no contact.
		UserAgent: func(ua string) bool { return strings.HasPrefix(ua, "curtsy/") },
	})
	fmt.Fprintf(a.Stdout, "\nthe web's own log: %s, %d too early, at the same time, or forbidden\n", term.Count(int64(len(log)), "request"), len(bad))
	for i, v := range bad {
		if i == look.PostponedShown {
			break
		}
		fmt.Fprintln(a.Stdout, " ", v)
	}
}
