package look

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/curtsy/curtsy/internal/web/dashboard"
	"github.com/curtsy/curtsy/internal/web/mcp"
)

func (a *commands) mcpCommand() *cobra.Command {
	cfg := config.NewReader()
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Answer an AI assistant about a crawl (Model Context Protocol)",
		Long: `Answer an AI assistant over standard input and output, in the Model Context Protocol, until it
closes them: search, text of pages, history of URLs, datasets, hosts. The assistant can only read.
The crawl may start and stop meanwhile. Assistants start the command themselves, by a setting such
as:

  {"mcpServers": {"curtsy":
    {"command": "curtsy", "args": ["mcp", "--dir", "/var/lib/curtsy"]}}}

If a site does not allow the use of a page as input of a model (Content-Usage: ai-use=n,
Content-Signal: ai-input=no, noai and the like), the assistant gets its title and URL, but not its
text. nosnippet and noarchive are obeyed too. No setting changes that.

Assistants that use HTTP reach the same at /mcp of a dashboard, with its token in the header
Authorization: Bearer TOKEN.`,
		Example: `  curtsy mcp --dir /var/lib/curtsy
  curtsy mcp --nats nats://n1:4222 --crawl docs`,
		Args: app.NoArgs,
	}
	return app.Configured(cmd, cfg, func(cmd *cobra.Command, _ []string, _ *config.Source) error {
		return a.mcp(cmd.Context(), cfg)
	})
}

func (a *commands) mcp(ctx context.Context, cfg *config.Reader) error {
	log := term.ServiceLog(cfg.Common, slog.LevelWarn, a.Stderr, new(term.Recently))
	o := mcp.Options{Log: log, Version: version.Get().Version}
	watch := func(context.Context) error { return nil }
	if cfg.URL != "" {
		c, err := asker.Dial(ctx, a.NATSOptions(cfg.NATS, "curtsy mcp"), crawl.Names(cfg.Crawl), log)
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
		defer over() // the assistant has closed our input
		return mcp.New(o).Talk(ctx, a.Stdin, a.Stdout)
	})
	return g.Wait()
}
