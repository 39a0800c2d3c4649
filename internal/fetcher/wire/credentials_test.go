package wire

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// credentialsOf reads credentials. files are the files that they name.
func credentialsOf(t testing.TB, text string, files map[string]string) *credentials.Set {
	t.Helper()
	set, err := credentials.Parse([]byte(text), wiretest.Files(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// heads is an origin that answers each request and remembers its head.
type heads struct {
	mu   sync.Mutex
	seen []http.Header
}

func (h *heads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.seen = append(h.seen, r.Header.Clone())
	h.mu.Unlock()
	w.Header().Set("Set-Cookie", "theirs=1")
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, "hello")
}

func (h *heads) last() http.Header {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) == 0 {
		return nil
	}
	return h.seen[len(h.seen)-1]
}

// httpsOrigin starts an origin with a certificate of an authority, and returns its address.
func httpsOrigin(t testing.TB, handler http.Handler, conf *tls.Config) string {
	t.Helper()
	srv := wiretest.HTTPS(t, simnet.Of(t), handler, func(s *httptest.Server) { s.TLS = conf })
	return srv.Listener.Addr().String()
}

const someCredentials = `
sites:
  https://h.test:
    basic: {user: me, password: hunter2}
    cookies: {session: hunter3}
    headers: {X-Api-Key: hunter4}
    ca: ca.pem
`

// carriesAny reports whether a head has any of the test's secrets.
func carriesAny(h http.Header) bool {
	return h.Get("Authorization")+h.Get("Cookie")+h.Get("X-Api-Key") != ""
}

// A site gets its credentials, also with requests for its robots.txt. Its own authority is trusted.
// Its cookies are not kept, and nothing of it stays in what requests have in common.
func TestDoorOpens(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		ca := wiretest.NewCA(t)
		origin := new(heads)
		addr := httpsOrigin(t, origin, ca.Server("h.test"))
		set := credentialsOf(t, someCredentials, map[string]string{"ca.pem": string(ca.PEM)})
		h := newTestSession(t, Options{Credentials: set}, addr, "h.test")
		h.Recorder = new(Recorder)
		for _, path := range []string{"/robots.txt", "/", "/a?b=c"} {
			a, err := h.Fetch(urlOf(t, "https://h.test"+path), http.Header{"If-None-Match": {`"x"`}}, wantAll)
			if err != nil || a.Status != http.StatusOK || a.Credentials != CredentialsSent || a.CertWanted {
				t.Fatalf("%s: %+v, %v", path, a, err)
			}
			got := origin.last()
			if got.Get("Authorization") != "Basic bWU6aHVudGVyMg==" || got.Get("Cookie") != "session=hunter3" || got.Get("X-Api-Key") != "hunter4" ||
				got.Get("If-None-Match") != `"x"` || got.Get("User-Agent") != "curtsy/1.0" {
				t.Errorf("%s: %v", path, got)
			}
			rec, ok := h.Recorded()
			head := string(rec.Request)
			if !ok || strings.Contains(head, "hunter") || strings.Contains(head, "Basic") || strings.Contains(head, "Api-Key") ||
				!strings.HasPrefix(head, "GET "+path+" HTTP/1.1\r\n") || !strings.Contains(head, "User-Agent: curtsy/1.0\r\n") || !strings.HasSuffix(head, "\r\n\r\n") {
				t.Errorf("recorded: %q", head)
			}
		}
		if carriesAny(h.cfg.Header) {
			t.Error("the header of all requests carries what one site is shown")
		}
		// The connection is used by requests without credentials as well, if one ever should.
		if !h.c.HasCredentials(urlOf(t, "https://h.test/").Origin()) || h.c.HasCredentials(urlOf(t, "http://h.test/").Origin()) {
			t.Error("which origin has a door?")
		}
	})
}

// Wherever a redirect leads, each request is matched by its own origin. Another port, scheme or
// name is another origin.
func TestDoorOfAnotherOrigin(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		ca := wiretest.NewCA(t)
		door := new(heads)
		addr := httpsOrigin(t, door, ca.Server("h.test", "www.h.test"))
		set := credentialsOf(t, someCredentials, map[string]string{"ca.pem": string(ca.PEM)})
		h := newTestSession(t, Options{Credentials: set, TLS: &tls.Config{RootCAs: ca.Pool()}}, addr, "h.test")
		plain := new(heads)
		srv := wiretest.HTTP(t, simnet.Of(t), plain)
		t.Cleanup(srv.Close)
		www := sessionOn(t, h.c, h.cfg, "www.h.test")
		for _, tt := range []struct {
			session *Session
			url     string
			shown   bool
		}{{h, "https://h.test/", true}, {h, "https://h.test:8443/", false}, {www, "https://www.h.test/", false}, {h, "https://h.test/again", true}} {
			a, err := tt.session.Fetch(urlOf(t, tt.url), nil, wantAll)
			if err != nil || (a.Credentials == CredentialsSent) != tt.shown || carriesAny(door.last()) != tt.shown {
				t.Errorf("%s: door %d, %v, %v", tt.url, a.Credentials, err, door.last())
			}
		}
		h = newTestSession(t, Options{Credentials: set}, strings.TrimPrefix(srv.URL, "http://"), "h.test")
		if a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err != nil || a.Credentials != NoCredentials || carriesAny(plain.last()) {
			t.Errorf("http: %+v, %v, %v", a, err, plain.last())
		}
	})
}

