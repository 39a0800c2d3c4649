package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/curtsy/curtsy/pkg/canon"
)

func testSigner(t testing.TB, form botauth.Form, agent string) (*botauth.Signer, *botauth.Key) {
	t.Helper()
	key, err := botauth.NewKey(bytes.NewReader(bytes.Repeat([]byte{9}, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := botauth.NewSigner(key, agent, form)
	if err != nil {
		t.Fatal(err)
	}
	return s, key
}

// verifying is an origin that verifies its requests, and remembers the nonces.
type verifying struct {
	t   testing.TB
	key *botauth.Key

	mu     sync.Mutex
	nonces map[string]bool
	fields []http.Header
	drop   int // how many requests on used connections are not answered
	used   map[string]bool
}

func (v *verifying) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.fields = append(v.fields, r.Header.Clone())
	again := v.used[r.RemoteAddr]
	v.used[r.RemoteAddr] = true
	drop := again && v.drop > 0
	if drop {
		v.drop--
	}
	v.mu.Unlock()
	if drop {
		panic(http.ErrAbortHandler)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	list, err := botauth.Verify(&botauth.Message{
		Method: r.Method, Scheme: scheme, Authority: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header,
	}, botauth.Policy{Now: time.Now(), Skew: 2 * time.Second, Key: func(string, botauth.Form, string) (ed25519.PublicKey, error) {
		return v.key.Public(), nil
	}})
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case errors.Is(err, botauth.ErrUnsigned):
		w.WriteHeader(http.StatusUnauthorized)
	case err != nil || len(list) != 1 || !list[0].Good() || v.nonces[list[0].Nonce]:
		v.t.Errorf("%s %s: %+v, %v", r.Method, r.URL, list, err)
		w.WriteHeader(http.StatusForbidden)
	default:
		v.nonces[list[0].Nonce] = true
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}
}

// verifier starts such an origin, over TLS or not.
func verifier(t testing.TB, key *botauth.Key, secure bool) (*verifying, *httptest.Server, *tls.Config) {
	v := &verifying{t: t, key: key, nonces: map[string]bool{}, used: map[string]bool{}}
	if !secure {
		return v, wiretest.HTTP(t, simnet.Of(t), v), nil
	}
	srv := wiretest.HTTPS(t, simnet.Of(t), v, func(s *httptest.Server) {
		s.EnableHTTP2 = true // offered, and not used
	})
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return v, srv, &tls.Config{RootCAs: pool}
}

// Every request over https has a signature of its own, whatever it asks for.
func TestSigning_8_28_EachRequest(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		for _, form := range botauth.Forms {
			agent := "https://bot.example.org"
			if form == botauth.FormJWKS {
				agent += botauth.DirectoryPath
			}
			signer, key := testSigner(t, form, agent)
			v, srv, conf := verifier(t, key, true)
			h := newTestSession(t, Options{TLS: conf, Signer: signer}, strings.TrimPrefix(srv.URL, "https://"), "example.com")
			for _, u := range []string{"/", "/robots.txt", "/a/b?c=d&e", "/a%2Fb;c=d@e:f,g!$'()*+", "/%E4%BD%A0", "/", "/"} {
				if a, err := h.Fetch(urlOf(t, "https://example.com"+u), nil, wantAll); err != nil || a.Status != http.StatusFound {
					t.Errorf("%s %s: %d, %v", form, u, a.Status, err)
				}
			}
			if a, err := h.Fetch(urlOf(t, "https://example.com/x"), http.Header{"If-None-Match": {`"a"`}}, wantAll); err != nil || a.Status != http.StatusFound {
				t.Errorf("%s, conditional: %d, %v", form, a.Status, err)
			}
			if a, err := h.Post(urlOf(t, "https://example.com/form"), "a=b", wantAll); err != nil || a.Status != http.StatusFound {
				t.Errorf("%s, form: %d, %v", form, a.Status, err)
			}
			// A request that is sent again, because its connection was given up, has a new
			// signature.
			v.mu.Lock()
			v.drop = 1
			before := len(v.fields)
			v.mu.Unlock()
			if a, err := h.Fetch(urlOf(t, "https://example.com/again"), nil, wantAll); err != nil || a.Status != http.StatusFound {
				t.Errorf("%s, again: %d, %v", form, a.Status, err)
			}
			v.mu.Lock()
			seen := map[string]bool{}
			for _, f := range v.fields {
				seen[f.Get("Signature")] = true
			}
			if len(v.fields) != before+2 || len(seen) != len(v.fields) {
				t.Errorf("%s: %d requests, %d signatures, %d before", form, len(v.fields), len(seen), before)
			}
			v.mu.Unlock()
			if len(h.cfg.Header[botauth.FieldSignature]) != 0 {
				t.Error("the header of all requests carries the signature of one")
			}
		}
	})
}

// Over http nothing is signed, even if the client signs.
func TestSigning_8_28_PlainHTTP(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		signer, key := testSigner(t, botauth.FormString, "https://bot.example.org")
		v, srv, _ := verifier(t, key, false)
		h := newTestSession(t, Options{Signer: signer}, strings.TrimPrefix(srv.URL, "http://"), "example.com")
		if a, err := h.Fetch(urlOf(t, "http://example.com/"), nil, wantAll); err != nil || a.Status != http.StatusUnauthorized {
			t.Errorf("%d, %v", a.Status, err)
		}
		for _, name := range []string{botauth.FieldAgent, botauth.FieldInput, botauth.FieldSignature} {
			if got := v.fields[0].Get(name); got != "" {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

// The request after a redirect to another host or port is signed for that authority.
func TestSigning_8_28_AuthorityOfEachHop(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		signer, key := testSigner(t, botauth.FormString, "https://bot.example.org")
		_, srv, conf := verifier(t, key, true)
		h := newTestSession(t, Options{TLS: conf, Signer: signer}, strings.TrimPrefix(srv.URL, "https://"), "example.com")
		for _, u := range []string{"https://example.com/", "https://example.com:8443/"} {
			if a, err := h.Fetch(urlOf(t, u), nil, wantAll); err != nil || a.Status != http.StatusFound {
				t.Errorf("%s: %d, %v", u, a.Status, err)
			}
		}
	})
}

// BenchmarkRequestOverTLS compares a request with and without a signature: wire, TLS and origin.
func BenchmarkRequestOverTLS(b *testing.B) {
	signer, _ := testSigner(b, botauth.FormString, "https://bot.example.org")
	srv := wiretest.HTTPS(b, wiretest.Real, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write(make([]byte, 16<<10))
	}), nil)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	u, err := canon.Parse("https://example.com/")
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]*botauth.Signer{"plain": nil, "signed": signer} {
		b.Run(name, func(b *testing.B) {
			h := newTestSession(b, Options{TLS: &tls.Config{RootCAs: pool}, Signer: s, Dial: wiretest.Real.Dial}, strings.TrimPrefix(srv.URL, "https://"), "example.com")
			for b.Loop() {
				if a, err := h.Fetch(u, nil, wantAll); err != nil || a.Status != http.StatusOK {
					b.Fatal(a.Status, err)
				}
			}
		})
	}
}
