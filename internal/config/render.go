package config

import "errors"

// Rendering says how the scripts of pages are run.
type Rendering struct {
	Browser string `key:"render-browser" group:"Limits" usage:"run the scripts of pages with the Chromium at ‹PATH› (empty: curtsy crawl uses the one in PATH, and a fetcher uses the renderers of the NATS server)" example:"/usr/bin/chromium"`
	Slots   int    `key:"render-slots" group:"Limits" usage:"render ‹N› pages at the same time" example:"2"`
}

func newRendering() Rendering { return Rendering{Slots: 2} }

func (r Rendering) check(src *Source) error {
	switch {
	case r.Browser != "" && !executable(r.Browser):
		return src.Refuse("render-browser", "is not a program; use for example /usr/bin/chromium from the Debian package chromium")
	case r.Slots < 1 || r.Slots > 256:
		return src.Refuse("render-slots", "must be 1 to 256; use for example 2")
	}
	return nil
}

// Renderer are the settings of `curtsy renderer`.
type Renderer struct {
	Daemon    `key:",squash"`
	Rendering `key:",squash"`
	Pages     int  `key:"render-pages" group:"Limits" usage:"start a browser again after ‹N› pages" example:"100"`
	Memory    Size `key:"render-memory" group:"Limits" usage:"each process of a browser may use this ‹SIZE› of memory" example:"1GiB"`
}

// NewRenderer has the defaults of `curtsy renderer`.
func NewRenderer() *Renderer {
	return &Renderer{Daemon: newDaemon(), Rendering: newRendering(), Pages: 100, Memory: 1 << 30}
}

func (c *Renderer) check(src *Source) error {
	if c.Pages < 1 {
		return src.Refuse("render-pages", "is under 1; use for example 100")
	}
	if c.Memory < 128<<20 {
		return src.Refuse("render-memory", "is under 128MiB, which no browser can start with; use for example 1GiB")
	}
	return errors.Join(c.Daemon.check(src), c.Rendering.check(src))
}
