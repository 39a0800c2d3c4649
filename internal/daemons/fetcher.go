package daemons

import (
	"context"
	"io"
	"sync"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/render/remote"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/spf13/cobra"
)

func fetcherCommand(stderr io.Writer) *cobra.Command {
	cfg := config.NewFetcher()
	cmd, loaded := command("fetcher", daemonUsage, "Fetch the pages of a crawl, or of several, politely", cfg)
	cmd.RunE = loaded(func(cmd *cobra.Command, _ []string) error { return serveFetcher(cmd.Context(), cfg, stderr) })
	return cmd
}

func serveFetcher(ctx context.Context, cfg *config.Fetcher, stderr io.Writer) error {
	o := cfg.Options("fetcher", "", stderr)
	signer, err := cfg.Signer()
	if err != nil {
		return err
	}
	shown, err := cfg.Shown()
	if err != nil {
		return err
	}
	proxy, err := cfg.Through(shown)
	if err != nil {
		return err
	}
	key, err := cfg.RobotKey()
	if err != nil {
		return err
	}
	robot, err := fetcher.PageReader(key)
	if err != nil {
		return err
	}
	tracer, err := cfg.Tracer("fetcher", o.Instance, o.Log)
	if err != nil {
		return err
	}
	defer tracer.Close()
	weight := map[string]int{}
	for _, s := range cfg.Shares() {
		o.Crawls = append(o.Crawls, s.Name)
		weight[s.Name] = s.Weight
	}
	own, end, err := ownRenderer(cfg.Rendering, o.Log)
	if err != nil {
		return err
	}
	defer end()
	options := fetcher.Options{
		Name: o.Instance, Slots: cfg.Visits, MaxBody: int64(cfg.MaxBody), MaxCatalogue: int64(cfg.MaxCatalogue), PageMemory: int64(cfg.PageMemory), PDFToText: cfg.PDFToText, Renders: cfg.Rendering.Slots, Signer: signer, Robot: robot, Tracer: tracer, Credentials: shown, Proxy: proxy, Log: o.Log,
	}
	var shared sharedOnce
	return service.Daemon(ctx, o, func(p service.Parts) (service.Runner, error) {
		options := options
		options.Registerer = p.Registry
		var err error
		if options.Renderer, err = own(p.Registry); err != nil {
			return nil, err
		}
		if options.Renderer == nil {
			options.Renderer = remote.New(p.Queue.NC, remote.ClientOptions{})
		}
		if len(o.Crawls) > 1 {
			if options.Shared, err = shared.of(options); err != nil {
				return nil, err
			}
			options.Weight, options.Log = weight[p.Spec.Name], o.Log.With("crawl", p.Spec.Name)
		}
		if word := wire.ProxyWord(); word != "" && proxy == nil {
			o.Log.Warn(word)
		}
		return fetcher.New(p.Queue, p.Spec, options)
	})
}

// sharedOnce is what the crawls of the process share. The first crawl that is ready creates it.
type sharedOnce struct {
	once   sync.Once
	shared *fetcher.Shared
	err    error
}

func (s *sharedOnce) of(o fetcher.Options) (*fetcher.Shared, error) {
	s.once.Do(func() { s.shared, s.err = fetcher.NewShared(o) })
	return s.shared, s.err
}
