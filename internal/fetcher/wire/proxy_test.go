package wire

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// proxyAt is the setting for a test's proxy, with its credentials.
func proxyAt(t testing.TB, p *wiretest.Proxy, login string) *credentials.Proxy {
	t.Helper()
	scheme := "http://"
	if p.SOCKS {
		scheme = "socks5://"
	}
	got, err := credentials.ParseProxy(scheme + p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if login != "" {
		got.Login = credentialsOf(t, "proxy: {user: me, password: "+login+"}", nil).Login()
	}
	return got
}

// Through either kind of proxy a site gets the requests that it would get without one, and the
// proxy gets the address that the guard checked.
func TestProxy(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		ca := wiretest.NewCA(t)
		secure := new(heads)
		addr := httpsOrigin(t, secure, ca.Server("h.test"))
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		for _, socks := range []bool{false, true} {
			for _, login := range []string{"", "hunter2"} {
				proxy := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) {
					if p.SOCKS = socks; login != "" {
						p.User, p.Password = "me", login
					}
				})
				opt := Options{Proxy: proxyAt(t, proxy, login), TLS: &tls.Config{RootCAs: ca.Pool()}}
				h := newTestSession(t, opt, w.Addr().String(), "h.test")
				h.Recorder = new(Recorder)
				before := len(w.Seen())
				for _, path := range []string{"/robots.txt", "/a?b"} {
					if a, err := h.Fetch(urlOf(t, "http://h.test"+path), nil, wantAll); err != nil || string(a.Body) != "hello" {
						t.Fatalf("socks %v: %+v, %v", socks, a, err)
					}
				}
				for _, head := range w.Seen()[before:] {
					if !strings.HasPrefix(head.Text, "GET /") || strings.Contains(strings.ToLower(head.Text), "proxy") || strings.Contains(head.Text, "Via") {
						t.Errorf("the site sees %q", head.Text)
					}
				}
				if rec, ok := h.Recorded(); !ok || rec.Addr != netip.MustParseAddr("127.0.0.1") || string(rec.Request) != w.Seen()[before+1].Text {
					t.Errorf("recorded: %v %q", rec.Addr, rec.Request)
				}
				if !h.Private() || h.Delay() != 0 {
					t.Errorf("a private address behind the proxy: private %v, delay %v", h.Private(), h.Delay())
				}
				s := newTestSession(t, opt, addr, "h.test")
				if a, err := s.Fetch(urlOf(t, "https://h.test/"), nil, wantAll); err != nil || string(a.Body) != "hello" {
					t.Fatalf("socks %v: %+v, %v", socks, a, err)
				}
				if got := fmt.Sprint(proxy.Targets()); got != fmt.Sprintf("[%s %s]", w.Addr(), addr) {
					t.Errorf("socks %v: the proxy was asked for %s", socks, got)
				}
			}
		}
	})
}

// A proxy may use TLS, and have an authority of its own. It gets its password wherever it is.
func TestProxyOverTLS(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		ca := wiretest.NewCA(t)
		origin := new(heads)
		addr := httpsOrigin(t, origin, ca.Server("h.test"))
		proxy := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) { p.TLS, p.User, p.Password = ca.Server("127.0.0.1"), "me", "hunter2" })
		set := credentialsOf(t, "proxy: {user: me, password: hunter2, ca: ca.pem}\nsites:\n  https://h.test: {ca: ca.pem, bearer: x}\n",
			map[string]string{"ca.pem": string(ca.PEM)})
		h := newTestSession(t, Options{Proxy: &credentials.Proxy{Scheme: "https", Addr: proxy.Addr().String(), Login: set.Login()}, Credentials: set}, addr, "h.test")
		h.c.Reach = func(netip.Addr) Reach { return Public }
		h.cfg.Contact = true
		if a, err := h.Fetch(urlOf(t, "https://h.test/"), nil, wantAll); err != nil || string(a.Body) != "hello" || a.Credentials != CredentialsSent {
			t.Errorf("%+v, %v", a, err)
		}
		h = newTestSession(t, Options{Proxy: &credentials.Proxy{Scheme: "https", Addr: proxy.Addr().String()}}, addr, "h.test")
		_, err := h.Fetch(urlOf(t, "https://h.test/"), nil, wantAll)
		if f := h.FailureOf(err); !f.Proxy || !strings.Contains(f.Detail, "unknown authority; if you trust it, add the authority's file as ca: below proxy: ") {
			t.Errorf("%v: %+v", err, f)
		}
	})
}

