// Command fetcher fetches the pages of a crawl, politely. It asks frontiers for visits over NATS
// and keeps no state: run as many as you like.
package main

import (
	"context"
	"io"
	"os"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/service"
)

func main() {
	ctx, stop := service.Signals(context.Background())
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// run is the daemon from arguments to exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	cfg := config.NewFetcher()
	if err := config.Parse("fetcher", cfg, args, stderr); err != nil {
		return config.Exit("fetcher", err, stderr)
	}
	o := cfg.Options("fetcher", "", stderr)
	signer, err := cfg.Signer()
	if err != nil {
		return config.Exit("fetcher", err, stderr)
	}
	err = service.Daemon(ctx, o, func(p service.Parts) (service.Runner, error) {
		if set := wire.ProxyVariables(); len(set) > 0 {
			o.Log.Warn("a proxy is configured and not used: sites are asked directly", "variables", set)
		}
		return fetcher.New(p.Queue, p.Spec, fetcher.Options{
			Name: o.Instance, Hands: cfg.Visits, MaxBody: int64(cfg.MaxBody), PageMemory: int64(cfg.PageMemory), Signer: signer, Log: o.Log, Registerer: p.Registry,
		})
	})
	return config.Exit("fetcher", err, stderr)
}
