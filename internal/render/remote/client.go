package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
)

const (
	// acceptWithin is how long a free slot may take to answer.
	acceptWithin = 2 * time.Second
	// The pauses between two requests for a slot.
	leastAsk = 50 * time.Millisecond
	mostAsk  = time.Second

	maxURL  = 16 << 10 // bytes of the URL of a request
	maxText = 1 << 10  // bytes of its other texts
)

// ClientOptions are the options of New. The zero value of a field stands for its default.
type ClientOptions struct {
	// Patience is how long a page waits for a free slot; 0 = 10 s. Meanwhile its host is not
	// visited, and a page in another slot may need something of this host.
	Patience time.Duration
}

// New returns a renderer that has pages rendered by the processes that call Serve on the same NATS
// account. A page waits for a free slot.
func New(nc *nats.Conn, o ClientOptions) render.Renderer {
	return &client{nc, cmp.Or(max(o.Patience, 0), 10*time.Second)}
}

type client struct {
	nc       *nats.Conn
	patience time.Duration
}

// Render implements render.Renderer.
func (c *client) Render(ctx context.Context, p *render.Page, fetch render.Fetch) (*render.Result, error) {
	page, err := message{Page: p}.encode()
	if err != nil {
		return nil, &render.Failed{Why: "the page: " + err.Error()}
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, failure(ctx, err)
	}
	defer s.close("")
	reconnects := c.nc.Stats().Reconnects
	r, err := (&conversation{session: s, page: p, limits: p.Limits.WithDefaults(), fetch: fetch}).run(page)
	if failed := (*render.Failed)(nil); err == nil || errors.As(err, &failed) {
		return r, err
	}
	// If our own connection was gone, nothing is known of the renderer.
	away := !c.nc.IsConnected() || c.nc.Stats().Reconnects != reconnects
	if ctx.Err() == nil && !errors.Is(err, errLeft) && !away {
		return nil, fmt.Errorf("%w: %w", render.ErrLost, err)
	}
	return nil, failure(ctx, err)
}

// failure is the error of Render if there is no result.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", render.ErrUnavailable, err)
}

// open waits for a free slot and begins a session with it.
func (c *client) open(ctx context.Context) (*session, error) {
	again := backoff.Delay{Least: leastAsk, Most: mostAsk}
	for began := time.Now(); ; {
		s, err := c.ask(ctx)
		if err == nil {
			return s, nil
		}
		if time.Since(began) >= c.patience {
			return nil, fmt.Errorf("no renderer had a free slot for %v: %w", c.patience, err)
		}
		if err := again.Sleep(ctx); err != nil {
			return nil, err
		}
	}
}

// ask begins a session if a slot is free.
func (c *client) ask(ctx context.Context) (*session, error) {
	s, err := newSession(ctx, c.nc, "")
	if err != nil {
		return nil, err
	}
	if err := c.nc.PublishRequest(crawl.RenderSubject, s.sub.Subject, frame{flags: opens}.append(nil)); err != nil {
		s.close("")
		return nil, err
	}
	t := time.NewTimer(acceptWithin)
	defer t.Stop()
	select {
	case <-s.opened:
		return s, nil
	case <-s.ctx.Done():
		err = context.Cause(s.ctx)
	case <-t.C:
		err = errSilent
	}
	s.close("")
	if errors.Is(err, errGone) {
		err = errors.New("none runs, or all are busy")
	}
	return nil, err
}

// conversation is a session in which a page is rendered.
type conversation struct {
	*session
	page     *render.Page
	limits   render.Limits
	fetch    render.Fetch
	requests int   // that were passed to fetch
	bytes    int64 // of their responses
}

func (c *conversation) run(page []byte) (*render.Result, error) {
	if err := c.send(page); err != nil {
		return nil, err
	}
	for {
		m, err := c.receive()
		switch {
		case err != nil:
			return nil, err
		case m.Result != nil:
			return m.Result, nil
		case m.Failed != nil:
			return nil, m.Failed
		case m.Request == nil:
			return nil, errOrder
		}
		if err := c.answer(*m.Request); err != nil {
			return nil, err
		}
	}
}

// answer fetches what the page asks for, and sends it to the renderer.
func (c *conversation) answer(r render.Request) error {
	response := render.Response{Refused: c.refusal(r)}
	if response.Refused == "" {
		c.requests++
		response = c.fetch(r)
		c.bytes += int64(len(response.Body))
	}
	b, err := message{Response: &response}.encode()
	if err != nil {
		b, err = message{Response: &render.Response{Refused: err.Error()}}.encode()
	}
	if err != nil {
		return err
	}
	return c.send(b)
}

// refusal says why a request is not passed to fetch, or nothing. A renderer runs what pages
// contain, so the fetcher does not rely on it.
func (c *conversation) refusal(r render.Request) string {
	malformed := func(s string) bool { return len(s) > maxText || strings.ContainsFunc(s, unicode.IsControl) }
	switch {
	case c.requests >= c.limits.Requests:
		return "too many requests"
	case c.bytes >= c.limits.Bytes:
		return "too many bytes"
	case r.Method != "GET" && r.Method != "HEAD":
		return "the method is neither GET nor HEAD"
	case !slices.Contains(render.Always, r.Kind) && !slices.Contains(c.page.Load, r.Kind):
		return "this kind of request is not made"
	case len(r.URL) > maxURL || !strings.HasPrefix(r.URL, "http://") && !strings.HasPrefix(r.URL, "https://"):
		return "the URL is too long, or not one of http or https"
	case malformed(r.Accept) || malformed(r.Origin):
		return "malformed fields"
	}
	return ""
}