// An address that must not be dialled is not requested of a proxy, either.
func TestProxyGuard(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		for _, socks := range []bool{false, true} {
			proxy := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) { p.SOCKS = socks })
			for name, list := range map[string][]netip.Addr{
				"private":  {netip.MustParseAddr("10.0.0.1")},
				"metadata": {netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fe80::1")},
				"public":   {netip.MustParseAddr("198.41.0.4")},
			} {
				h := newTestSession(t, Options{Proxy: proxyAt(t, proxy, ""), Resolver: wiretest.Liar(t, func(string) []netip.Addr { return list })}, "", "h.test")
				h.cfg.AllowPrivate = name == "metadata"
				_, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
				if f := h.FailureOf(err); f.Reason != crawl.ReasonAddress || !f.Barred {
					t.Errorf("%s: %+v", name, f)
				}
			}
			if got := proxy.Targets(); len(got) > 0 {
				t.Errorf("the proxy was asked for %v", got)
			}
		}
	})
}

// A proxy that cannot be used is not the fault of the site: its URLs are returned, and the operator
// is informed from time to time.
func TestProxyUseless(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		nobody, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		down := &credentials.Proxy{Scheme: "http", Addr: nobody.Addr().String()}
		nobody.Close()
		locked := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) { p.User, p.Password = "me", "right" })
		lockedSocks := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) { p.SOCKS, p.User, p.Password = true, "me", "right" })
		noProxy := wiretest.New(t, simnet.Of(t), wiretest.Answer("garbage\r\n\r\n"))
		plain := wiretest.HTTP(t, simnet.Of(t), http.NotFoundHandler())
		t.Cleanup(plain.Close)
		metadata := &credentials.Proxy{Scheme: "http", Addr: "169.254.169.254:3128"}
		if _, err := simnet.Of(t).Listen("tcp", metadata.Addr); err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			proxy *credentials.Proxy
			want  string
		}{
			"down":               {down, "cannot be reached: "},
			"no password":        {proxyAt(t, locked, ""), "requires a user name and a password, or others than these: add user: and password: below proxy:"},
			"wrong password":     {proxyAt(t, locked, "wrong"), "requires a user name and a password"},
			"socks, no password": {proxyAt(t, lockedSocks, ""), "requires a user name and a password"},
			"socks, wrong":       {proxyAt(t, lockedSocks, "wrong"), "requires a user name and a password"},
			"no proxy at all":    {&credentials.Proxy{Scheme: "http", Addr: noProxy.Addr().String()}, "does not answer with HTTP"},
			"not TLS":            {&credentials.Proxy{Scheme: "https", Addr: strings.TrimPrefix(plain.URL, "http://")}, "cannot be used: the server does not use TLS"},
			"at metadata":        {metadata, "never connects"},
		} {
			h := newTestSession(t, Options{Proxy: tt.proxy}, "127.0.0.1:1", "h.test")
			var told []string
			h.c.OnProxy(func(why string) { told = append(told, why) })
			for range 2 {
				_, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
				if f := h.FailureOf(err); !f.Unsent || !f.Proxy || !strings.Contains(f.Detail, tt.want) || strings.Contains(f.Detail, "wrong") {
					t.Errorf("%s: %v: %+v", name, err, f)
				}
			}
			if len(told) != 1 || !strings.Contains(told[0], tt.want) {
				t.Errorf("%s: told %q", name, told)
			}
		}
	})
}