// Over http, credentials go to private addresses, by the address that is dialled, and never to a
// public one, whatever the name is.
func TestDoorPlainHTTP(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		origin := new(heads)
		srv := wiretest.HTTP(t, simnet.Of(t), origin)
		t.Cleanup(srv.Close)
		set := credentialsOf(t, "sites:\n  http://h.test: {bearer: hunter2}\n  http://*.h.test: {bearer: hunter3}\n", nil)
		h := newTestSession(t, Options{Credentials: set}, strings.TrimPrefix(srv.URL, "http://"), "h.test")
		var told []string
		h.c.OnWithheld(func(site string) { told = append(told, site) })
		if a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err != nil || a.Credentials != CredentialsSent || origin.last().Get("Authorization") != "Bearer hunter2" {
			t.Errorf("private: %+v, %v, %v", a, err, origin.last())
		}
		// It moves to a public address, and so does the connection that is kept.
		h.conn.Close()
		h.c.Reach = func(netip.Addr) Reach { return Public }
		h.cfg.Contact = true
		for range 2 {
			if a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err != nil || a.Credentials != CredentialsWithheld || carriesAny(origin.last()) {
				t.Errorf("public: %+v, %v, %v", a, err, origin.last())
			}
		}
		below := sessionOn(t, h.c, h.cfg, "a.h.test")
		if a, err := below.Fetch(urlOf(t, "http://a.h.test/"), nil, wantAll); err != nil || a.Credentials != CredentialsWithheld || carriesAny(origin.last()) {
			t.Errorf("below: %+v, %v, %v", a, err, origin.last())
		}
		if fmt.Sprint(told) != "[http://h.test http://*.h.test]" {
			t.Errorf("told of %v", told)
		}
	})
}

// A head with long tokens still goes out in one piece.
func TestDoorLongToken(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		token := strings.Repeat("x", credentials.MaxHeader-100)
		set := credentialsOf(t, "sites:\n  http://h.test: {bearer: "+token+"}\n", nil)
		h := newTestSession(t, Options{Credentials: set}, w.Addr().String(), "h.test")
		long := "/" + strings.Repeat("p", 2000)
		if _, err := h.Fetch(urlOf(t, "http://h.test"+long), nil, wantAll); err != nil || !strings.Contains(w.Seen()[0].Text, "Bearer "+token+"\r\n") {
			t.Error(err)
		}
	})
}

// The certificate for a site is sent there and nowhere else. Without one the answer says which
// option sends it.
func TestDoorCertificate(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		ca := wiretest.NewCA(t)
		var mu sync.Mutex
		shown := map[string]int{}
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			shown[r.Host] += len(r.TLS.PeerCertificates)
			if len(r.TLS.PeerCertificates) == 0 {
				w.WriteHeader(http.StatusBadRequest) // as nginx does
			}
		})
		conf := ca.Server("h.test", "other.test")
		conf.ClientAuth = tls.RequestClientCert
		addr := httpsOrigin(t, handler, conf)
		cert, key := ca.Issue(time.Now().Add(time.Hour), "curtsy")
		files := map[string]string{"cert.pem": string(cert), "key.pem": string(key), "ca.pem": string(ca.PEM)}
		set := credentialsOf(t, "sites:\n  https://h.test: {cert: cert.pem, key: key.pem, ca: ca.pem}\n", files)
		h := newTestSession(t, Options{Credentials: set, TLS: &tls.Config{RootCAs: ca.Pool()}}, addr, "h.test")
		if a, err := h.Fetch(urlOf(t, "https://h.test/"), nil, wantAll); err != nil || a.Status != http.StatusOK || a.CertWanted || a.Credentials != CredentialsSent {
			t.Errorf("%+v, %v", a, err)
		}
		other := sessionOn(t, h.c, h.cfg, "other.test")
		for range 2 { // the second time the session is resumed, and no certificate is requested
			if a, err := other.Fetch(urlOf(t, "https://other.test/"), nil, wantAll); err != nil || a.Status != http.StatusBadRequest || !a.CertWanted || a.Credentials != NoCredentials {
				t.Errorf("%+v, %v", a, err)
			}
			other.conn.Close()
		}
		if shown["h.test"] == 0 || shown["other.test"] != 0 {
			t.Errorf("certificates shown: %v", shown)
		}
		// This one is required by TLS itself.
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			conf := ca.Server("h.test")
			conf.ClientAuth, conf.ClientCAs, conf.MaxVersion = tls.RequireAndVerifyClientCert, ca.Pool(), version
			addr := httpsOrigin(t, handler, conf)
			for with, opt := range map[string]Options{"with": {Credentials: set}, "without": {TLS: &tls.Config{RootCAs: ca.Pool()}}} {
				h := newTestSession(t, opt, addr, "h.test")
				_, err := h.Fetch(urlOf(t, "https://h.test/"), nil, wantAll)
				if with == "with" && err != nil {
					t.Errorf("version %x: %v", version, err)
				}
				if with == "without" {
					f := h.FailureOf(err)
					if f.Reason != crawl.ReasonTLS || !strings.Contains(f.Detail, "cert: and key: below https://h.test in the file for --credentials") {
						t.Errorf("version %x: %v: %+v", version, err, f)
					}
				}
			}
		}
	})
}

