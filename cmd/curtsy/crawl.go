package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/internal/web/dashboard"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

func (a *commands) crawlCommand() *cobra.Command {
	cfg := config.NewCrawl()
	cmd := &cobra.Command{
		Use:   "crawl [flags] URL...",
		Short: "Crawl sites, store their pages and index them",
		Long: `Crawl sites from the given URLs, store the pages and index them for search.

The same command with the same --dir resumes the crawl. Flags that are given then replace the
earlier ones, all others keep their values, and no URL is needed. ^C stops the crawl cleanly; a
second ^C stops it at once.`,
		Annotations: cli.ExitCodes("0 Nothing more can be crawled now.", "1 The crawl failed, or a seed could not be fetched.", "2 The command line or a setting is wrong.",
			"3 A limit ended the crawl.", "130 The crawl was interrupted."),
		Example: `  curtsy crawl --contact me@example.org https://docs.example.org/
  curtsy crawl --contact me@example.org --scope host --max-pages 500 https://docs.example.org/
  curtsy crawl --allow-private --delay 0s http://127.0.0.1:8000/`,
	}
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, args []string, src *config.Source) error {
		seeds, err := a.ReadSeeds(args, cfg.Seeds, &cfg.Plan)
		if err != nil {
			return err
		}
		if err := disk.Check(cfg.Dir, false); err != nil {
			return err
		}
		if isNew(cfg) { // refuse before anything is created
			if _, err := app.PlannedSpec(cfg.Plan, cfg.NATS, src.Given, nil, seeds); err != nil {
				return err
			}
		}
		sent, err := openFeeds(cfg)
		if err != nil {
			return err
		}
		defer sent.close()
		p := newProgress(a.Stdout, a.Stderr, cfg.Progress)
		app.PrintProxy(cfg.SiteAccess, func(text string) { p.warn("%s", text) })
		end, err := a.crawl(cmd.Context(), cfg, src.Given, seeds, sent, p, term.ServiceLog(cfg.Common, slog.LevelWarn, p.logTo(), p.warnings))
		if err != nil {
			return err
		}
		return p.finish(cfg.Dir, end)
	})
}

// isNew reports whether the crawl certainly has to be created. With --nats only the server knows.
func isNew(cfg *config.Crawl) bool { return cfg.URL == "" && engine.IsNew(cfg.Dir) }

