package remote

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
)

// group is the queue group of free slots.
const group = "slots"

// pageWithin is how long a fetcher may take to send the page.
const pageWithin = time.Minute

// The pauses of a slot whose renderer is unavailable. Meanwhile other renderers get the pages.
const (
	leastPause = time.Second
	mostPause  = 30 * time.Second
)

// errStopped is the reason that a fetcher is given when the grace of a renderer is over.
var errStopped = errors.New("the renderer was stopped")

// Options are the options of Serve. The zero value of a field stands for its default.
type Options struct {
	Slots int           // pages that are rendered at the same time; 0 = 1
	Grace time.Duration // for running pages after ctx has ended; 0 = 20 s
	Log   *slog.Logger  // nil: slog.Default()
}

// Serve renders pages for all fetchers of the NATS account until ctx ends. Then it takes no more
// pages, gives the running ones some time, and returns.
func Serve(ctx context.Context, nc *nats.Conn, r render.Renderer, o Options) error {
	v := &server{nc: nc, renderer: r, log: cmp.Or(o.Log, slog.Default())}
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(cmp.Or(max(o.Grace, 0), 20*time.Second), func() { cancel(errStopped) })
		context.AfterFunc(running, func() { t.Stop() })
	})()
	var g errgroup.Group
	for range cmp.Or(max(o.Slots, 0), 1) {
		g.Go(func() error { return v.slot(ctx, running) })
	}
	return g.Wait()
}

type server struct {
	nc       *nats.Conn
	renderer render.Renderer
	log      *slog.Logger
}

// slot renders one page after the other until ctx ends. A page is rendered until running ends.
func (v *server) slot(ctx, running context.Context) error {
	pause := backoff.Delay{Least: leastPause, Most: mostPause}
	for ctx.Err() == nil {
		m, err := v.next(ctx)
		if m == nil {
			return err
		}
		if err := v.session(running, m); !errors.Is(err, render.ErrUnavailable) {
			pause.Reset()
			continue
		}
		_ = pause.Sleep(ctx) // the loop looks at ctx
	}
	return nil
}

// next waits for a fetcher that asks for a slot. It returns nil when ctx ends.
func (v *server) next(ctx context.Context) (*nats.Msg, error) {
	asked := make(chan *nats.Msg, 1)
	sub, err := v.nc.QueueSubscribe(crawl.RenderSubject, group, func(m *nats.Msg) { asked <- m })
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe()
	if err := sub.AutoUnsubscribe(1); err != nil {
		return nil, err
	}
	select {
	case m := <-asked:
		return m, nil
	case <-ctx.Done():
	}
	return nil, nil
}

// session renders a page for the fetcher that sent m. Its error is that of the renderer, or of the
// session if there was no page.
func (v *server) session(ctx context.Context, m *nats.Msg) error {
	if m.Reply == "" {
		return errFrame
	}
	s, err := newSession(ctx, v.nc, m.Reply)
	if err != nil {
		return err
	}
	reason := ""
	defer func() { s.close(reason) }()
	if _, err := parseFrame(m.Data); err != nil {
		v.log.Warn("a fetcher asks for what this renderer does not know", "err", err)
		reason = err.Error()
		return err
	}
	p, err := s.page()
	if err != nil {
		return err
	}
	answer := message{}
	result, err := v.renderer.Render(s.ctx, p, s.fetch)
	failed := (*render.Failed)(nil)
	switch {
	case errors.As(err, &failed):
		answer.Failed = failed
	case err != nil && ctx.Err() != nil:
		reason = context.Cause(ctx).Error()
		return err
	case err != nil:
		if reason = err.Error(); s.ctx.Err() != nil {
			reason = "" // the fetcher has left
		}
		return err
	default:
		answer.Result = result
	}
	s.finish(answer)
	return err
}

// page announces the slot to the fetcher and receives the page.
func (s *session) page() (*render.Page, error) {
	s.mu.Lock()
	err := s.publish(frame{})
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(pageWithin, func() { s.cancel(errSilent) })
	m, err := s.receive()
	late.Stop()
	if err != nil {
		return nil, err
	}
	if m.Page == nil {
		return nil, errOrder
	}
	m.Page.Limits = m.Page.Limits.WithDefaults()
	m.Page.Limits.HTML = min(m.Page.Limits.HTML, maxBody)
	return m.Page, nil
}

// fetch has the fetcher answer a request of the page. If it cannot, ctx of the session ends.
func (s *session) fetch(r render.Request) render.Response {
	m, err := s.exchange(message{Request: &r})
	if err == nil && m.Response == nil {
		err = errOrder
		s.cancel(err)
	}
	if err != nil {
		return render.Response{Refused: err.Error()}
	}
	return *m.Response
}

func (s *session) exchange(m message) (message, error) {
	b, err := m.encode()
	if err != nil {
		return message{}, err // of the request: its URL is too long
	}
	if err := s.send(b); err != nil {
		return message{}, err
	}
	return s.receive()
}

// finish sends the last message and waits until it has arrived, or the fetcher is gone.
func (s *session) finish(m message) {
	b, err := m.encode()
	for r := m.Result; err != nil && r != nil && len(r.Links) > 0; b, err = m.encode() {
		r.Links = r.Links[:len(r.Links)/2] // the page has millions of them
	}
	if err != nil {
		b, err = message{Failed: &render.Failed{Why: "the result: " + err.Error()}}.encode()
	}
	if err == nil && s.send(b) == nil {
		_ = s.wait(0)
	}
}
