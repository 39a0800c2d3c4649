package look

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/spf13/cobra"
)

func (a *commands) serveCommand() *cobra.Command {
	cfg := config.NewServe()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve search as a web page and as JSON",
		Long: `Serve a search page at /search, and the same as JSON at /api/v1/search (described at
/api/openapi.json), until ^C. The crawl may start and stop meanwhile. The dashboard of a running
crawl serves the same.`,
		Example: `  curtsy serve
  curtsy serve --dir /var/lib/curtsy --listen 127.0.0.1:9000
  curtsy serve --nats nats://n1:4222 --crawl docs
  curtsy serve --cors-origin https://docs.example.org`,
		Args: app.NoArgs,
	}
	synonyms := cmd.Flags().String("synonyms", "", synonymsHelp)
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		change, err := readSynonyms(*synonyms)
		if err != nil {
			return err
		}
		return a.serve(cmd.Context(), cfg, change)
	})
}

func (a *commands) serve(ctx context.Context, cfg *config.Serve, change changeOf) error {
	log := term.ServiceLog(cfg.Common, slog.LevelWarn, a.Stderr, new(term.Recently))
	o := search.Options{Log: log, Origins: cfg.CORSOrigins}
	watch := func(context.Context) error { return nil }
	if cfg.URL != "" {
		c, err := asker.Dial(ctx, a.NATSOptions(cfg.NATS, "curtsy serve"), crawl.Names(cfg.Crawl), log)
		if err != nil {
			return err
		}
		defer c.Close()
		o.Crawl, o.Name = tuned{c, change}, c.Spec.Name
	} else {
		d, err := engine.WatchDirectory(ctx, cfg.Dir, log, engine.OpenPages)
		if err != nil {
			return err
		}
		defer d.Close()
		o.Crawl, o.Name, watch = tuned{d, change}, d.Name(), d.Run
	}
	s, err := service.Listen(cfg.Listen, log)
	if err != nil {
		return fmt.Errorf("%w (use another address, for example --listen 127.0.0.1:0)", err)
	}
	fmt.Fprintf(a.Stdout, "search: %ssearch\n", s.URL())
	var write func(context.Context) error
	o.Recorder, write = RecordQueries(cfg.QueryReport, cfg.Dir, log)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return write(ctx) })
	if cfg.Metrics != "off" {
		reg := service.NewRegistry()
		adm, err := service.NewAdmin(service.AdminOptions{
			Listen: cfg.Metrics, Title: "search of " + o.Name, Registry: reg, Log: log, Ready: func(context.Context) error { return nil },
		})
		if err != nil {
			return errors.Join(err, s.Close())
		}
		if o.Metrics, err = search.NewMetrics(reg); err != nil {
			return errors.Join(err, adm.Close(), s.Close())
		}
		fmt.Fprintf(a.Stdout, "metrics: %smetrics\n", adm.URL())
		g.Go(func() error { return adm.Run(ctx) })
	}
	g.Go(func() error { return watch(ctx) })
	g.Go(func() error { return s.Run(ctx, s.Guarded(front(search.New(o)))) })
	return g.Wait()
}

// front serves search and leads from / to it. It serves nothing else.
func front(face *search.Web) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case face.Serves(r.URL.Path):
			face.ServeHTTP(w, r)
		case r.URL.Path == "/":
			http.Redirect(w, r, "/search", http.StatusFound)
		case r.URL.Path == "/livez":
			fmt.Fprintln(w, "ok")
		default:
			http.NotFound(w, r)
		}
	})
}
