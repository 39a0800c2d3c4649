package wire

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A proxy with a name is not used at an address that is never dialled, whoever dials it.
func TestProxyNameGuard(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const metadata = "169.254.169.254:3128"
		l, err := simnet.Of(t).Listen("tcp", metadata)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return simnet.Of(t).Dial(ctx, network, metadata)
		}
		h := newTestSession(t, Options{Dial: dial, Proxy: &credentials.Proxy{Scheme: "http", Addr: "proxy.example:3128"}}, "127.0.0.1:1", "h.test")
		_, err = h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
		if f := h.FailureOf(err); !f.Proxy || !f.Unsent || !strings.Contains(f.Detail, "never connects") {
			t.Errorf("%v: %+v", err, f)
		}
	})
}
