package queue

import (
	"github.com/curtsy/curtsy/internal/simnet"

	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestParseDelivery(t *testing.T) {
	want := delivery{3, 42, 17, time.Unix(0, 1700000000123456789)}
	for _, reply := range []string{
		"$JS.ACK.x-EVENTS-0.c.3.42.17.1700000000123456789.5",
		"$JS.ACK.hub.ACCHASH.x-EVENTS-0.c.3.42.17.1700000000123456789.5",
		"$JS.ACK._.ACCHASH.x-EVENTS-0.c.3.42.17.1700000000123456789.5.token",
	} {
		got, err := parseDelivery(&nats.Msg{Reply: reply})
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", reply, got, err)
		}
	}
	for _, reply := range []string{"", "_INBOX.x", "$JS.ACK.", "$JS.ACK.s.c.1.2", "$JS.ACK.s.c.1.x.3.4.5"} {
		if got, err := parseDelivery(&nats.Msg{Reply: reply}); err == nil {
			t.Errorf("%q gave %+v", reply, got)
		}
	}
}

func FuzzParseDelivery(f *testing.F) {
	f.Add("$JS.ACK.x-EVENTS-0.c.3.42.17.1700000000123456789.5")
	f.Fuzz(func(t *testing.T, reply string) {
		_, _ = parseDelivery(&nats.Msg{Reply: reply})
	})
}

func TestParseAck(t *testing.T) {
	tests := []struct {
		m    nats.Msg
		seq  uint64
		code jetstream.ErrorCode
		err  error
	}{
		{m: nats.Msg{Data: []byte(`{"stream":"x", "seq":7}`)}, seq: 7},
		{m: nats.Msg{Data: []byte(`{"stream":"x","seq":8,"duplicate":true,"domain":"hub"}`)}, seq: 8},
		{m: nats.Msg{Data: []byte(`{"stream":"x","seq": 9}`)}, seq: 9},
		{m: nats.Msg{Data: []byte(`{"error":{"code":503,"err_code":10077,"description":"\"seq\":5"},"stream":"x","seq":0}`)}, code: 10077},
		{m: nats.Msg{Header: nats.Header{"Status": {"503"}}}, err: nats.ErrNoResponders},
	}
	for _, x := range tests {
		got := parseAck(&x.m)
		var api *jetstream.APIError
		if errors.As(got.err, &api); got.seq != x.seq || (x.code != 0) != (api != nil && api.ErrorCode == x.code) || x.err != nil && !errors.Is(got.err, x.err) {
			t.Errorf("%s: %+v", x.m.Data, got)
		}
	}
	if got := parseAck(&nats.Msg{Data: []byte("what?")}); got.err == nil || !strings.Contains(got.err.Error(), "what?") {
		t.Errorf("no JSON: %+v", got)
	}
}

func TestBackoff(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		b := backoff{least: 4 * time.Millisecond, most: 10 * time.Millisecond}
		for i, most := range []time.Duration{4, 8, 10, 10} {
			start := time.Now()
			if err := b.wait(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d < most*time.Millisecond/2 {
				t.Errorf("wait %d took %v, want at least half of %v", i, d, most*time.Millisecond)
			}
		}
		b = backoff{least: time.Minute, most: time.Minute}
		loaded := make(chan struct{})
		close(loaded)
		if err := b.wait(t.Context(), loaded); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.wait(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
