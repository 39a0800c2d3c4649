package wire

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
)

// The other tests of this package have a network in memory. This one shows that real sockets work
// in the same way: the guard in the dialler, TLS, and how a connection ends.
func TestSockets(t *testing.T) {
	ca := wiretest.NewCA(t)
	plain := wiretest.New(t, wiretest.Real, func(c net.Conn, h wiretest.Head) bool {
		if strings.HasPrefix(h.Text, "GET /reset ") {
			c.(*net.TCPConn).SetLinger(0)
			return false
		}
		io.WriteString(c, wiretest.OKAnswer)
		return true
	})
	secure := wiretest.HTTPS(t, wiretest.Real, new(heads), func(s *httptest.Server) { s.TLS = ca.Server("h.test") })
	port := ":" + wiretest.Port(plain)
	at := func(list string) *net.Resolver {
		return wiretest.Liar(t, func(string) []netip.Addr { return wiretest.Addrs(list) })
	}
	proxy := func(p *wiretest.Proxy) *credentials.Proxy { return proxyAt(t, p, "") }
	for _, tt := range []struct {
		name   string
		opt    Options
		to     string // the address of all names; "": that of the resolver
		url    string
		reason crawl.Reason
		detail string
	}{
		{"the permitted address of two", Options{Resolver: at("169.254.169.254 127.0.0.1")}, "", "http://h.test" + port + "/", "", ""},
		{"no permitted address", Options{Resolver: at("169.254.169.254 fe80::1")}, "", "http://h.test" + port + "/", crawl.ReasonAddress, "never connects"},
		{"a reset", Options{}, plain.Addr().String(), "http://h.test/reset", crawl.ReasonNetwork, ""},
		{"nobody listens", Options{}, wiretest.Nobody, "http://h.test/", crawl.ReasonConnect, "refused"},
		{"TLS", Options{TLS: &tls.Config{RootCAs: ca.Pool()}}, secure.Listener.Addr().String(), "https://h.test/", "", ""},
		{"TLS of nobody we know", Options{}, secure.Listener.Addr().String(), "https://h.test/", crawl.ReasonTLS, ""},
		{"through a proxy", Options{Proxy: proxy(wiretest.NewProxy(t, wiretest.Real, nil))}, plain.Addr().String(), "http://h.test/", "", ""},
		{"a proxy at metadata", Options{Proxy: &credentials.Proxy{Scheme: "http", Addr: "169.254.169.254:3128"}}, plain.Addr().String(), "http://h.test/",
			"", "never connects"},
	} {
		h := newSessionOf(t, tt.opt, tt.to, "h.test")
		a, err := h.Fetch(urlOf(t, tt.url), nil, wantAll)
		if tt.reason == "" && tt.detail == "" {
			if err != nil || a.Status != http.StatusOK || string(a.Body) != "hello" || !h.Private() {
				t.Errorf("%s: %+v, %v", tt.name, a, err)
			}
			continue
		}
		if f := h.FailureOf(err); tt.reason != "" && f.Reason != tt.reason || !strings.Contains(f.Detail+err.Error(), tt.detail) {
			t.Errorf("%s: %+v, %v", tt.name, f, err)
		}
	}
}
