package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/dashboard"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/mcpserver"
	"github.com/curtsy/curtsy/internal/version"
)

func (a *app) mcpCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an assistant search a crawl (Model Context Protocol)",
		Long: `Answer an assistant over standard input and output, in the Model Context Protocol, until it closes them: search, the text of a
page, what became of a URL, datasets, hosts. It only reads; the crawl may begin and end meanwhile. Assistants start it themselves:

  {"mcpServers": {"curtsy": {"command": "curtsy", "args": ["mcp", "--dir", "/var/lib/curtsy"]}}}

Of a page whose site does not allow its use as input of a model (Content-Usage: ai-use=n, Content-Signal: ai-input=no, noai and the
like) they get title and address and no text; nosnippet and noarchive hold as everywhere. No setting changes that.

Assistants that ask over HTTP find the same at /mcp of the dashboard, of a crawl that runs or of curtsy dashboard: with its token, sent as
Authorization: Bearer TOKEN.`,
		Example: `  curtsy mcp --dir /var/lib/curtsy
  curtsy mcp --nats nats://n1:4222 --crawl docs`,
		Args: no,
	}
	return configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		return a.mcp(cmd.Context(), cfg)
	})
}

func (a *app) mcp(ctx context.Context, cfg *config.Reader) error {
	log := serviceLog(cfg.Common, slog.LevelWarn, a.stderr)
	o := mcpserver.Options{Log: log, Version: version.Get().Version}
	watch := func(context.Context) error { return nil }
	if cfg.URL != "" {
		c, err := asker.Dial(ctx, a.natsOptions(cfg.NATS, "curtsy mcp"), crawl.Names(cfg.Crawl), log)
		if err != nil {
			return err
		}
		defer c.Close()
		o.Ask, o.Name = dashboard.Of(c).Assistants(), c.Spec.Name
	} else {
		d, err := engine.WatchDirectory(ctx, cfg.Dir, log, engine.OpenFiles)
		if err != nil {
			return err
		}
		defer d.Close()
		o.Ask, o.Name, watch = dashboard.Ask(d.Ask).Assistants(), d.Name(), d.Run
	}
	g, ctx := errgroup.WithContext(ctx)
	ctx, over := context.WithCancel(ctx)
	g.Go(func() error { return watch(ctx) })
	g.Go(func() error {
		defer over() // whoever started us has closed our input
		return mcpserver.New(o).Talk(ctx, a.stdin, a.stdout)
	})
	return g.Wait()
}
