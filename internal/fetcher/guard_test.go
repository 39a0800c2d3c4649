package fetcher

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/curtsy/curtsy/internal/crawl"
)

// liar is a resolver that answers whatever lie says.
func liar(t testing.TB, lie func(name string) []netip.Addr) *net.Resolver {
	serve := func(c net.Conn) {
		defer c.Close()
		for {
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, query); err != nil {
				return
			}
			var m dnsmessage.Message
			if err := m.Unpack(query); err != nil {
				t.Error(err)
				return
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			q := m.Questions[0]
			for _, a := range lie(strings.TrimSuffix(q.Name.String(), ".")) {
				h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
				switch {
				case a.Is4() && q.Type == dnsmessage.TypeA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
				case a.Is6() && q.Type == dnsmessage.TypeAAAA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
				}
			}
			b, err := m.Pack()
			if err != nil {
				t.Error(err)
				return
			}
			c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
		}
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}}
}

func addrs(list string) (out []netip.Addr) {
	for _, s := range strings.Fields(list) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

// Names that resolve to where nobody may be sent.
func TestLyingResolver(t *testing.T) {
	w := newWire(t, say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
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
		{"169.254.169.254 127.0.0.1", true, false, false, ""}, // a permitted address beside a forbidden one is used
	} {
		d := newDesk(t, 1)
		spec := testSpec(1, "")
		spec.AllowPrivate = tt.private
		if tt.contact {
			spec.Contact = "me@example.org"
		}
		_, stop := startFetcher(t, d, spec, Options{Resolver: liar(t, func(string) []netip.Addr { return addrs(tt.addrs) })})
		out := d.outcome(d.grant(visitTo(t, "http://h.test:"+port(w)+"/", "http://h.test:"+port(w)+"/x")))
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
}

// A name server that lists thousands of addresses cannot make us knock at each.
func TestManyAddresses(t *testing.T) {
	var list []netip.Addr
	for i := range 60 {
		list = append(list, netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)}))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().(*net.TCPAddr).Port
	l.Close()
	h := newTestHold(t, Options{Resolver: liar(t, func(string) []netip.Addr { return list })}, "", "h.test")
	var dialled atomic.Int64
	h.c.reach = func(a netip.Addr) reach { dialled.Add(1); return reachOf(a) }
	_, err = h.fetch(mustURL(t, fmt.Sprintf("http://h.test:%d/", nobody)), nil, wantAll)
	if f := h.failureOf(err); f.reason != crawl.ReasonConnect || dialled.Load() > maxAddresses {
		t.Errorf("%d addresses tried, %+v", dialled.Load(), f)
	}
}

// IP literals, --resolve and every other way to a forbidden address end at the same guard.
func TestGuardCoversEveryWay(t *testing.T) {
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
}

