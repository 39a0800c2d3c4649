package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/version"
)

// EngineOptions are the settings as an engine needs them that opens a crawl without changing it.
func (a *App) EngineOptions(cfg *config.Crawl, log *slog.Logger) engine.Options {
	o := engine.Options{
		Dir: cfg.Dir, NATS: a.NATSOptions(cfg.NATS, "curtsy crawl"), StreamLimits: frontier.StreamLimits{Replicas: cfg.Replicas}, MinFree: int64(cfg.MinFree),
		CrawlLog: frontier.CrawlLog{Max: int64(cfg.LogMax), Keep: cfg.LogKeep},
		Version:  version.Get().Version, Log: log,
	}
	if cfg.URL != "" {
		o.Crawl = cfg.Crawl
	}
	return o
}

// FetcherOptions are the settings as the fetcher of a process needs them.
func (a *App) FetcherOptions(f *config.Fetch, s *config.Sign, d *config.SiteAccess) (o fetcher.Options, err error) {
	o = fetcher.Options{Slots: f.Visits, MaxBody: int64(f.MaxBody), MaxCatalogue: int64(f.MaxCatalogue), PageMemory: int64(f.PageMemory), PDFToText: f.PDFToText, Dial: a.Dial}
	if o.Signer, err = s.Signer(); err != nil {
		return o, err
	}
	if o.Credentials, err = d.Shown(); err != nil {
		return o, err
	}
	o.Proxy, err = d.Through(o.Credentials)
	return o, err
}

// StoppedOptions are the options of an engine that opens a crawl that does not run, for the time of
// a command. It has no fetcher, so that no request is sent, and no other command finds it.
func (a *App) StoppedOptions(cfg *config.Reader, log *slog.Logger) engine.Options {
	c := config.NewCrawl()
	c.Dir, c.Common, c.NATS = cfg.Dir, cfg.Common, cfg.NATS
	o := a.EngineOptions(c, log)
	o.NotFetched, o.Unreached = true, true
	return o
}

// Robot is the mobile robot that the fetchers of a process send, or nil if there is no key for it.
func Robot(r config.Robots) (*fetcher.Robot, error) {
	key, err := r.RobotKey()
	if err != nil {
		return nil, err
	}
	return fetcher.PageReader(key)
}

// PrintProxy reports a proxy in the environment that is not used, or what the proxy that is used
// cannot check.
func PrintProxy(d config.SiteAccess, say func(text string)) {
	switch word := wire.ProxyWord(); {
	case d.Proxy != "" && d.ProxyResolves:
		say(fetcher.ProxyResolvesLoss)
	case d.Proxy == "" && word != "":
		say(word)
	}
}

// ErrStopped is why a crawl or a download ends after `curtsy stop`.
var ErrStopped = errors.New("stopped by curtsy stop")

// OpenStopped opens the crawl in --dir, which does not run, for the time of a command: with its
// frontier and its indexer, and without a fetcher, so that no request is sent.
func (a *App) OpenStopped(ctx context.Context, cfg *config.Reader) (*engine.Engine, error) {
	from, err := engine.OpenFiles(cfg.Dir) // its error says what to type when there is no crawl
	if err != nil {
		return nil, err
	}
	if err := from.Close(); err != nil {
		return nil, err
	}
	if engine.IsNew(cfg.Dir) {
		return nil, Usage("the crawl in %s belongs to a NATS server; select it with --nats URL --crawl NAME", cfg.Dir)
	}
	return a.OpenEngine(ctx, a.StoppedOptions(cfg, a.Logger(cfg)))
}
