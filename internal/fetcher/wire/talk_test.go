package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// lineServer serves each connection with f, and closes it then.
func lineServer(t *testing.T, secure *tls.Config, f func(c net.Conn)) string {
	t.Helper()
	l, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
			c.Close()
		}
	}()
	return addr
}

// shout sends a line and returns what came back, up to its end.
func shout(got *string) func(net.Conn) (int, error) {
	return func(c net.Conn) (int, error) {
		if _, err := c.Write([]byte("hel")); err != nil {
			return 0, err
		}
		if _, err := c.Write([]byte("lo\n")); err != nil { // in several pieces
			return 0, err
		}
		b, err := io.ReadAll(c)
		*got = string(b)
		return 202, err
	}
}

func echo(c net.Conn) {
	line, _ := bufio.NewReader(c).ReadString('\n')
	io.WriteString(c, "you said "+line)
}

var someTalk = Talk{Silence: time.Minute, Most: time.Hour}

// An exchange that is not HTTP is spaced, counted and reported like a request, plain, with TLS, and
// through a proxy. A request may follow it, and none goes out during it.
func TestTalk(t *testing.T) {
	for _, c := range []struct {
		name   string
		secure bool
		proxy  bool
		socks  bool
	}{{"plain", false, false, false}, {"TLS", true, false, false}, {"proxy", false, true, false}, {"TLS in SOCKS", true, true, true}} {
		t.Run(c.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				ca := wiretest.NewCA(t)
				var secure *tls.Config
				scheme := "http"
				if c.secure {
					scheme = "https"
					secure = ca.Server("h.test")
					secure.NextProtos = []string{"atp"} // HTTP is not what is offered
				}
				addr := lineServer(t, secure, echo)
				opt := Options{TLS: &tls.Config{RootCAs: ca.Pool()}}
				var proxy *wiretest.Proxy
				if c.proxy {
					proxy = wiretest.NewProxy(t, simnet.Of(t), func(p *wiretest.Proxy) { p.SOCKS = c.socks })
					opt.Proxy = proxyAt(t, proxy, "")
				}
				h := newTestSession(t, opt, addr, "h.test")
				h.Delayed, h.Granted, h.Kind = 3*time.Second, 3*time.Second, crawl.RequestKind(crawl.AuxDispatch)
				began := time.Now()
				for i := range 2 {
					var got string
					talked, err := someTalk.Run(h, urlOf(t, scheme+"://h.test:434/"), shout(&got))
					if err != nil || got != "you said hello\n" || talked.Sent != 6 || talked.Received != 15 {
						t.Fatalf("%q, %+v, %v", got, talked, err)
					}
					x := h.Traced[i]
					if x.Kind.String() != "dispatch" || x.Status != 202 || x.Bytes != 15 || x.Unsent || x.URL != scheme+"://h.test:434/" {
						t.Errorf("%+v", x)
					}
				}
				if got := time.Since(began); got < 3*time.Second || got > 4*time.Second || h.Requests != 2 {
					t.Errorf("two exchanges took %v and count as %d", got, h.Requests)
				}
				if proxy != nil && len(proxy.Targets()) != 2 {
					t.Errorf("the proxy was asked for %v", proxy.Targets())
				}
			})
		})
	}
}

// Nothing goes over the connection of an exchange before its permission and after its end.
func TestTalkEnds(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		h := newTestSession(t, Options{}, lineServer(t, nil, echo), "h.test")
		var kept net.Conn
		_, err := someTalk.Run(h, urlOf(t, "http://h.test/"), func(c net.Conn) (int, error) {
			kept = c
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, errUnarmed) {
				t.Errorf("read before anything was sent: %v", err)
			}
			if _, err := h.c.NewSession(h.ctx, h.Waiting, h.cfg, h.host, h.Lease).Fetch(urlOf(t, "http://h.test/"), nil, wantAll); !errors.Is(err, ErrBusy) {
				t.Errorf("a request during an exchange: %v", err)
			}
			return shout(new(string))(c)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kept.Write([]byte("x")); err == nil {
			t.Error("written after the end")
		}
		if _, err := kept.Read(make([]byte, 1)); err == nil {
			t.Error("read after the end")
		}
	})
}

// An exchange has no least rate, but limits of silence and of time in all, and its reader may do
// something else while nothing arrives.
func TestTalkIsLimited(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration // the server sends an octet
		talk  Talk
		want  error
		took  time.Duration
	}{
		{"slow", 50 * time.Second, Talk{Silence: time.Minute, Most: time.Hour}, nil, 500 * time.Second},
		{"silent", 70 * time.Second, Talk{Silence: time.Minute, Most: time.Hour}, errSilent, time.Minute},
		{"drip", 50 * time.Second, Talk{Silence: time.Minute, Most: 3 * time.Minute}, ErrWhole, 3 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				h := newTestSession(t, Options{}, lineServer(t, nil, func(conn net.Conn) {
					bufio.NewReader(conn).ReadString('\n')
					for range 10 {
						time.Sleep(c.every)
						conn.Write([]byte("."))
					}
				}), "h.test")
				quiet := 0
				c.talk.Quiet, c.talk.QuietEvery = func() { quiet++ }, time.Second
				began := time.Now()
				_, err := c.talk.Run(h, urlOf(t, "http://h.test/"), shout(new(string)))
				if took := time.Since(began).Round(time.Second); !errors.Is(h.Cause(err), c.want) || err == nil != (c.want == nil) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
				if least := int(c.took/time.Second) - 20; quiet < least {
					t.Errorf("called %d times in the silence, want about %d", quiet, least)
				}
				if err != nil && h.FailureOf(err).Reason != crawl.ReasonTimeout {
					t.Errorf("%+v", h.FailureOf(err))
				}
			})
		})
	}
}

// An exchange ends with its lease, and one that can be interrupted as soon as nothing new is to
// begin.
func TestTalkIsEnded(t *testing.T) {
	for _, interrupt := range []bool{false, true} {
		simnet.Test(t, func(t *testing.T) {
			addr := lineServer(t, nil, func(c net.Conn) { io.Copy(io.Discard, c) })
			h := newTestSession(t, Options{}, addr, "h.test")
			waiting, stop := context.WithCancel(h.Waiting)
			h.Waiting = waiting
			time.AfterFunc(10*time.Second, stop)
			time.AfterFunc(40*time.Second, h.Lease.End)
			began := time.Now()
			_, err := Talk{Silence: time.Hour, Most: time.Hour, Interrupt: interrupt}.Run(h, urlOf(t, "http://h.test/"), shout(new(string)))
			want := 40 * time.Second
			if interrupt {
				want = 10 * time.Second
			}
			if took := time.Since(began); err == nil || took != want {
				t.Errorf("interruptible %v: %v after %v, want %v", interrupt, err, took, want)
			}
			if !interrupt && !h.FailureOf(err).Unsent {
				t.Errorf("%+v", h.FailureOf(err))
			}
		})
	}
}

// The address guard decides about an exchange, too.
func TestTalkGuard(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		addr := lineServer(t, nil, func(net.Conn) { t.Error("connected") })
		h := newTestSession(t, Options{}, addr, "h.test")
		cfg := *h.cfg
		cfg.AllowPrivate = false
		h.cfg = &cfg
		_, err := someTalk.Run(h, urlOf(t, "http://h.test/"), shout(new(string)))
		if fail := h.FailureOf(err); !fail.Barred || fail.Reason != crawl.ReasonAddress {
			t.Errorf("%+v", fail)
		}
	})
}
