package queue

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// cable is a TCP proxy that can be cut without either end hearing of it.
type cable struct {
	ln   net.Listener
	to   string
	wg   sync.WaitGroup
	mu   sync.Mutex
	ends []net.Conn     // guarded by mu
	jams []*atomic.Bool // guarded by mu; of the connections in ends: nothing is read any more
	cut  bool           // guarded by mu; bytes go nowhere
}

func newCable(t testing.TB, url string) *cable {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{ln: ln, to: strings.TrimPrefix(url, "nats://")}
	c.wg.Go(func() {
		for {
			a, err := ln.Accept()
			if err != nil {
				return
			}
			b, err := net.Dial("tcp", c.to)
			if err != nil {
				a.Close()
				continue
			}
			c.mu.Lock()
			jam := new(atomic.Bool)
			c.ends, c.jams = append(c.ends, a, b), append(c.jams, jam)
			c.mu.Unlock()
			c.wg.Go(func() { c.pump(a, b, jam) })
			c.wg.Go(func() { c.pump(b, a, jam) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		c.hangUp()
		c.wg.Wait()
	})
	return c
}

func (c *cable) pump(dst io.WriteCloser, src io.Reader, jam *atomic.Bool) {
	defer dst.Close()
	buf := make([]byte, 64<<10)
	for {
		for jam.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		c.mu.Lock()
		cut := c.cut
		c.mu.Unlock()
		if !cut {
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

// setCut makes the cable swallow everything, or mends it.
func (c *cable) setCut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
}

// jam makes the connections there are take nothing any more, as those to a machine that is gone.
func (c *cable) jam() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.jams {
		j.Store(true)
	}
}

// hangUp closes all connections.
func (c *cable) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.ends {
		e.Close()
	}
	for _, j := range c.jams {
		j.Store(false)
	}
	c.ends, c.jams = nil, nil
}

func dialURL(t testing.TB, url string, s *embedded.Server, log *slog.Logger) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), Options{URL: url, User: s.User(), Password: s.Password()}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestDialErrorsSayWhatToDo(t *testing.T) {
	const nobody = "nats://127.0.0.1:1" // the system gives this port to nobody who asks for any
	s := startServer(t, embedded.Options{Listen: "127.0.0.1:0"})
	plain, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	plain.Start()
	t.Cleanup(func() { plain.Shutdown(); plain.WaitForShutdown() })
	tests := []struct {
		o     Options
		words string
	}{
		{Options{URL: nobody}, "nothing answers at " + nobody + ": start one with `nats-server -js`, or leave out --nats"},
		{Options{URL: s.ClientURL()}, "refuses the credentials"},
		{Options{URL: s.ClientURL(), User: s.User(), Password: "x"}, "refuses the credentials"},
		{Options{URL: plain.ClientURL()}, "has no JetStream: start it with `nats-server -js`"},
		{Options{URL: s.ClientURL(), CertFile: "c.pem"}, "both its certificate file and its key file"},
		{Options{URL: s.ClientURL(), NKeyFile: "/no/such/file"}, "/no/such/file"},
		{Options{URL: s.ClientURL(), CredsFile: "/no/such/creds"}, "/no/such/creds"},
		{Options{URL: "nats://no such host:4222"}, "no such host"},
		// A password in the address is not shown.
		{Options{URL: "nats://a:hunter2@127.0.0.1:1,hunter2@127.0.0.1:1"}, "nothing answers at " + nobody + ",127.0.0.1:1"},
		{Options{URL: strings.Replace(s.ClientURL(), "nats://", "nats://a:hunter2@", 1)}, "refuses the credentials"},
		{Options{URL: "nats://a:hunter2@h:port"}, "connect to nats://h:port"},
		{Options{URL: strings.Replace(plain.ClientURL(), "nats://", "nats://a:hunter2@", 1)}, "has no JetStream"},
	}
	for _, x := range tests {
		c, err := Dial(t.Context(), x.o, testLog(t))
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), x.words) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Dial(%+v) = %v, want %q in it", x.o, err, x.words)
		}
	}
}

