package daemons

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/sinks"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/spf13/cobra"
)

func feederCommand(stderr io.Writer) *cobra.Command {
	cfg := config.NewFeeder()
	cmd, loaded := command("feeder", "--nats URL --crawl NAME --to URL [flags]", "Keep another system in step with the stored pages of a crawl", cfg)
	cmd.Example += " --to file:///srv/pages"
	cmd.RunE = loaded(func(cmd *cobra.Command, _ []string) error { return serveFeeder(cmd.Context(), cfg, stderr) })
	return cmd
}

func serveFeeder(ctx context.Context, cfg *config.Feeder, stderr io.Writer) (err error) {
	sink, name, err := sinks.Open(cfg.To, cfg.Sinks())
	if err != nil {
		return config.Errorf("to: %v", err)
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	if err := os.MkdirAll(cfg.Dir, disk.DirMode); err != nil {
		return err
	}
	name = cmp.Or(cfg.Name, name)
	o := cfg.Options("feeder", "", stderr)
	return service.Daemon(ctx, o, func(p service.Parts) (service.Runner, error) {
		if err := feed.CheckFields(cfg.Fields, p.Spec); err != nil {
			return nil, config.Errorf("fields: %v", err)
		}
		metrics, err := feed.NewMetrics(p.Registry)
		if err != nil {
			return nil, err
		}
		return feed.New(asker.Running(p.Queue, p.Bucket, p.Spec), p.Spec, sink, feed.Options{Name: name, Content: cfg.Content, Fields: cfg.Fields, For: cfg.For,
			UnknownToo: cfg.UnknownToo, Every: cfg.Every(), Dead: feed.DeadFile(cfg.Dir, name), Log: o.Log, Events: metrics.Events(name)})
	})
}
