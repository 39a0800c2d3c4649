//go:build external

package deploytest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/queue"
)

// observer follows a crawl over NATS.
type observer struct {
	t    *testing.T
	q    *queue.Conn
	spec crawl.Spec
}

// observe connects to a server that runs, and waits for the crawl to be created.
func observe(t *testing.T, url, name string) *observer {
	t.Helper()
	q, err := queue.Dial(t.Context(), queue.Options{URL: url, Name: "deploytest"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	var spec crawl.Spec
	testaid.Until(t, "crawl "+name+" is created", func() bool {
		ctx, cancel := attempt(t)
		defer cancel()
		kv, err := q.JS.KeyValue(ctx, crawl.Names(name).Bucket())
		if err == nil {
			spec, err = service.ReadSpec(ctx, kv)
		}
		return err == nil
	})
	return &observer{t, q, spec}
}

// attempt limits the time of one attempt of many: a daemon that was killed never answers, and then
// the next attempt succeeds.
func attempt(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 10*time.Second)
}

// until waits until reached returns true. reached may fail, because daemons come and go.
func (o *observer) until(what string, reached func(context.Context) (crawl.Status, bool, error)) (st crawl.Status) {
	o.t.Helper()
	var err error
	testaid.Until(o.t, what, func() (ok bool) {
		ctx, cancel := attempt(o.t)
		defer cancel()
		st, ok, err = reached(ctx)
		return ok && err == nil
	}, func() string { return fmt.Sprintf("%v, %+v\nstreams:\n%s", err, st, o.streams()) })
	return st
}

// streams returns the streams of the server, for the reader who wants to know why a crawl does not
// end.
func (o *observer) streams() string {
	ctx, cancel := attempt(o.t)
	defer cancel()
	var b strings.Builder
	all := o.q.JS.ListStreams(ctx)
	for info := range all.Info() {
		fmt.Fprintf(&b, "%s: %d messages, %d–%d\n", info.Config.Name, info.State.Msgs, info.State.FirstSeq, info.State.LastSeq)
		s, err := o.q.JS.Stream(ctx, info.Config.Name)
		if err != nil {
			continue
		}
		for c := range s.ListConsumers(ctx).Info() {
			fmt.Fprintf(&b, "  %s of %s: %d pending, %d to be acknowledged, acknowledged up to %d, delivered up to %d\n", c.Name,
				c.Config.FilterSubject, c.NumPending, c.NumAckPending, c.AckFloor.Stream, c.Delivered.Stream)
		}
	}
	return b.String()
}

// underWay waits until n pages are stored and others are being fetched.
func (o *observer) underWay(n int) crawl.Status {
	o.t.Helper()
	return o.until(fmt.Sprintf("under way with %d pages stored", n), func(ctx context.Context) (crawl.Status, bool, error) {
		st, err := asker.Status(ctx, o.q, o.spec)
		return st, st.Stored >= int64(n) && st.InFlight > 0, err
	})
}

// done waits until nothing more can be done.
func (o *observer) done() crawl.Status {
	o.t.Helper()
	return o.until("done", func(ctx context.Context) (crawl.Status, bool, error) { return asker.Done(ctx, o.q, o.spec) })
}
