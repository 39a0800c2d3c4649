package daemons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/curtsy/curtsy/internal/cli"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
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
	browser, end, err := newBrowser(cfg.Rendering, cfg.Pages, int64(cfg.Memory))
	if err != nil {
		return err
	}
	defer end()
	if service.CheckPassword(crawl.Spec{Contact: "anybody"}, o.Queue) != nil {
		browser = forDemos{browser}
	}
	return service.Stand(ctx, o, func(reg *prometheus.Registry) (service.Standing, error) {
		counted, err := remote.Count(browser, reg)
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
func ownRenderer(c config.Rendering) (own func(reg *prometheus.Registry) (render.Renderer, error), end func(), err error) {
	if c.Browser == "" {
		return func(*prometheus.Registry) (render.Renderer, error) { return nil, nil }, func() {}, nil
	}
	browser, end, err := newBrowser(c, 0, 0)
	var once sync.Once
	var counted *remote.Counted
	var failed error
	return func(reg *prometheus.Registry) (render.Renderer, error) {
		// The crawls of a process share it.
		once.Do(func() { counted, failed = remote.Count(browser, reg) })
		return counted, failed
	}, end, err
}

// newBrowser starts the browsers of a process. end ends them.
var newBrowser = func(config.Rendering, int, int64) (r render.Renderer, end func(), err error) {
	return nil, nil, errors.New("this build has no browser")
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