// Everything goes on after the server was restarted on its directory.
func TestServerRestart(t *testing.T) {
	for _, listen := range []string{"", steady(t)} {
		s := startServer(t, embedded.Options{Listen: listen})
		said := newLines()
		c := dialLog(t, s, slog.New(said))
		if listen != "" {
			c = dialURL(t, s.ClientURL(), s, slog.New(said))
		}
		l, w := openLog(t, c), openWork(t, c, 1000)
		var worked atomic.Int64
		appendN(t, l, 10)
		f := follow(t, l, Position{})
		ctx, cancel := cancelled(t)
		consumed := make(chan error, 1)
		go func() {
			consumed <- w.Consume(ctx, "x.pages.0", "i-0", 1, ConsumeOptions{}, countTo(&worked))
		}()
		sendN(t, w, "x.pages.0", 10)
		eventually(t, "before the restart", func() bool { return f.pos().Seq == 10 && worked.Load() >= 10 })

		var wg sync.WaitGroup
		wg.Go(func() { // appends go on all the while
			for range 200 {
				if _, err := l.Append(ctx, nil); err != nil {
					t.Errorf("Append during the restart: %v", err)
				}
				time.Sleep(time.Millisecond)
			}
		})
		time.Sleep(20 * time.Millisecond)
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		sendN(t, w, "x.pages.0", 10)
		last, err := l.Last(ctx)
		if err != nil || last < 210 {
			t.Errorf("Last = %d, %v", last, err)
		}
		eventually(t, "after the restart", func() bool { return f.pos().Seq == last && worked.Load() >= 20 })
		if said.count("is back") == 0 {
			t.Error("nobody was told that the connection is back")
		}
		f.stop()
		cancel()
		if err := errors.Join(f.wait(t), <-consumed); err != nil {
			t.Error(err)
		}
	}
}

// A server that comes back without its store does not continue the log.
func TestServerLosesItsStore(t *testing.T) {
	dir := t.TempDir()
	addr := steady(t)
	s := startServer(t, embedded.Options{Dir: dir, Listen: addr})
	c := dialURL(t, s.ClientURL(), s, testLog(t))
	l := openLog(t, c)
	appendN(t, l, 10)
	f := follow(t, l, Position{})
	eventually(t, "ten messages", func() bool { return f.pos().Seq == 10 })
	s.Shutdown()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s2 := startServer(t, embedded.Options{Dir: dir, Listen: addr, User: s.User(), Password: s.Password()})
	eventually(t, "reconnect", c.NC.IsConnected)
	l2 := openLog(t, dial(t, s2))
	appendN(t, l2, 10)
	if err := f.wait(t); !errors.Is(err, ErrAnchor) {
		t.Errorf("Follow = %v, want ErrAnchor", err)
	}
	at, err := l.Rewind(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readTo(t, l, at, 10); err != nil || len(got) != 10 {
		t.Errorf("after Rewind: %d messages, %v", len(got), err)
	}
}

// The connection breaks again and again; nothing is lost and nothing comes twice or out of order.
func TestFlappingConnection(t *testing.T) {
	s := startServer(t, embedded.Options{Listen: "127.0.0.1:0"})
	wire := newCable(t, s.ClientURL())
	c := dialURL(t, "nats://"+wire.ln.Addr().String(), s, testLog(t))
	l := openLog(t, dial(t, s))
	appendN(t, l, 20000)
	near := &Log{c: c, cfg: l.cfg}
	f := follow(t, near, Position{})
	for range 5 {
		time.Sleep(30 * time.Millisecond)
		wire.hangUp()
	}
	// What was on its way as the connection broke may be in the log twice, as Append says.
	last, err := near.Append(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if last < 20001 {
		t.Errorf("Append = %d behind 20000 messages", last)
	}
	eventually(t, "all of them", func() bool { return f.pos().Seq >= last })
	f.stop()
	if err := f.wait(t); err != nil {
		t.Error(err)
	}
}

// A peer that is gone reads nothing any more. A writer must not wait a minute for it, with
// everybody else waiting behind.
func TestPeerThatTakesNothing(t *testing.T) {
	defer func(d time.Duration) { writeWithin = d }(writeWithin)
	writeWithin = 300 * time.Millisecond
	s := startServer(t, embedded.Options{Listen: "127.0.0.1:0"})
	wire := newCable(t, s.ClientURL())
	c := dialURL(t, "nats://"+wire.ln.Addr().String(), s, testLog(t))
	l := openLog(t, c)
	appendN(t, l, 1)
	wire.jam()
	began := time.Now()
	var wg sync.WaitGroup
	for range 16 { // more than the buffers between us and the peer hold
		wg.Go(func() {
			if _, err := l.Append(t.Context(), make([]byte, 900<<10)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("16 messages took %v", took)
	}
}

func TestClosedConnectionEndsEverything(t *testing.T) {
	c := dial(t, startServer(t, embedded.Options{}))
	l, w := openLog(t, c), openWork(t, c, 10)
	f := follow(t, l, Position{})
	ctx, _ := cancelled(t)
	done := make(chan error, 1)
	go func() { done <- w.Consume(ctx, "x.pages.0", "i-0", 1, ConsumeOptions{}, countTo(new(atomic.Int64))) }()
	appendN(t, l, 1)
	sendN(t, w, "x.pages.0", 1)
	drained(t, w, "x.pages.0")
	c.Close()
	if err := f.wait(t); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("Follow = %v", err)
	}
	if err := <-done; !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("Consume = %v", err)
	}
	if _, err := l.Append(ctx, nil); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("Append = %v", err)
	}
}
