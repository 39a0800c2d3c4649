package wire

import (
	"context"
	"sync"
)

// watch closes the connection of a running request as soon as the context of its session ends: at
// the end of the lease, or of the visit. It observes the context once for all requests of the
// session.
type watch struct {
	stop func() bool // ends the observation; it belongs to the visit's goroutine

	mu      sync.Mutex // guards the fields below
	running *conn      // nil: no request is running
	over    bool       // the context has ended
}

// begin watches over a request on c. If the context has ended already, it closes c.
func (w *watch) begin(ctx context.Context, c *conn) {
	w.mu.Lock()
	w.running = c
	over := w.over
	w.mu.Unlock()
	if over {
		c.Close()
	} else if w.stop == nil {
		w.stop = context.AfterFunc(ctx, w.close)
	}
}

// close is called when the context has ended.
func (w *watch) close() {
	w.mu.Lock()
	w.over = true
	c := w.running
	w.mu.Unlock()
	if c != nil {
		c.Close()
	}
}

// end ends the watch over the running request, if there is one.
func (w *watch) end() {
	w.mu.Lock()
	w.running = nil
	w.mu.Unlock()
}

// release ends the observation of the context.
func (w *watch) release() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}