// engineFor opens an engine that creates the crawl of the settings and seeds, or resumes it.
func (a *commands) engineFor(ctx context.Context, cfg *config.Crawl, given func(string) bool, seeds []canon.URL, browsers *app.Browsers, reg *prometheus.Registry, tracer *tracing.Tracer, log *slog.Logger) (*engine.Engine, error) {
	o := a.EngineOptions(cfg, log)
	o.Seeds, o.Registry, o.Tracer, o.Mail = seeds, reg, tracer, cfg.MailOptions(reg, log)
	if cfg.MaxTime > 0 {
		o.ReadyBy = time.Now().Add(cfg.MaxTime)
	}
	var err error
	if o.Fetcher, err = a.FetcherOptions(&cfg.Fetch, &cfg.Sign, &cfg.SiteAccess); err != nil {
		return nil, err
	}
	o.Fetcher.Renderer, o.Fetcher.Renders = browsers, browsers.Slots
	if o.Fetcher.Robot, err = app.Robot(cfg.Robots); err != nil {
		return nil, err
	}
	o.Plan = func(old *crawl.Spec) (crawl.Spec, error) {
		s, err := app.PlannedSpec(cfg.Plan, cfg.NATS, given, old, seeds)
		s.Paused = false // curtsy crawl resumes a paused crawl
		if cfg.URL == "" {
			// No other process fetches, so robots can be sent if this one has a key.
			s.SendRobots = o.Fetcher.Robot != nil
		}
		return s, err
	}
	o.By = app.Me()
	if given("crawl") {
		o.Crawl = cfg.Crawl
	}
	e, err := a.OpenEngine(ctx, o)
	var held *engine.InUseError
	if errors.As(err, &held) && held.Served {
		return nil, app.Usage("%w; use it without --nats, or use another --dir", err)
	}
	if errors.As(err, &held) && held.Remote {
		return nil, app.Usage("%w; use --nats URL --crawl %s, or another --dir", err, held.Crawl)
	}
	if errors.As(err, &held) {
		return nil, app.Usage("%w; use --crawl %s, or another --dir", err, held.Crawl)
	}
	var file *fs.PathError
	if errors.As(err, &file) && (file.Op == "mkdir" || errors.Is(err, fs.ErrPermission)) {
		return nil, fmt.Errorf("%w; use another directory, for example --dir ./curtsy-data", err)
	}
	if err == nil && e.Renders() {
		if err := browsers.Ready(); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, err
}

// crawl runs a crawl in this process to its end.
func (a *commands) crawl(ctx context.Context, cfg *config.Crawl, given func(string) bool, seeds []canon.URL, sent *feeds, p *progress, log *slog.Logger) (ending, error) {
	var end ending
	reg := service.NewRegistry()
	tracer, err := cfg.Tracer("crawl", service.InstanceName("curtsy", cfg.Dir), log)
	if err != nil {
		return end, err
	}
	defer tracer.Close()
	browsers, err := a.NewBrowsers(cfg.Rendering, reg, log)
	if err != nil {
		return end, err
	}
	defer browsers.Close()
	e, err := a.engineFor(ctx, cfg, given, seeds, browsers, reg, tracer, log)
	if err != nil {
		return end, err
	}
	defer func() {
		if err := e.Close(); err != nil {
			log.Error("closing", "err", err)
		}
	}()
	p.printLine("crawling %s", control.Words(e.Spec()))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	me := service.Process{Kind: "crawl", Instance: e.Instance(), PID: os.Getpid()}
	if err := service.Obey(e.Crawl().Queue.NC, crawl.Names(e.Spec().Name), me, func() { stop(app.ErrStopped) }); err != nil {
		return end, err
	}
	if cfg.Listen != "off" {
		stopAdmin, err := serveAdmin(ctx, e.Crawl(), cfg, reg, p, log)
		if err != nil {
			return end, err
		}
		defer stopAdmin()
	}
	w := &watcher{c: e.Crawl(), p: p, log: log, maxTime: cfg.MaxTime, began: time.Now(), seeds: seeds, sent: sent}
	w.hooks = newAttention(ctx, cfg.Hooks, e.Crawl(), log)
	var failed []error
	err = e.Run(ctx, func(ctx context.Context, first crawl.Status) error {
		if err := sent.start(ctx, e.Crawl(), cfg.Dir, reg, log); err != nil {
			return err
		}
		err := w.watch(ctx, first)
		failed = sent.finish(ctx)
		return err
	})
	if err == nil {
		end = w.ended(e.Last())
		end.feeds = failed
	}
	w.hooks.end(ctx, end, err)
	return end, err
}

// serveAdmin opens the admin port, with the dashboard, until the returned function is called.
func serveAdmin(ctx context.Context, c *asker.Crawl, cfg *config.Crawl, reg *prometheus.Registry, p *progress, log *slog.Logger) (stop func(), err error) {
	adm, err := service.NewAdmin(service.AdminOptions{
		Listen: cfg.Listen, Cert: cfg.TLSCert, Key: cfg.TLSKey, Title: "crawl " + c.Spec.Name, Registry: reg, Log: log,
		Ready: func(ctx context.Context) error {
			_, err := asker.Status(ctx, c.Queue, c.Spec)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	o := cfg.Access.Dashboard(adm.Loopback(), log)
	o.Ask, o.Name, o.Metrics, o.Typed = dashboard.Of(c), c.Spec.Name, true, config.About(cfg.Dir, cfg.NATS)
	if o.Searches, err = search.NewMetrics(reg); err != nil {
		return nil, errors.Join(err, adm.Close())
	}
	if err := errors.Join(service.CountShards(reg, c.Spec),
		service.WatchCertificates(reg, cfg.NATS.Queue(""), func() *nats.Conn { return c.Queue.NC }, adm)); err != nil {
		return nil, errors.Join(err, adm.Close())
	}
	var write func(context.Context) error
	o.Recorder, write = look.RecordQueries(cfg.QueryReport, cfg.Dir, log)
	o.Queries = queryreport.File(cfg.Dir)
	adm.Show(dashboard.New(o))
	look.PrintDashboard(p.need, adm.Server, o, cfg.Access)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := adm.Run(ctx); err != nil {
			log.Error("admin port", "err", err)
		}
	})
	running.Go(func() { _ = write(ctx) }) // it never fails
	return func() { cancel(); running.Wait() }, nil
}