// A connection kept from before the spec changed is no way around the guard, nor around --resolve.
func TestKeptConnectionUnderANewSpec(t *testing.T) {
	a, b := newWire(t, say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")), newWire(t, say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
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
	if len(a.seen()) != 1 || len(b.seen()) != 1 {
		t.Errorf("%d requests to the old address, %d to the new one", len(a.seen()), len(b.seen()))
	}
	spec := testSpec(1, b.Addr().String())
	spec.AllowPrivate = false
	if err := f.SetSpec(spec); err != nil {
		t.Fatal(err)
	}
	fetch("refused/address")
	if len(b.seen()) != 1 {
		t.Errorf("%d requests to an address no longer allowed", len(b.seen())-1)
	}
}

// A name that is fine when robots.txt is fetched and a metadata service when the page is (DNS rebinding).
func TestRebinding(t *testing.T) {
	var turned atomic.Bool
	w := newWire(t, func(c net.Conn, h head) bool {
		turned.Store(true)
		io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return false
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, ""), Options{Resolver: liar(t, func(string) []netip.Addr {
		if turned.Load() {
			return addrs("169.254.169.254")
		}
		return addrs("127.0.0.1")
	})})
	out := d.outcome(d.grant(visitTo(t, "http://h.test:"+port(w)+"/secret")))
	if r := out.Results[0]; r.Class != crawl.Refused || r.Reason != crawl.ReasonAddress {
		t.Errorf("%+v", r)
	}
	if n := len(w.seen()); n != 1 {
		t.Errorf("%d requests arrived, want robots.txt only", n)
	}
}

// A robots.txt that redirects to where we may not go may have rules; we have not read them.
func TestRobotsRedirectRefused(t *testing.T) {
	var turned atomic.Bool
	w := newWire(t, func(c net.Conn, h head) bool {
		turned.Store(true)
		io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://h.test:81/robots.txt\r\nContent-Length: 0\r\n\r\n")
		return true
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, ""), Options{Resolver: liar(t, func(string) []netip.Addr {
		if turned.Load() {
			return addrs("169.254.169.254")
		}
		return addrs("127.0.0.1")
	})})
	out := d.outcome(d.grant(visitTo(t, "http://h.test:"+port(w)+"/")))
	f := d.facts()
	if out.Results[0].Class != crawl.Returned || len(f) != 1 || f[0].State != crawl.RobotsUnreachable || !strings.Contains(f[0].Reason, "address") {
		t.Errorf("%+v, facts %+v", out.Results, f)
	}
}

// Whatever is configured, a public address that the operator has not called his own is given a second.
func TestPublicFloor(t *testing.T) {
	for _, tt := range []struct {
		name    string
		public  bool
		hurried bool
		least   time.Duration
	}{{"private", false, false, 0}, {"public", true, false, time.Second}, {"public, hurried", true, true, 0}} {
		w := newWire(t, say(okAnswer))
		h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
		if tt.public {
			h.c.reach = func(netip.Addr) reach { return public }
			h.cfg.contact = true
		}
		h.hurried = tt.hurried
		for range 3 {
			if _, err := h.fetch(mustURL(t, "http://h.test/"), nil, wantAll); err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range w.seen()[1:] {
			gap := r.at.Sub(w.seen()[i].at)
			if gap < tt.least || tt.least == 0 && gap > 500*time.Millisecond {
				t.Errorf("%s: gap %v", tt.name, gap)
			}
		}
		if tt.least != h.delay() {
			t.Errorf("%s: delay reported %v", tt.name, h.delay())
		}
	}
}

// A host that was private and has become public is given its second before the first request, although the gate was
// passed without it.
func TestPrivateTurnsPublic(t *testing.T) {
	w := newWire(t, func(c net.Conn, _ head) bool {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return false
	})
	h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
	h.hurried, h.cfg.contact = false, true
	u := mustURL(t, "http://h.test/")
	h.fetch(u, nil, wantAll)
	h.c.reach = func(netip.Addr) reach { return public }
	if _, err := h.fetch(u, nil, wantAll); err != nil {
		t.Fatal(err)
	}
	seen := w.seen()
	if gap := seen[1].at.Sub(seen[0].at); gap < time.Second {
		t.Errorf("gap %v", gap)
	}
}

// At most so many requests at once go to one public address, however many hosts live there.
func TestPerIPCap(t *testing.T) {
	var under, most atomic.Int64
	w := newWire(t, func(c net.Conn, _ head) bool {
		n := under.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		under.Add(-1)
		io.WriteString(c, okAnswer)
		return true
	})
	for _, isPublic := range []bool{true, false} {
		most.Store(0)
		h := newTestHold(t, Options{MaxPerIP: 3}, w.Addr().String(), "h.test")
		if isPublic {
			h.c.reach = func(netip.Addr) reach { return public }
		}
		h.cfg.contact = true
		var wg sync.WaitGroup
		for i := range 20 {
			hold := holdOn(t, h.c, h.cfg, fmt.Sprintf("h%d.test", i))
			wg.Go(func() {
				if _, err := hold.fetch(mustURL(t, fmt.Sprintf("http://h%d.test/", i)), nil, wantAll); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := most.Load(); isPublic && n > 3 || !isPublic && n <= 3 {
			t.Errorf("public %v: %d at once", isPublic, n)
		}
		if n := len(h.c.ips.slots); n != 0 {
			t.Errorf("%d addresses remembered", n)
		}
	}
}
