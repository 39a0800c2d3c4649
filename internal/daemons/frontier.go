package daemons

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/spf13/cobra"
)

func frontierCommand(stderr io.Writer) *cobra.Command {
	cfg := config.NewFrontier()
	cmd, loaded := command("frontier", daemonUsage, "Decide which URL of a crawl is due, and when", cfg)
	cmd.RunE = loaded(func(cmd *cobra.Command, _ []string) error { return serveFrontier(cmd.Context(), cfg, stderr) })
	return cmd
}

func serveFrontier(ctx context.Context, cfg *config.Frontier, stderr io.Writer) (err error) {
	lock, err := service.LockData(cfg.Dir, "frontier.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	crawlLog, err := frontier.CrawlLog{Max: int64(cfg.LogMax), Keep: cfg.LogKeep}.Open(cfg.Dir)
	if err != nil {
		return fmt.Errorf("crawl log: %w", err)
	}
	defer func() { err = errors.Join(err, crawlLog.Close()) }()
	o := cfg.Options("frontier", cfg.Dir, stderr)
	tracer, err := cfg.Tracer("frontier", o.Instance, o.Log)
	if err != nil {
		return err
	}
	defer tracer.Close()
	return service.Daemon(ctx, o, func(p service.Parts) (service.Runner, error) {
		if err := frontier.CheckDaemonDir(cfg.Dir, p.Spec.Name); err != nil {
			return nil, err
		}
		f, err := frontier.New(p.Queue, p.Spec, frontier.Options{
			Dir: cfg.Dir, Instance: o.Instance, Log: o.Log, Registry: p.Registry, Tracer: tracer, CrawlLog: crawlLog,
			Checkpoint: int64(cfg.Checkpoint), MinFree: int64(cfg.MinFree),
		})
		if err != nil || !cfg.Mail.On() {
			return f, err
		}
		mail, err := updates.NewService(ctx, p.Queue, p.Bucket, p.Spec, cfg.MailOptions(p.Registry, o.Log))
		return service.Together{f, mail}, err
	})
}
