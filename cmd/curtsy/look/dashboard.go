package look

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/web/dashboard"
	"github.com/spf13/cobra"
)

func (a *commands) dashboardCommand() *cobra.Command {
	cfg := config.NewDashboard()
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve the dashboard of a crawl",
		Long: `Serve the dashboard of a crawl until ^C: progress, hosts, datasets, search, and controls. The
crawl may start and stop meanwhile. A running crawl serves its own dashboard, at the address that it
prints when it starts.

If other machines can reach the address, a token opens the dashboard. It comes from
CURTSY_DASHBOARD_TOKEN or --dashboard-token-file; otherwise a new one is made and printed once.`,
		Example: `  curtsy dashboard
  curtsy dashboard --dir /var/lib/curtsy --listen 127.0.0.1:9000
  curtsy dashboard --nats nats://n1:4222 --crawl docs
  curtsy dashboard --listen 0.0.0.0:7890 --dashboard-hosts crawl.example.org --dashboard-cert cert.pem --dashboard-key key.pem`,
		Args: app.NoArgs,
	}
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		return ServeDashboard(cmd.Context(), a.App, cfg)
	})
}

// ServeDashboard serves the dashboard of a crawl until ctx ends.
func ServeDashboard(ctx context.Context, a *app.App, cfg *config.Dashboard) error {
	log := term.ServiceLog(cfg.Common, slog.LevelWarn, a.Stderr, new(term.Recently))
	var (
		asked dashboard.Ask
		name  string
		watch = func(context.Context) error { return nil }
	)
	if cfg.URL != "" {
		c, err := asker.Dial(ctx, a.NATSOptions(cfg.NATS, "curtsy dashboard"), crawl.Names(cfg.Crawl), log)
		if err != nil {
			return err
		}
		defer c.Close()
		asked, name = dashboard.Of(c), c.Spec.Name
	} else {
		d, err := engine.WatchDirectory(ctx, cfg.Dir, log, engine.OpenFiles)
		if err != nil {
			return err
		}
		defer d.Close()
		asked, name, watch = d.Ask, d.Name(), d.Run
	}
	s, err := service.Listen(cfg.Listen, log)
	if err != nil {
		return fmt.Errorf("%w (use another address, for example --listen 127.0.0.1:0)", err)
	}
	if err := s.Secure(cfg.TLSCert, cfg.TLSKey); err != nil {
		s.Close()
		return err
	}
	o := cfg.Access.Dashboard(s.Loopback(), log)
	o.Ask, o.Name, o.Typed = asked, name, config.About(cfg.Dir, cfg.NATS)
	var write func(context.Context) error
	o.Recorder, write = RecordQueries(cfg.QueryReport, cfg.Dir, log)
	o.Queries = queryreport.File(cfg.Dir)
	web := dashboard.New(o)
	PrintDashboard(func(format string, args ...any) { fmt.Fprintf(a.Stdout, format+"\n", args...) }, s, o, cfg.Access)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return watch(ctx) })
	g.Go(func() error { return write(ctx) })
	g.Go(func() error {
		return s.Run(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/livez" {
				fmt.Fprintln(w, "ok")
				return
			}
			web.ServeHTTP(w, r)
		}))
	})
	return g.Wait()
}

// PrintDashboard prints the address of a dashboard, with its token if that is new.
func PrintDashboard(say func(format string, args ...any), s *service.Server, o dashboard.Options, access config.Access) {
	at := s.URL()
	if o.Token != "" && access.Token == "" {
		at += "login?token=" + url.QueryEscape(o.Token)
	}
	say("dashboard: %s", at)
	if !s.Loopback() && access.TLSCert == "" {
		say("the token crosses the network unencrypted: use --dashboard-cert and --dashboard-key, or a proxy with TLS")
	}
}
