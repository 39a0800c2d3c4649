package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/spf13/cobra"
)

// patience is how long stop, pause and resume wait to see their effect.
const patience = 30 * time.Second

// logger is the log of a command that only reads: it reports errors.
func (a *app) logger(cfg *config.Reader) *slog.Logger {
	return serviceLog(cfg.Common, slog.LevelError, a.stderr, new(recently))
}

// controlling makes a command that controls a running crawl.
func (a *app) controlling(use, short string, run func(ctx context.Context, l *asker.Crawl, cfg *config.Reader) error) *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{Use: use, Short: short, Args: no,
		Example: "  curtsy " + use + "\n  curtsy " + use + " --nats nats://127.0.0.1:4222 --crawl docs"}
	return configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		l, err := a.reach(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		return run(ctx, l, cfg)
	})
}

// open finds the crawl that the settings name. With --nats it is asked there; without, it is the
// one in --dir, asked over its own server while it runs.
func (a *app) open(ctx context.Context, cfg *config.Reader) (*asker.Crawl, error) {
	a.about = config.About(cfg.Dir, cfg.NATS)
	if cfg.URL != "" {
		return asker.Dial(ctx, a.natsOptions(cfg.NATS, "curtsy"), crawl.Names(cfg.Crawl), a.logger(cfg))
	}
	for try := 1; ; try++ {
		l, err := a.dialEngine(ctx, cfg.Dir, a.logger(cfg))
		if !errors.Is(err, engine.ErrNotRunning) {
			return l, err
		}
		// It may begin to run in between: then it has the files, or is about to make them.
		if l, err = engine.OpenFiles(cfg.Dir); err == nil || try == 3 || !engine.Alive(cfg.Dir) {
			return l, err
		}
	}
}

// reach finds a crawl that runs.
func (a *app) reach(ctx context.Context, cfg *config.Reader) (*asker.Crawl, error) {
	if cfg.URL != "" {
		return asker.Dial(ctx, a.natsOptions(cfg.NATS, "curtsy"), crawl.Names(cfg.Crawl), a.logger(cfg))
	}
	l, err := a.dialEngine(ctx, cfg.Dir, a.logger(cfg))
	if errors.Is(err, engine.ErrNotRunning) {
		goOn := ""
		if !engine.IsNew(cfg.Dir) {
			goOn = "to resume the crawl there, also with other settings: curtsy crawl" + config.About(cfg.Dir, cfg.NATS) + "; "
		}
		return nil, fmt.Errorf("no crawl is running in %s; %sto select another crawl: --dir DIR, or --nats URL --crawl NAME", cfg.Dir, goOn)
	}
	return l, err
}

func (a *app) stopCommand() *cobra.Command {
	return a.controlling("stop", "Stop a running crawl; the same crawl command resumes it", func(ctx context.Context, l *asker.Crawl, cfg *config.Reader) error {
		told, err := service.Stop(ctx, l.Queue.NC, crawl.Names(l.Spec.Name))
		if err != nil {
			return err
		}
		if len(told) == 0 {
			return fmt.Errorf("no process is running crawl %q, so there is nothing to stop; curtsy crawl resumes it", l.Spec.Name)
		}
		// It no longer answers, but is still closing its files.
		for cfg.URL == "" && engine.Alive(cfg.Dir) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s was asked to stop but still uses %s; try again, or end its process", told[0], cfg.Dir)
			case <-time.After(20 * time.Millisecond):
			}
		}
		for _, p := range told {
			fmt.Fprintln(a.stdout, "stopped", p)
		}
		return nil
	})
}

func (a *app) pauseCommand() *cobra.Command {
	return a.controlling("pause", "Pause a running crawl until curtsy resume", func(ctx context.Context, l *asker.Crawl, _ *config.Reader) error {
		return a.printLine(control.Pause(ctx, l, me()))
	})
}

func (a *app) resumeCommand() *cobra.Command {
	return a.controlling("resume", "Continue a paused crawl", func(ctx context.Context, l *asker.Crawl, _ *config.Reader) error {
		return a.printLine(control.Resume(ctx, l, me()))
	})
}

// printLine prints the result of an action.
func (a *app) printLine(text string, err error) error {
	if err == nil {
		fmt.Fprintln(a.stdout, text)
	}
	return err
}
