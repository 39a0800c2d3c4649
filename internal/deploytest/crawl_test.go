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
	"github.com/curtsy/curtsy/pkg/queue"
)

// observer follows a crawl over NATS.
type observer struct {
	t    *testing.T
	q    *queue.Conn
	spec crawl.Spec
}

// observe connects to a server that is there, and waits for the crawl to be created.
func observe(t *testing.T, url, name string, limit time.Duration) *observer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	q, err := queue.Dial(ctx, queue.Options{URL: url, Name: "deploytest"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	for {
		kv, err := q.JS.KeyValue(ctx, crawl.Names(name).Bucket())
		if err == nil {
			var spec crawl.Spec
			if spec, err = service.ReadSpec(ctx, kv); err == nil {
				return &observer{t, q, spec}
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("crawl %s was not created within %v: %v", name, limit, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// until waits for a moment of the crawl. Asking may fail: daemons come and go.
func (o *observer) until(what string, limit time.Duration, reached func(context.Context) (crawl.Status, bool, error)) crawl.Status {
	o.t.Helper()
	end := time.Now().Add(limit)
	for {
		ctx, cancel := context.WithTimeout(o.t.Context(), 10*time.Second)
		st, ok, err := reached(ctx)
		cancel()
		if ok && err == nil {
			return st
		}
		if time.Now().After(end) {
			o.t.Logf("streams:\n%s", o.streams())
			o.t.Fatalf("not %s within %v: %v, %+v", what, limit, err, st)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// streams is what the server holds, for who looks into a crawl that does not end.
func (o *observer) streams() string {
	ctx, cancel := context.WithTimeout(o.t.Context(), 10*time.Second)
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
func (o *observer) underWay(n int, limit time.Duration) crawl.Status {
	o.t.Helper()
	return o.until(fmt.Sprintf("under way with %d pages stored", n), limit, func(ctx context.Context) (crawl.Status, bool, error) {
		st, err := asker.Status(ctx, o.q, o.spec)
		return st, st.Stored >= int64(n) && st.InFlight > 0, err
	})
}

// done waits until nothing more can be done.
func (o *observer) done(limit time.Duration) crawl.Status {
	o.t.Helper()
	return o.until("done", limit, func(ctx context.Context) (crawl.Status, bool, error) { return asker.Done(ctx, o.q, o.spec) })
}
