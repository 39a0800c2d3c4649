package fetcher

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

func TestTLS(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var protos, conns = map[string]bool{}, map[string]bool{}
		srv := wiretest.HTTPS(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			protos[r.Proto], conns[r.RemoteAddr] = true, true
			mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/next">x</a>`)
		}), func(s *httptest.Server) { s.EnableHTTP2 = true }) // offered, and not taken
		addr := strings.TrimPrefix(srv.URL, "https://")
		pool := x509.NewCertPool()
		pool.AddCert(srv.Certificate())

		d := newDesk(t, 1)
		_, stop := startFetcher(t, d, testSpec(1, addr), Options{TLS: &tls.Config{RootCAs: pool}})
		// The name in httptest's certificate.
		out := d.outcome(d.grant(visitTo(t, "https://example.com/a", "https://example.com/b")))
		if classes(out) != "stored stored" || !out.Private {
			t.Errorf("%s %+v", classes(out), out.Results)
		}
		if len(protos) != 1 || !protos["HTTP/1.1"] || len(conns) != 1 {
			t.Errorf("protocols %v, connections %v", protos, conns)
		}
		if _, ok := d.links()["https://example.com/next"]; !ok {
			t.Error("no link")
		}
		// Another name, which the certificate does not have.
		out = d.outcome(d.grant(open(visitTo(t, "https://other.test/a", "https://other.test/b", "https://other.test/c"))))
		if classes(out) != "retry/tls retry/tls returned" {
			t.Errorf("%s %+v", classes(out), out.Results)
		}
		out = d.outcome(d.grant(visitTo(t, "https://third.test/a")))
		if f := d.facts()[1]; classes(out) != "returned" || f.State != crawl.RobotsUnreachable || f.Status != 0 || !strings.HasPrefix(f.Reason, "tls: ") {
			t.Errorf("%s, fact %+v", classes(out), f)
		}
		stop()
		if len(conns) != 1 {
			t.Errorf("requests came over a connection whose certificate was refused")
		}
	})
}
