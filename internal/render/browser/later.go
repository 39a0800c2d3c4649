package browser

import (
	"context"
	"sync"

	"github.com/curtsy/curtsy/internal/render"
)

// Late is a renderer that is made when the first page needs it.
type Late struct {
	opt Options

	mu       sync.Mutex // guards the fields below
	renderer *Renderer
	closed   bool
}

// Later returns a renderer that calls New when the first page is to be rendered. If New fails, the
// page gets its error, and the next page tries again.
func Later(opt Options) *Late { return &Late{opt: opt} }

// Render implements render.Renderer.
func (l *Late) Render(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	r, err := l.get()
	if err != nil {
		return nil, err
	}
	return r.Render(ctx, p, fetch)
}

// Ready reports why no page can be rendered.
func (l *Late) Ready() error {
	_, err := l.get()
	return err
}

func (l *Late) get() (*Renderer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if l.renderer == nil {
		r, err := New(l.opt)
		if err != nil {
			return nil, err
		}
		l.renderer = r
	}
	return l.renderer, nil
}

// Started is how many browsers were started.
func (l *Late) Started() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renderer == nil {
		return 0
	}
	return l.renderer.Started()
}

// Close ends all browsers. Pages that are being rendered fail.
func (l *Late) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; l.renderer != nil {
		l.renderer.Close()
	}
}

// Started is how many browsers were started.
func (r *Renderer) Started() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}
