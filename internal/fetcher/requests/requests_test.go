package requests

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A panic in the middle of an answer ends the request, for the origin and in the account.
func TestMistakeInAnAnswer(t *testing.T) {
	simnet.Test(t, mistakeInAnAnswer)
}

func mistakeInAnAnswer(t *testing.T) {
	w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
	resolve, err := wire.ParseResolve([]string{"*=" + w.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	c := wire.NewClient(wire.Options{Dial: simnet.Of(t).Dial})
	t.Cleanup(c.Close)
	l, ctx := wire.NewLease(t.Context(), boottime.Now, boottime.Now(), time.Minute)
	t.Cleanup(l.End)
	h := c.NewSession(ctx, ctx, &wire.Config{Header: http.Header{}, Resolve: resolve, AllowPrivate: true}, "h.test", l)
	r := New(Options{Session: h, Log: slog.New(slog.DiscardHandler)})
	u := canon.URL("http://h.test/")
	r.Safely(u, func() { h.Fetch(u, nil, func(int, http.Header) wire.Wanted { panic("a mistake") }) })
	if !r.Over() || r.Account.Requests != 1 {
		t.Errorf("over %v, %d requests", r.Over(), r.Account.Requests)
	}
	if a, err := h.Fetch(u, nil, func(int, http.Header) wire.Wanted { return wire.Wanted{Limit: 10} }); err != nil || string(a.Body) != "hello" {
		t.Errorf("the next request: %q, %v", a.Body, err)
	}
	if heads := w.Seen(); len(heads) != 2 || heads[1].Conn != 1 {
		t.Errorf("%d requests came, and the connection of the first was not given up", len(heads))
	}
}
