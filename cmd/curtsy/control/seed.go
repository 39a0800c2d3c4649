package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/spf13/cobra"
)

func (a *commands) seedCommand() *cobra.Command {
	cfg := config.NewSeed()
	cmd := &cobra.Command{
		Use:   "seed [flags] URL...",
		Short: "Add URLs to a running crawl",
		Long: `Add URLs to a crawl that runs in --dir, or to a crawl of daemons (--nats URL --crawl NAME).

On a NATS server the crawl is created if it does not exist. Flags that are given replace the
settings of the crawl; all others keep their values. Without a URL only the settings change.`,
		Example: `  curtsy seed https://docs.example.org/new/
  curtsy seed --nats nats://127.0.0.1:4222 --crawl docs --contact me@example.org https://docs.example.org/`,
	}
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, args []string, src *config.Source) error {
		seeds, err := a.ReadSeeds(args, cfg.Seeds, &cfg.Plan)
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		q, err := a.dialForSeed(ctx, cfg)
		if err != nil {
			return err
		}
		defer q.Close()
		return a.seed(ctx, q, cfg, src.Given, seeds)
	})
}

// dialForSeed connects to the NATS server of the settings, or to that of the crawl in the
// directory.
func (a *commands) dialForSeed(ctx context.Context, cfg *config.Seed) (*queue.Conn, error) {
	if cfg.URL != "" {
		return queue.Dial(ctx, a.NATSOptions(cfg.NATS, "curtsy seed"), term.ServiceLog(cfg.Common, slog.LevelWarn, a.Stderr, new(term.Recently)))
	}
	l, err := a.Reach(ctx, &config.Reader{Common: cfg.Common, NATS: cfg.NATS, Dir: cfg.Dir})
	if err != nil {
		return nil, err
	}
	cfg.Crawl = l.Spec.Name
	return l.Queue, nil
}

func (a *commands) seed(ctx context.Context, q *queue.Conn, cfg *config.Seed, given func(string) bool, seeds []canon.URL) error {
	kv, err := q.OpenBucket(ctx, crawl.Names(cfg.Crawl).Bucket(), cfg.Replicas)
	if err != nil {
		return err
	}
	if cfg.URL != "" {
		// Fetchers need it, and may not change it if an older version made it.
		if _, err := q.OpenSizedBucket(ctx, crawl.HostsBucket, crawl.HostsBucketBytes); err != nil {
			return err
		}
	}
	room := func(crawl.Spec) frontier.StreamLimits { return frontier.StreamLimits{Replicas: cfg.Replicas} }
	p, created, err := engine.Create(ctx, q, kv, room, app.Me(), func(old *crawl.Spec) (crawl.Spec, error) {
		return app.PlannedSpec(cfg.Plan, cfg.NATS, given, old, seeds)
	})
	if err != nil {
		return err
	}
	spec, l := p.Spec, asker.Running(q, kv, p.Spec)
	switch {
	case created:
		fmt.Fprintf(a.Stdout, "created crawl %q with %d shards\n", spec.Name, spec.Shards)
	case p.Settings != "":
		fmt.Fprintln(a.Stdout, term.Clean(p.Settings))
	case len(seeds) == 0:
		fmt.Fprintln(a.Stdout, "nothing changes; to add a URL: curtsy seed https://docs.example.org/")
	}
	if err := control.Notify(ctx, l, p.Unlogged); err != nil {
		return err
	}
	if p.Seeds { // the line is there
		err = asker.Seed(ctx, q, spec, seeds)
	} else {
		err = control.SubmitSeeds(ctx, l, app.Me(), seeds)
	}
	if err != nil {
		return err
	}
	if len(seeds) > 0 || created {
		fmt.Fprintf(a.Stdout, "submitted %s to crawl %q\n", term.Count(int64(len(seeds)), "URL"), spec.Name)
	}
	_, err = asker.Status(ctx, q, spec)
	if errors.Is(err, ask.ErrNobody) {
		fmt.Fprintln(a.Stderr, "no frontier is running yet; the URLs wait until one is started: curtsy frontier --nats URL --crawl "+spec.Name)
		return nil
	}
	if errors.Is(err, ask.ErrIncomplete) {
		fmt.Fprintln(a.Stderr, err)
		return nil
	}
	return err
}
