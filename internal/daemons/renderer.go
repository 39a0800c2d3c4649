package daemons

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/render/browser"
	"github.com/curtsy/curtsy/internal/render/remote"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

func rendererCommand(stderr io.Writer) *cobra.Command {
	cfg := config.NewRenderer()
	cmd, loaded := command("renderer", "--nats URL [flags]", "Run the scripts of pages for all fetchers of a NATS server", cfg)
	cmd.Long = `Run the scripts of pages for all fetchers of a NATS server.

Fetchers of all its crawls use it for pages that are to be rendered (--render). A browser has no
network: what a page requests is requested by the fetcher, as politely as the page itself.

` + alsoSettings
	cmd.Example = "  curtsy renderer --nats nats://127.0.0.1:4222"
	cli.Later(cmd, func() {
		// Settings of crawls, which it takes no notice of.
		for _, name := range []string{"crawl", "nats-replicas", "trace-endpoint", "trace-ratio"} {
			cmd.PersistentFlags().Lookup(name).Hidden = true
		}
	})
	cmd.RunE = loaded(func(cmd *cobra.Command, _ []string) error { return serveRenderer(cmd.Context(), cfg, stderr) })
	return cmd
}

func serveRenderer(ctx context.Context, cfg *config.Renderer, stderr io.Writer) error {
	o := cfg.Options("renderer", "", stderr)
	own, err := browser.New(browser.Options{Path: cfg.Browser, Processes: cfg.Slots, Pages: cfg.Pages, Memory: int64(cfg.Memory), Log: o.Log})
	if err != nil {
		return err
	}
	defer own.Close()
	o.Log.Info("browsers are kept from the network", "isolation", own.Isolation())
	var renderer render.Renderer = own
	if service.CheckPassword(crawl.Spec{Contact: "anybody"}, o.Queue) != nil {
		renderer = forDemos{own}
	}
	return service.Stand(ctx, o, func(reg *prometheus.Registry) (service.Standing, error) {
		counted, err := remote.Count(renderer, own.Started, reg)
		return standingRenderer{counted, remote.Options{Slots: cfg.Slots, Log: o.Log}}, err
	})
}

// forDemos is the renderer of a process with a password of the demo, which everybody knows. It
// renders no pages of a crawl with a contact, which the User-Agent names.
type forDemos struct{ render.Renderer }

// Render implements render.Renderer.
func (r forDemos) Render(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	if strings.Contains(p.UserAgent, "(+") {
		return nil, fmt.Errorf("%w: %w", render.ErrUnavailable, service.ErrDemoPassword)
	}
	return r.Renderer.Render(ctx, p, fetch)
}

// ownRenderer returns a function that returns the renderer of a process with a browser of its own,
// with its counters in reg, or nil if no browser is configured. end ends the browser.
func ownRenderer(c config.Rendering, log *slog.Logger) (own func(reg *prometheus.Registry) (render.Renderer, error), end func(), err error) {
	if c.Browser == "" {
		return func(*prometheus.Registry) (render.Renderer, error) { return nil, nil }, func() {}, nil
	}
	r, err := browser.New(browser.Options{Path: c.Browser, Processes: c.Slots, Log: log})
	if err != nil {
		return nil, nil, err
	}
	var once sync.Once
	var counted *remote.Counted
	var failed error
	return func(reg *prometheus.Registry) (render.Renderer, error) {
		// The crawls of a process share it.
		once.Do(func() { counted, failed = remote.Count(r, r.Started, reg) })
		return counted, failed
	}, r.Close, nil
}

// standingRenderer renders pages for the fetchers of a NATS server.
type standingRenderer struct {
	*remote.Counted
	o remote.Options
}

// Run implements service.Standing.
func (s standingRenderer) Run(ctx context.Context, q *queue.Conn) error {
	return remote.Serve(ctx, q.NC, s.Counted, s.o)
}
