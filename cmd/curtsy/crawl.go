package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/spf13/cobra"
)

func (a *app) crawlCommand() *cobra.Command {
	cfg := config.NewCrawl()
	cmd := &cobra.Command{
		Use:   "crawl [flags] URL...",
		Short: "Crawl and index; the same --dir again resumes",
		Long: `Crawl from the given URLs, store the pages and index them.

Called again with the same --dir it resumes: what is not given stays as it was, what is given replaces it, and no URL is needed.
The first ^C stops cleanly, a second at once.

Exit codes: 0 nothing more can be done now, 1 failed, 2 typed or configured wrong, 3 a limit ended it, 130 interrupted.`,
		Example: `  curtsy crawl --contact me@example.org https://docs.example.org/
  curtsy crawl --allow-private --delay 0s http://127.0.0.1:8000/`,
	}
	return configured(cmd, cfg, func(cmd *cobra.Command, args []string, src *config.Source) error {
		seeds, err := a.readSeeds(args, cfg.Seeds)
		if err != nil {
			return err
		}
		if isNew(cfg) { // refuse before anything is created
			if _, err := planned(cfg.Plan, cfg.NATS, src.Given, nil, seeds); err != nil {
				return err
			}
		}
		p := newProgress(a.stdout, a.stderr)
		if p.person && !src.Given("log-level") {
			cfg.LogLevel = "warn" // a person sees how it goes on the line below
		}
		end, err := a.crawl(cmd.Context(), cfg, src.Given, seeds, p, cfg.Logger(p.logTo()))
		if err != nil {
			return err
		}
		return p.finish(cfg.Dir, end)
	})
}

// isNew reports whether the crawl surely has to be created. With --nats that is for the server to say.
func isNew(cfg *config.Crawl) bool {
	_, err := os.Stat(filepath.Join(cfg.Dir, "nats"))
	return cfg.URL == "" && errors.Is(err, fs.ErrNotExist)
}

// errStopped is why a crawl ends that was told to by `curtsy stop`.
var errStopped = errors.New("stopped by curtsy stop")

// crawl runs a crawl in this process to its end.
func (a *app) crawl(ctx context.Context, cfg *config.Crawl, given func(string) bool, seeds []canon.URL, p *progress, log logger) (ending, error) {
	var end ending
	e, err := openEngine(ctx, cfg, given, seeds, log)
	if err != nil {
		return end, err
	}
	defer func() {
		if err := e.Close(); err != nil {
			log.Error("closing", "err", err)
		}
	}()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	me := service.Process{Kind: "crawl", Instance: e.instance(), PID: os.Getpid()}
	if err := service.Obey(e.q.NC, crawl.Names(e.spec.Name), me, func() { stop(errStopped) }); err != nil {
		return end, err
	}
	if cfg.Listen != "off" {
		stopAdmin, err := e.serveAdmin(ctx, p)
		if err != nil {
			return end, err
		}
		defer stopAdmin()
	}
	w := &watcher{e: e, p: p, began: time.Now()}
	if err := e.Run(ctx, seeds, w.watch); err != nil {
		return end, err
	}
	return w.ended(), nil
}

// serveAdmin opens the admin port until the function returned is called.
func (e *engine) serveAdmin(ctx context.Context, p *progress) (stop func(), err error) {
	adm, err := service.NewAdmin(service.AdminOptions{
		Listen: e.cfg.Listen, Title: "crawl " + e.spec.Name, Registry: e.reg, Log: e.log,
		Ready: func(ctx context.Context) error {
			_, err := e.status(ctx)
			return err
		},
		Status: e.status,
	})
	if err != nil {
		return nil, err
	}
	p.say("status page: %s", adm.URL())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := adm.Run(ctx); err != nil {
			e.log.Error("admin port", "err", err)
		}
	}()
	return func() { cancel(); <-done }, nil
}
