package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/render"
)

// Counted is a renderer whose pages are counted. It remembers why it is unavailable.
type Counted struct {
	renderer render.Renderer
	pages    *prometheus.CounterVec // by result
	requests prometheus.Counter
	running  prometheus.Gauge
	took     prometheus.Histogram

	mu  sync.Mutex // guards the field below
	why error      // of the last page: render.ErrUnavailable, or nil
}

// Count counts the pages of a renderer. started returns how many browsers it has started.
func Count(r render.Renderer, started func() int, reg prometheus.Registerer) (*Counted, error) {
	c := &Counted{
		renderer: r,
		pages:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_render_pages_total", Help: "Pages by how rendering them ended."}, []string{"result"}),
		requests: prometheus.NewCounter(prometheus.CounterOpts{Name: "curtsy_render_requests_total", Help: "Requests of pages that were passed to fetchers."}),
		running:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "curtsy_render_pages_running", Help: "Pages that are being rendered."}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "curtsy_render_seconds", Help: "Time of a page, without the time in which it waited for responses.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 20, 40},
		}),
	}
	for _, result := range []string{"rendered", "failed", "unavailable", "given_up"} {
		c.pages.WithLabelValues(result)
	}
	browsers := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "curtsy_render_browsers_started_total", Help: "Browsers that were started."}, func() float64 { return float64(started()) })
	for _, m := range []prometheus.Collector{c.pages, c.requests, c.running, c.took, browsers} {
		if err := reg.Register(m); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Err says why the last page could not be rendered if that was not its own fault, or nothing.
func (c *Counted) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// Render implements render.Renderer.
func (c *Counted) Render(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	c.running.Inc()
	defer c.running.Dec()
	began, waited := time.Now(), time.Duration(0)
	r, err := c.renderer.Render(ctx, p, func(r render.Request) render.Response {
		c.requests.Inc()
		asked := time.Now()
		defer func() { waited += time.Since(asked) }()
		return fetch(r)
	})
	result, unavailable := "rendered", errors.Is(err, render.ErrUnavailable)
	failed := (*render.Failed)(nil)
	switch {
	case errors.As(err, &failed):
		result = "failed"
	case unavailable:
		result = "unavailable"
	case err != nil:
		result = "given_up"
	}
	c.pages.WithLabelValues(result).Inc()
	c.took.Observe((time.Since(began) - waited).Seconds())
	if result == "given_up" {
		return r, err // it says nothing about the renderer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why = nil; unavailable {
		c.why = err
	}
	return r, err
}
