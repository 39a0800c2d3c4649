package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// connect starts the embedded server, or connects to the given one, and finds out the name of the
// crawl.
func (e *Engine) connect(ctx context.Context) (err error) {
	nats := e.o.NATS
	if e.srv = e.o.Server; e.srv == nil && e.o.embedded() {
		if IsNew(e.o.Dir) { // a new server has no crawl
			e.o.Crawl = cmp.Or(e.o.Crawl, DefaultCrawl)
			// The directory may belong to another crawl, or to one of the same name on another NATS
			// server. No store of an embedded server must be left in it, or that crawl would be
			// refused later as one with an embedded server.
			if err := e.checkInUse(); err != nil {
				return err
			}
		}
		e.srv, err = embedded.Start(embedded.Options{Dir: natsDir(e.o.Dir), Listen: "127.0.0.1:0", MaxConns: fair.Process().Most(), Log: e.o.Log})
		if err != nil {
			return err
		}
	}
	if e.srv != nil {
		nats = queue.Options{InProcess: e.srv.InProcess(), User: e.srv.User(), Password: e.srv.Password(), Name: nats.Name}
	}
	if e.q, err = queue.Dial(ctx, nats, e.o.Log); err != nil {
		return err
	}
	if e.srv != nil { // it has only one crawl, so the name is optional
		there, err := asker.Crawls(ctx, e.q)
		if err != nil {
			return err
		}
		if len(there) > 0 && e.o.Crawl == "" {
			e.o.Crawl = there[0]
		} else if len(there) > 0 && e.o.Crawl != there[0] {
			return &InUseError{Dir: e.o.Dir, Crawl: there[0]}
		}
	}
	if e.o.Crawl == "" {
		e.o.Crawl = DefaultCrawl
	}
	return e.checkInUse()
}

// streamLimits returns the limits for the streams of a new crawl.
func (e *Engine) streamLimits(spec crawl.Spec) frontier.StreamLimits {
	room := e.o.StreamLimits
	if e.srv != nil && room.Events == 0 && room.Pages == 0 {
		room.Events, room.Pages = embedded.Budget(e.srv.MaxStore(), spec.Shards)
	}
	return room
}

// Create creates the crawl that plan describes, or changes the existing one as control.Plan does.
// The streams of a new crawl exist before its spec, because services wait for the spec.
func Create(ctx context.Context, q *queue.Conn, kv jetstream.KeyValue, room func(crawl.Spec) frontier.StreamLimits, by control.By,
	plan func(old *crawl.Spec) (crawl.Spec, error)) (p control.Planned, created bool, err error) {
	spec, err := service.ReadSpec(ctx, kv)
	if errors.Is(err, service.ErrNoSpec) {
		created = true
		if spec, err = plan(nil); err == nil {
			err = frontier.EnsureStreams(ctx, q, spec, room(spec))
		}
	}
	if err != nil {
		return p, false, err
	}
	p, err = control.Plan(ctx, asker.Running(q, kv, spec), by, plan)
	return p, created, err
}