// If a proxy does not connect to a site, other addresses are tried, unless it refuses. Its answer
// is then the failure of the site.
func TestProxyDoesNotConnect(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		list := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		var status atomic.Int64
		proxy := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) {
			p.Where = func(string) string { return w.Addr().String() }
			p.Answer = func(target string) int {
				if strings.HasPrefix(target, "127.0.0.2:") {
					return http.StatusOK
				}
				return int(status.Load())
			}
		})
		fetch := func() (Answer, Failure) {
			h := newTestSession(t, Options{Proxy: proxyAt(t, proxy, ""), Resolver: wiretest.Liar(t, func(string) []netip.Addr { return list })}, "", "h.test")
			a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
			if err == nil {
				return a, Failure{}
			}
			return a, h.FailureOf(err)
		}
		status.Store(http.StatusBadGateway)
		if a, f := fetch(); a.Status != http.StatusOK {
			t.Errorf("502 for the first address: %+v", f)
		}
		status.Store(http.StatusForbidden)
		_, f := fetch()
		if f.Reason != crawl.ReasonConnect || f.Unsent || !strings.Contains(f.Detail, "did not connect to 127.0.0.1:80: HTTP 403 Forbidden; it must allow CONNECT to that port") {
			t.Errorf("403: %+v", f)
		}
		list = list[:1]
		status.Store(http.StatusServiceUnavailable)
		if _, f := fetch(); f.Reason != crawl.ReasonConnect || !f.Timeout || !strings.Contains(f.Detail, "HTTP 503") {
			t.Errorf("503: %+v", f)
		}
		socks := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) { p.SOCKS = true })
		h := newTestSession(t, Options{Proxy: proxyAt(t, socks, "")}, "127.0.0.1:1", "h.test")
		_, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
		if f := h.FailureOf(err); f.Reason != crawl.ReasonConnect || f.Unsent || !strings.Contains(f.Detail, "did not connect to 127.0.0.1:1: host unreachable") {
			t.Errorf("socks: %+v", f)
		}
		// This one waits for a site as long as we do.
		over := make(chan struct{})
		slow := wiretest.New(t, simnet.Of(t), func(net.Conn, wiretest.Head) bool { <-over; return false })
		t.Cleanup(func() { close(over) })
		h = newTestSession(t, Options{Proxy: &credentials.Proxy{Scheme: "http", Addr: slow.Addr().String()}, ConnectTimeout: time.Second}, "127.0.0.1:1", "h.test")
		_, err = h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
		if f := h.FailureOf(err); f.Reason != crawl.ReasonTimeout || f.Unsent {
			t.Errorf("slow: %v, %+v", err, f)
		}
		// Names that only the proxy may know.
		h = newTestSession(t, Options{Proxy: proxyAt(t, proxy, ""), Resolver: wiretest.Liar(t, func(string) []netip.Addr { return nil })}, "", "h.test")
		_, err = h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
		if f := h.FailureOf(err); f.Reason != crawl.ReasonDNS || !strings.Contains(f.Detail, "with --proxy-resolves the proxy does") {
			t.Errorf("unknown name: %v, %+v", err, f)
		}
	})
}

// A proxy that looks names up gets names, which count as public. A literal address is checked as
// ever, and a name that can only be a machine nearby is not requested.
func TestProxyResolves(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		for _, socks := range []bool{false, true} {
			proxy := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) {
				p.SOCKS, p.Where = socks, func(string) string { return w.Addr().String() }
			})
			at := proxyAt(t, proxy, "")
			at.Resolves = true
			nobody := wiretest.Liar(t, func(string) []netip.Addr { t.Error("a name was looked up here"); return nil })
			h := newTestSession(t, Options{Proxy: at, Resolver: nobody}, "", "www.h.example")
			h.Hurried = false
			h.Recorder = new(Recorder)
			h.cfg.AllowPrivate = false
			u := urlOf(t, "http://www.h.example:81/")
			_, err := h.Fetch(u, nil, wantAll)
			if f := h.FailureOf(err); f.Reason != crawl.ReasonAddress || !strings.Contains(f.Detail, "--contact") {
				t.Errorf("without contact: %v, %+v", err, f)
			}
			h.cfg.Contact = true
			if _, err := h.Fetch(u, nil, wantAll); err != nil {
				t.Fatal(err)
			}
			if h.Private() || h.Delay() != PoliteDelay || h.conn.private || h.token.at == nil || !unknownBlock.Contains(h.token.at.key) {
				t.Errorf("private %v, delay %v, seat %v", h.Private(), h.Delay(), h.token.at)
			}
			if rec, ok := h.Recorded(); !ok || rec.Addr.IsValid() {
				t.Errorf("recorded from %v", rec.Addr)
			}
			for host, allowed := range map[string]bool{"localhost": false, "printer.local": false, "10.0.0.1": false, "[fe80::1]": false} {
				inner := sessionOn(t, h.c, h.cfg, host)
				_, err := inner.Fetch(urlOf(t, "http://"+host+"/"), nil, wantAll)
				if f := inner.FailureOf(err); f.Reason != crawl.ReasonAddress {
					t.Errorf("%s, allowed %v: %v", host, allowed, err)
				}
			}
			if got := fmt.Sprint(proxy.Targets()); got != "[www.h.example:81]" {
				t.Errorf("the proxy was asked for %s", got)
			}
		}
	})
}

