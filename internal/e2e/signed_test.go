package e2e

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	gonet "net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/botauth"
)

// signedSpec is a crawl of a signedOrigin at an address.
func signedSpec(addr string) crawl.Spec {
	spec := crawl.Spec{
		Name: "e2e", Shards: 4, Scope: "domain", MaxDepth: -1, HoldMax: 3 * time.Second, Agent: token, Contact: "test@example.org",
		AllowPrivate: true, Resolve: []string{"*.signed.test=" + addr}, Sitemaps: true,
	}
	for n := range signedHosts {
		spec.Seeds = append(spec.Seeds, "https://"+signedHost(n)+"/p/0")
	}
	return spec
}

// A site that requires a signature and gets none answers with an ordinary 403, and explain states
// what it requires.
func TestSigning_8_31_WantsASignature(t *testing.T) { simnet.Test(t, testSigning_8_31_WantsASignature) }

func testSigning_8_31_WantsASignature(t *testing.T) {
	net := simnet.New(simnet.Options{Latency: latency})
	o := &signedOrigin{}
	srv, pool := o.serve(t, net)
	r := newRig(t, net, signedSpec(strings.TrimPrefix(srv.URL, "https://")), fetcher.Options{TLS: &tls.Config{RootCAs: pool}})
	r.seed()
	st := r.wait(2 * time.Minute)
	if st.Failed != signedHosts || st.Stored != 0 || st.ByReason["http-4xx"] != signedHosts {
		t.Errorf("%+v", st)
	}
	x := r.explain(r.spec.Seeds[0])
	if x.Reason != "http-4xx" || !strings.Contains(x.Detail, "it requires a signature") || !strings.Contains(x.Detail, "web-bot-auth") {
		t.Errorf("%+v", x)
	}
}

// An origin that implements the documents independently verifies every request of a crawl of 1,000
// pages with redirects, on the host and to others, and refuses requests that were replayed, altered
// or delayed too long.
func TestSigning_8_28_AnOriginVerifiesACrawl(t *testing.T) {
	simnet.Test(t, testSigning_8_28_AnOriginVerifiesACrawl)
}

func testSigning_8_28_AnOriginVerifiesACrawl(t *testing.T) {
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := botauth.NewSigner(key, "https://bot.example.org", botauth.FormDictionary)
	if err != nil {
		t.Fatal(err)
	}
	net := simnet.New(simnet.Options{Latency: latency})
	o := &signedOrigin{agent: `sig1="https://bot.example.org"`}
	directory, err := botauth.NewDirectory(key).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.readKeys(directory); err != nil {
		t.Fatal(err)
	}
	srv, pool := o.serve(t, net)
	addr := strings.TrimPrefix(srv.URL, "https://")
	r := newRig(t, net, signedSpec(addr), fetcher.Options{TLS: &tls.Config{RootCAs: pool}, Signer: signer})
	r.seed()
	st := r.wait(2 * time.Minute)
	r.stop()

	o.mu.Lock()
	redirects, wellKnown := 0, map[string]int{}
	for _, q := range o.good {
		switch {
		case strings.HasPrefix(q.URL.Path, "/r/"), strings.HasPrefix(q.URL.Path, "/x/"):
			redirects++
		case !strings.HasPrefix(q.URL.Path, "/p/"):
			wellKnown[q.URL.Path]++
		}
	}
	for _, b := range o.bad {
		t.Errorf("refused: %s", b)
	}
	t.Logf("%d requests verified, %d refused; %d pages, %d redirects, %v", len(o.good), len(o.bad), len(o.pages), redirects, wellKnown)
	if len(o.pages) != signedHosts*signedPages || redirects < 100 || wellKnown["/robots.txt"] != signedHosts || wellKnown["/data.txt"] != signedHosts || wellKnown["/sitemap.xml"] != signedHosts {
		t.Errorf("%d pages, %d redirects, %v", len(o.pages), redirects, wellKnown)
	}
	if st.Stored < int64(signedHosts*signedPages) || st.Failed != 0 {
		t.Errorf("%+v", st)
	}
	seen := o.good[len(o.good)/2]
	o.mu.Unlock()

	// What an eavesdropper could do with a request, over both versions of HTTP.
	for _, two := range []bool{false, true} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!two)
		protocols.SetHTTP2(two)
		client := &http.Client{Transport: &http.Transport{
			Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: pool},
			DialContext: func(ctx context.Context, network, _ string) (gonet.Conn, error) {
				return net.Dial(ctx, network, addr)
			},
		}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		defer client.CloseIdleConnections()
		send := func(change func(*http.Request)) (int, string) {
			q, err := http.NewRequest(seen.Method, "https://"+seen.Host+seen.RequestURI, nil)
			if err != nil {
				t.Fatal(err)
			}
			q.Header = seen.Header.Clone()
			change(q)
			o.mu.Lock()
			n := len(o.bad)
			o.mu.Unlock()
			a, err := client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
			if (a.ProtoMajor == 2) != two {
				t.Errorf("it was HTTP/%d", a.ProtoMajor)
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			return a.StatusCode, strings.Join(o.bad[n:], "")
		}
		signedAt := func(at time.Time) func(q *http.Request) {
			return func(q *http.Request) {
				nonce := make([]byte, botauth.NonceBytes)
				rand.Read(nonce)
				f, err := signer.Sign(&botauth.Message{Method: q.Method, Scheme: "https", Authority: q.URL.Host, Path: q.URL.EscapedPath()}, at, nonce)
				if err != nil {
					t.Fatal(err)
				}
				f.Set(q.Header)
			}
		}
		now := time.Now()
		for name, c := range map[string]struct {
			change func(*http.Request)
			status int
			why    string
		}{
			"replayed": {func(*http.Request) {}, 403, "replayed"},
			"another path": {func(q *http.Request) {
				signedAt(now)(q)
				q.URL.Path, q.URL.RawPath = "/p/1234", ""
			}, 403, "no signature"},
			"another host": {func(q *http.Request) {
				signedAt(now)(q)
				q.Host = signedHost(int(seen.Host[1]-'0') + 1)
			}, 403, "no signature"},
			"another method": {func(q *http.Request) { signedAt(now)(q); q.Method = http.MethodHead }, 403, "no signature"},
			"kept too long":  {signedAt(now.Add(-2 * botauth.Lifetime)), 403, "expired"},
			"of the future":  {signedAt(now.Add(time.Minute)), 403, "created in"},
			"unsigned":       {func(q *http.Request) { q.Header.Del("Signature") }, 403, "0 fields Signature"},
			"anew":           {signedAt(now), 0, ""},
		} {
			status, why := send(c.change)
			if c.status != 0 && status != c.status || c.status == 0 && status == 403 || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
				t.Errorf("HTTP/2 %v, %s: %d %q", two, name, status, why)
			}
		}
	}
}
