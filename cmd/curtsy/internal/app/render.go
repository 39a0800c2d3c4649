package app

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/render/browser"
	"github.com/curtsy/curtsy/internal/render/remote"
)

// Browsers run the scripts of pages for the fetcher of this process. Close ends them.
type Browsers struct {
	render.Renderer
	Slots int           // pages at the same time
	own   *browser.Late // nil: a renderer of a test
}

// NewBrowsers returns the browsers of this process, with their counters in reg. None is started
// before a page needs it.
func (a *App) NewBrowsers(c config.Rendering, reg *prometheus.Registry, log *slog.Logger) (*Browsers, error) {
	if a.Renderer != nil {
		return &Browsers{Renderer: a.Renderer, Slots: c.Slots}, nil
	}
	own := browser.Later(browser.Options{Path: c.Browser, Processes: c.Slots, Log: log})
	counted, err := remote.Count(own, own.Started, reg)
	if err != nil {
		return nil, err
	}
	return &Browsers{counted, c.Slots, own}, nil
}

// Ready reports why no browser can be started here.
func (b *Browsers) Ready() error {
	if b.own == nil {
		return nil
	}
	if err := b.own.Ready(); err != nil {
		return Usage("%w; or crawl without it (--render never)", err)
	}
	return nil
}

// Close ends the browsers.
func (b *Browsers) Close() {
	if b.own != nil {
		b.own.Close()
	}
}