// Hosts of one domain share the tokens of one address if only a proxy knows theirs.
func TestProxyResolvesPlaces(t *testing.T) {
	if unknownAddress("a.h.example") != unknownAddress("b.h.example") || limiterKey(unknownAddress("a.h.example")) == limiterKey(unknownAddress("a.i.example")) {
		t.Error("places are not by registered domain")
	}
	if at := limiterKey(unknownAddress("a.h.example")); !unknownBlock.Contains(at) || ReachOf(at) == Public {
		t.Errorf("%v could be dialled", at)
	}
}

// Through a proxy, credentials are only sent unencrypted if both the way to it and the site are
// private. Its own password is only sent over TLS or to a private address.
func TestProxyAndCredentials(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		srv := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		proxy := wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) { p.Where = func(string) string { return srv.Addr().String() } })
		set := credentialsOf(t, "sites:\n  http://h.test: {bearer: hunter2}\n", nil)
		_, port, _ := net.SplitHostPort(srv.Addr().String())
		for _, tt := range []struct {
			site, proxy Reach
			credentials CredentialUse
		}{{private, private, CredentialsSent}, {Public, private, CredentialsWithheld}, {private, Public, CredentialsWithheld}} {
			h := newTestSession(t, Options{Proxy: proxyAt(t, proxy, ""), Credentials: set}, "127.0.0.2:"+port, "h.test")
			h.cfg.Contact = true
			h.c.Reach = func(a netip.Addr) Reach {
				if a == netip.MustParseAddr("127.0.0.2") {
					return tt.site
				}
				return tt.proxy
			}
			a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
			seen := srv.Seen()
			if err != nil || a.Credentials != tt.credentials || strings.Contains(seen[len(seen)-1].Text, "hunter2") != (tt.credentials == CredentialsSent) {
				t.Errorf("%+v: %+v, %v", tt, a, err)
			}
		}
		asked := len(proxy.Targets())
		h := newTestSession(t, Options{Proxy: proxyAt(t, proxy, "hunter3")}, "127.0.0.2:"+port, "h.test")
		h.c.Reach = func(netip.Addr) Reach { return Public }
		h.cfg.Contact = true
		_, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
		if f := h.FailureOf(err); !f.Proxy || !strings.Contains(f.Detail, "passwords are sent to it only with TLS") || len(proxy.Targets()) != asked {
			t.Errorf("%v: %+v", err, f)
		}
	})
}

// The variables of the environment are not used, and the operator is informed which option to use.
// A password in one is not repeated.
func TestProxyWord(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
	if w := ProxyWord(); w != "" {
		t.Error(w)
	}
	for value, want := range map[string]string{
		"http://127.0.0.1:3128":        "http_proxy is set but not used: requests go directly to sites; to use a proxy, add --proxy http://127.0.0.1:3128",
		"proxy.example:3128":           "--proxy http://proxy.example:3128",
		"socks5://me:hunter2@[::1]:80": "--proxy socks5://[::1]:80",
		"me:hunter2@nonsense":          "--proxy http://HOST:PORT",
	} {
		t.Setenv("http_proxy", value)
		if w := ProxyWord(); !strings.HasSuffix(w, want) || strings.Contains(w, "hunter2") {
			t.Errorf("%s: %s", value, w)
		}
	}
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
	if w := ProxyWord(); !strings.HasPrefix(w, "http_proxy, ALL_PROXY is set") {
		t.Error(w)
	}
}
