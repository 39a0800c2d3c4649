package asker

import (
	"context"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// A message from one indexer to another that is stored between their two answers keeps a crawl from
// being done, although neither answer has a page that waits.
func TestHandedOverBetweenTwoAnswers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 1 << 30, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Shutdown)
		nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()), nats.NoReconnect())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		spec := crawl.Spec{Name: "t", Shards: 2}
		names := crawl.Names(spec.Name)
		pages, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: names.PagesStream(), Subjects: []string{names.PagesSubject(0), names.PagesSubject(1)}, MaxBytes: 1 << 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		sends := false // while an indexer answers, a message comes and is stored
		svc, err := ask.NewService(nc, names, "indexer", "x", "1.0.0")
		if err == nil {
			err = svc.HandleAll(func() []int { return []int{0, 1} }, ask.Handlers{"indexer-status": func(ctx context.Context, _ []byte, send func(any) error) error {
				if sends {
					if _, err := js.Publish(ctx, names.PagesSubject(1), []byte("alias")); err != nil {
						return err
					}
					if err := pages.Purge(ctx); err != nil {
						return err
					}
				}
				return send(crawl.IndexerStatus{})
			}})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { svc.Stop() })
		q := &queue.Conn{NC: nc, JS: js}
		for _, sends = range []bool{false, true} {
			if ok, err := handedOver(t.Context(), q, spec); err != nil || ok == sends {
				t.Errorf("a message comes in between (%v): %v, %v", sends, ok, err)
			}
		}
	})
}
