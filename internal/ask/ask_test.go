package ask

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func connect(t testing.TB) *nats.Conn {
	t.Helper()
	s, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 1 << 30, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	nc, err := nats.Connect("", nats.InProcessServer(s.InProcess()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

type thing struct {
	Shard int    `json:"shard"`
	N     int    `json:"n"`
	URL   string `json:"url"`
}

func serve(t testing.TB, nc *nats.Conn, instance string, shards []int, each int) *Service {
	t.Helper()
	s, err := NewService(nc, "x", "frontier", instance, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	err = s.Handle("hosts", func() []int { return shards }, func(ctx context.Context, req []byte, send func(any) error) error {
		for _, k := range shards {
			for i := range each {
				if err := send(thing{k, i, "http://h.example/?a=1&b=<2>"}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGatherAllShards(t *testing.T) {
	nc := connect(t)
	serve(t, nc, "a", []int{0, 2}, 10)
	serve(t, nc, "b", []int{1, 3}, 10)
	got := map[int]int{}
	err := Gather(t.Context(), nc, "x", "hosts", nil, 4, func(raw json.RawMessage) error {
		var v thing
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		got[v.Shard]++
		return nil
	})
	if err != nil || len(got) != 4 || got[0] != 10 || got[3] != 10 {
		t.Errorf("Gather = %v, got %v", err, got)
	}
}
