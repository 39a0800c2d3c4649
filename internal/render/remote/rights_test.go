package remote

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
)

// A renderer and a fetcher with the rights of deploy/nats.cluster.conf work together. A renderer
// that was taken over by a page can neither write to the crawl nor read what other roles are sent.
func TestRenderersRights(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		connect := broker.Roles(t, "../../../deploy/nats.cluster.conf")
		renderer, fetcher := connect("renderer"), connect("fetcher")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, renderer.NC, fake(func(context.Context, *render.Page, render.Fetch) (*render.Result, error) {
				return new(render.Result), nil
			}), Options{Log: slog.New(slog.DiscardHandler)})
		}()
		synctest.Wait()
		if _, err := New(fetcher.NC, ClientOptions{}).Render(t.Context(), page(nil), noRequests); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		// The server reports a refusal on the connection, and the last one can be read there.
		refused := func(nc *nats.Conn, what string) {
			t.Helper()
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, subject := range []string{
			crawl.RenderSubject, "demo.control", "demo.events.0", "demo.pages.0", "demo.take.frontier-1", "demo.q.status", "_INBOX.frontier.x", "_INBOX.renderer.x",
			"$KV.demo-CRAWL.spec", "$JS.API.STREAM.MSG.GET.KV_demo-CRAWL", "$JS.API.STREAM.CREATE.x",
		} {
			nc := connect("renderer").NC
			if err := nc.Publish(subject, nil); err != nil {
				t.Fatal(err)
			}
			refused(nc, "publishing on "+subject)
		}
		for _, subject := range []string{">", "demo.>", "demo.events.0", "_INBOX.>", "_INBOX.fetcher.>", "_INBOX.operator.>", "$JS.>"} {
			nc := connect("renderer").NC
			if _, err := nc.Subscribe(subject, func(*nats.Msg) {}); err != nil {
				t.Fatal(err)
			}
			refused(nc, "subscribing to "+subject)
		}
		nc := connect("fetcher").NC
		if _, err := nc.Subscribe(crawl.RenderSubject, func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		refused(nc, "a fetcher as a renderer")
	})
}
