package fetcher

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Names with addresses that must not be reached.
func TestLyingResolver(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
		for _, tt := range []struct {
			addrs   string
			private bool // --allow-private
			contact bool
			refused bool
			hint    string
		}{
			{"169.254.169.254", true, true, true, "never"},
			{"fe80::1", true, true, true, "never"},
			{"fd00:ec2::254", true, true, true, "never"},
			{"100.100.100.200", true, true, true, "never"},
			{"::ffff:169.254.169.254", true, true, true, "never"},
			{"64:ff9b::a9fe:a9fe", true, true, true, "never"},
			{"0.0.0.0", true, true, true, "never"},
			{"127.0.0.1", false, true, true, "--allow-private"},
			{"::1 127.0.0.1", false, true, true, "--allow-private"},
			{"10.1.2.3 192.168.1.1", false, true, true, "--allow-private"},
			{"8.8.8.8", true, false, true, "--contact"},
			{"127.0.0.1", true, false, false, ""},
			// An allowed address beside a forbidden one is used.
			{"169.254.169.254 127.0.0.1", true, false, false, ""},
		} {
			d := newDesk(t, 1)
			spec := testSpec(1, "")
			spec.AllowPrivate = tt.private
			if tt.contact {
				spec.Contact = "me@example.org"
			}
			_, stop := startFetcher(t, d, spec, Options{Resolver: wiretest.Liar(t, func(string) []netip.Addr { return wiretest.Addrs(tt.addrs) })})
			out := d.outcome(d.grant(visitTo(t, "http://h.test:"+wiretest.Port(w)+"/", "http://h.test:"+wiretest.Port(w)+"/x")))
			for _, r := range out.Results {
				if got := r.Reason == crawl.ReasonAddress; got != tt.refused || got && (r.Class != crawl.Refused || !strings.Contains(r.Rule, tt.hint)) {
					t.Errorf("%s: %v %s %q", tt.addrs, r.Class, r.Reason, r.Rule)
				}
			}
			if tt.refused && len(d.facts()) != 0 {
				t.Errorf("%s: a fact about a site nobody asked: %+v", tt.addrs, d.facts())
			}
			stop()
		}
	})
}

// IP literals, --resolve and every other way to a forbidden address end at the same guard.
func TestGuardCoversEveryWay(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := newDesk(t, 1)
		spec := testSpec(1, "")
		spec.Contact = "me@example.org"
		spec.Resolve = []string{"mapped.test=169.254.169.254:80", "*.suffix.test=[fe80::1]"}
		startFetcher(t, d, spec, Options{})
		for _, u := range []string{"http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/", "http://mapped.test/", "http://x.suffix.test/",
			"http://[::ffff:169.254.169.254]/", "http://0xa9fea9fe/", "http://0.0.0.0/", "http://[::]/", "http://[fd00:ec2::254]/"} {
			out := d.outcome(d.grant(visitTo(t, u)))
			if r := out.Results[0]; r.Class != crawl.Refused || r.Reason != crawl.ReasonAddress {
				t.Errorf("%s: %+v", u, r)
			}
		}
	})
}

// A connection from before a change of the spec cannot be used to bypass the guard, or --resolve.
func TestKeptConnectionUnderANewSpec(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a, b := wiretest.New(t, simnet.Of(t), wiretest.Answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")), wiretest.New(t, simnet.Of(t), wiretest.Answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
		d := newDesk(t, 1)
		f, _ := startFetcher(t, d, testSpec(1, a.Addr().String()), Options{})
		fetch := func(want string) {
			t.Helper()
			if got := classes(d.outcome(d.grant(open(visitTo(t, "http://h.test/x"))))); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		fetch("failed/http-4xx")
		if err := f.SetSpec(testSpec(1, b.Addr().String())); err != nil {
			t.Fatal(err)
		}
		fetch("failed/http-4xx")
		if len(a.Seen()) != 1 || len(b.Seen()) != 1 {
			t.Errorf("%d requests to the old address, %d to the new one", len(a.Seen()), len(b.Seen()))
		}
		spec := testSpec(1, b.Addr().String())
		spec.AllowPrivate = false
		if err := f.SetSpec(spec); err != nil {
			t.Fatal(err)
		}
		fetch("refused/address")
		if len(b.Seen()) != 1 {
			t.Errorf("%d requests to an address no longer allowed", len(b.Seen())-1)
		}
	})
}

// A name whose address is allowed when robots.txt is fetched, and is a metadata service when the
// page is (DNS rebinding).
func TestRebinding(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var turned atomic.Bool
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			turned.Store(true)
			io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return false
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, ""), Options{Resolver: wiretest.Liar(t, func(string) []netip.Addr {
			if turned.Load() {
				return wiretest.Addrs("169.254.169.254")
			}
			return wiretest.Addrs("127.0.0.1")
		})})
		out := d.outcome(d.grant(visitTo(t, "http://h.test:"+wiretest.Port(w)+"/secret")))
		if r := out.Results[0]; r.Class != crawl.Refused || r.Reason != crawl.ReasonAddress {
			t.Errorf("%+v", r)
		}
		if n := len(w.Seen()); n != 1 {
			t.Errorf("%d requests arrived, want robots.txt only", n)
		}
	})
}

// A robots.txt that redirects to a forbidden address may contain rules, and we have not read them.
func TestRobotsRedirectRefused(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var turned atomic.Bool
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			turned.Store(true)
			io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://h.test:81/robots.txt\r\nContent-Length: 0\r\n\r\n")
			return true
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, ""), Options{Resolver: wiretest.Liar(t, func(string) []netip.Addr {
			if turned.Load() {
				return wiretest.Addrs("169.254.169.254")
			}
			return wiretest.Addrs("127.0.0.1")
		})})
		out := d.outcome(d.grant(visitTo(t, "http://h.test:"+wiretest.Port(w)+"/")))
		f := d.facts()
		if out.Results[0].Class != crawl.Returned || len(f) != 1 || f[0].State != crawl.RobotsUnreachable || !strings.Contains(f[0].Reason, "address") {
			t.Errorf("%+v, facts %+v", out.Results, f)
		}
	})
}
