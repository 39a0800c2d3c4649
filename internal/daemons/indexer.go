package daemons

import (
	"context"
	"errors"
	"io"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/web/dashboard"
	"github.com/curtsy/curtsy/internal/web/search"
	"github.com/spf13/cobra"
)

func indexerCommand(stderr io.Writer) *cobra.Command {
	cfg := config.NewIndexer()
	cmd, loaded := command("indexer", daemonUsage, "Store the pages of a crawl, index them, and answer searches", cfg)
	cmd.RunE = loaded(func(cmd *cobra.Command, _ []string) error { return serveIndexer(cmd.Context(), cfg, stderr) })
	return cmd
}

func serveIndexer(ctx context.Context, cfg *config.Indexer, stderr io.Writer) (err error) {
	lock, err := service.LockData(cfg.Dir, "indexer.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	o := cfg.Options("indexer", cfg.Dir, stderr)
	o.Cert, o.Key = cfg.TLSCert, cfg.TLSKey
	o.Site = func(p service.Parts, loopback bool) service.Site {
		if !loopback && cfg.Token == "" {
			return nil // a port for metrics does not mean that others may see the crawl
		}
		d := cfg.Access.Dashboard(loopback, o.Log)
		d.Ask, d.Name, d.Metrics = dashboard.Of(asker.Running(p.Queue, p.Bucket, p.Spec)), cfg.Crawl, true
		d.Typed = config.About(cfg.Dir, cfg.NATS)
		var err error
		if d.Searches, err = search.NewMetrics(p.Registry); err != nil {
			o.Log.Error("searches are not counted", "err", err)
			d.Searches = nil
		}
		return dashboard.New(d)
	}
	tracer, err := cfg.Tracer("indexer", o.Instance, o.Log)
	if err != nil {
		return err
	}
	defer tracer.Close()
	return service.Daemon(ctx, o, func(p service.Parts) (service.Runner, error) {
		if err := frontier.CheckDaemonDir(cfg.Dir, p.Spec.Name); err != nil {
			return nil, err
		}
		return indexer.New(p.Queue, p.Spec, indexer.Options{
			Dir: cfg.Dir, Instance: o.Instance, Log: o.Log, Registry: p.Registry, Tracer: tracer, Search: p.Spec.Search,
			RebuildAfter: cfg.RebuildAfter, MinFree: int64(cfg.MinFree),
		})
	})
}
