package daemons

import (
	"context"
	"io"
	"sync"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/service"
)

// Fetcher is the fetcher daemon from arguments to exit code.
func Fetcher(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg := config.NewFetcher()
	if err := config.Parse("fetcher", cfg, args, stdout, stderr); err != nil {
		return config.Exit("fetcher", err, stderr)
	}
	o := cfg.Options("fetcher", "", stderr)
	signer, err := cfg.Signer()
	if err != nil {
		return config.Exit("fetcher", err, stderr)
	}
	shown, err := cfg.Shown()
	if err != nil {
		return config.Exit("fetcher", err, stderr)
	}
	proxy, err := cfg.Through(shown)
	if err != nil {
		return config.Exit("fetcher", err, stderr)
	}
	tracer, err := cfg.Tracer("fetcher", o.Instance, o.Log)
	if err != nil {
		return config.Exit("fetcher", err, stderr)
	}
	defer tracer.Close()
	weight := map[string]int{}
	for _, s := range cfg.Shares() {
		o.Crawls = append(o.Crawls, s.Name)
		weight[s.Name] = s.Weight
	}
	options := fetcher.Options{
		Name: o.Instance, Hands: cfg.Visits, MaxBody: int64(cfg.MaxBody), MaxCatalogue: int64(cfg.MaxCatalogue), PageMemory: int64(cfg.PageMemory), PDFToText: cfg.PDFToText, Signer: signer, Tracer: tracer, Credentials: shown, Proxy: proxy, Log: o.Log,
	}
	var shared sharedOnce
	err = service.Daemon(ctx, o, func(p service.Parts) (service.Runner, error) {
		options := options
		options.Registerer = p.Registry
		if len(o.Crawls) > 1 {
			var err error
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
	return config.Exit("fetcher", err, stderr)
}

// sharedOnce is what the crawls of the process share, made by the first of them that is there.
type sharedOnce struct {
	once   sync.Once
	shared *fetcher.Shared
	err    error
}

func (s *sharedOnce) of(o fetcher.Options) (*fetcher.Shared, error) {
	s.once.Do(func() { s.shared, s.err = fetcher.NewShared(o) })
	return s.shared, s.err
}