// A failure of TLS says what is wrong, and which option helps, if there is one.
func TestTLSFailureWords(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		ca, stranger := wiretest.NewCA(t), wiretest.NewCA(t)
		hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		expired := func() *tls.Config {
			cert, key := ca.Issue(time.Now().Add(-time.Minute), "h.test")
			pair, err := tls.X509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			return &tls.Config{Certificates: []tls.Certificate{pair}}
		}
		old := ca.Server("h.test")
		old.MaxVersion = tls.VersionTLS11
		plain := wiretest.HTTP(t, simnet.Of(t), hello)
		t.Cleanup(plain.Close)
		picky := ca.Server("h.test")
		picky.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, fmt.Errorf("no") }
		for name, tt := range map[string]struct {
			addr string
			want string
		}{
			"unknown CA": {httpsOrigin(t, hello, stranger.Server("h.test")),
				"its certificate is from an unknown authority; if you trust it, add the authority's file as ca: below https://h.test:8443 in the file for --credentials"},
			"wrong name": {httpsOrigin(t, hello, ca.Server("a.test", "b.test", "c.test", "127.0.0.1")), "its certificate is for other names: a.test, b.test, c.test and others"},
			"expired":    {httpsOrigin(t, hello, expired()), "its certificate has expired or is not valid yet: current time "},
			"old":        {httpsOrigin(t, hello, old), "protocol version"},
			"not TLS":    {strings.TrimPrefix(plain.URL, "http://"), "the server does not use TLS"},
			"refusing":   {httpsOrigin(t, hello, picky), "internal error"},
		} {
			h := newTestSession(t, Options{TLS: &tls.Config{RootCAs: ca.Pool()}}, tt.addr, "h.test")
			_, err := h.Fetch(urlOf(t, "https://h.test:8443/"), nil, wantAll)
			if f := h.FailureOf(err); f.Reason != crawl.ReasonTLS || !strings.Contains(f.Detail, tt.want) || !f.Silent || f.Unsent {
				t.Errorf("%s: %v: %+v", name, err, f)
			}
		}
		// Its own authority did not sign it, and those of the system do not count for this site.
		set := credentialsOf(t, "sites:\n  https://h.test: {ca: ca.pem}\n", map[string]string{"ca.pem": string(stranger.PEM)})
		addr := httpsOrigin(t, hello, ca.Server("h.test"))
		h := newTestSession(t, Options{Credentials: set, TLS: &tls.Config{RootCAs: ca.Pool()}}, addr, "h.test")
		if _, err := h.Fetch(urlOf(t, "https://h.test/"), nil, wantAll); h.FailureOf(err).Reason != crawl.ReasonTLS {
			t.Errorf("another authority than its own: %v", err)
		}
	})
}

// The texts are correct for each alert; the words are those of crypto/tls.
func TestAlertWords(t *testing.T) {
	for alert, want := range map[string]string{
		"certificate required": "it requires a client certificate, or another one (certificate required)", "bad certificate": "requires a client certificate",
		"unknown certificate authority": "requires a client certificate", "access denied": "requires a client certificate", "handshake failure": "it refuses the handshake",
		"unrecognized name": "no certificate for this name", "internal error": "remote error: tls: internal error",
	} {
		err := &tlsError{&net.OpError{Op: "remote error", Err: fmt.Errorf("tls: %s", alert)}, "https://h.test"}
		if !isAlert(err) || !strings.Contains(err.why(), want) {
			t.Errorf("%s: %s", alert, err.why())
		}
	}
}
