package wiretest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/simnet"
)

// send writes a request and reads the response.
func send(t *testing.T, c net.Conn, br *bufio.Reader, path string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a.example\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

func dial(t *testing.T, on Network, to net.Listener) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := on.Dial(t.Context(), "tcp", to.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

// TestServer: the heads of requests are recorded as they arrive, with their connection, and what
// answer writes is what the other side reads.
func TestServer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		on := simnet.New(simnet.Options{})
		w := New(t, on, func(c net.Conn, h Head) bool {
			io.WriteString(c, PageAnswer("", []byte(h.Text)))
			return !strings.Contains(h.Text, "/last")
		})
		first, br := dial(t, on, w)
		second, br2 := dial(t, on, w)
		for _, c := range []struct {
			conn net.Conn
			br   *bufio.Reader
			path string
		}{{first, br, "/1"}, {second, br2, "/2"}, {first, br, "/last"}} {
			const rest = " HTTP/1.1\r\nHost: a.example\r\n\r\n"
			if got, _ := io.ReadAll(send(t, c.conn, c.br, c.path).Body); string(got) != "GET "+c.path+rest {
				t.Errorf("answered %q", got)
			}
		}
		if _, err := br.ReadByte(); err != io.EOF {
			t.Errorf("the connection is not closed: %v", err)
		}
		heads := w.Seen()
		if len(heads) != 3 || w.Conns != 2 {
			t.Fatalf("%d requests on %d connections", len(heads), w.Conns)
		}
		if last := heads[2]; last.Conn != heads[0].Conn || last.N != 1 || heads[1].Conn == heads[0].Conn || heads[1].N != 0 {
			t.Errorf("requests %+v", heads)
		}
	})
}

// TestEncode: each encoding is read back by its own reader.
func TestEncode(t *testing.T) {
	body := []byte(strings.Repeat("a page ", 100))
	for name, reader := range map[string]func(r io.Reader) (io.Reader, error){
		"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		"zstd":    func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) },
		"deflate": func(r io.Reader) (io.Reader, error) { return flate.NewReader(r), nil },
		"":        func(r io.Reader) (io.Reader, error) { return r, nil },
	} {
		encoded := Encode(t, name, body)
		r, err := reader(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) || name != "" && len(encoded) >= len(body) {
			t.Errorf("%q: %d bytes are read from %d: %v", name, len(got), len(encoded), err)
		}
	}
}

// TestBusy: it counts what is open and in flight at the same time, takes its time for an answer,
// and closes a connection on which nothing is sent.
func TestBusy(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		on := simnet.New(simnet.Options{})
		b := NewBusy(t, on, time.Second, time.Minute)
		began := time.Now()
		for range 2 {
			c, br := dial(t, on, b)
			go func() {
				io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
				http.ReadResponse(br, nil)
			}()
		}
		_, silent := dial(t, on, b)
		if _, err := silent.ReadByte(); err != io.EOF || time.Since(began) != time.Minute {
			t.Errorf("a silent connection ends after %v: %v", time.Since(began), err)
		}
		b.Mu.Lock()
		defer b.Mu.Unlock()
		if b.MostOpen != 3 || b.Open != 2 || b.mostInFlight != 2 || b.inFlight != 0 || b.HungUp != 1 || b.Answers != 2 || b.connections != 3 {
			t.Errorf("%d open at most, %d now; %d in flight at most, %d now; %d hung up, %d answers, %d connections",
				b.MostOpen, b.Open, b.mostInFlight, b.inFlight, b.HungUp, b.Answers, b.connections)
		}
		for i := range b.Starts {
			if b.ends[i].Sub(b.Starts[i]) != time.Second {
				t.Errorf("request %d took %v", i, b.ends[i].Sub(b.Starts[i]))
			}
		}
	})
}

// TestBusyHangsUp: after an answer that says so, and the connection counts as closed before the
// answer arrives.
func TestBusyHangsUp(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		on := simnet.New(simnet.Options{})
		b := NewBusy(t, on, 0, 0)
		b.HangsUp = true
		c, br := dial(t, on, b)
		r := send(t, c, br, "/")
		b.Mu.Lock()
		open := b.Open
		b.Mu.Unlock()
		if _, err := br.ReadByte(); !r.Close || open != 0 || err != io.EOF {
			t.Errorf("it says that it closes: %v; %d open, %v", r.Close, open, err)
		}
	})
}

// TestProxy: both kinds of proxy connect to the target for those who have the password, and refuse
// others.
func TestProxy(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		on := simnet.New(simnet.Options{})
		site := New(t, on, Answer(OKAnswer))
		http11 := NewProxy(t, on, func(p *Proxy) {
			p.User, p.Password = "u", "p"
			p.Where = func(string) string { return site.Addr().String() }
			p.Answer = func(target string) int {
				if target == "b.example:80" {
					return http.StatusForbidden
				}
				return http.StatusOK
			}
		})
		connect := func(target, auth string) (net.Conn, *bufio.Reader, int) {
			c, br := dial(t, on, http11)
			io.WriteString(c, "CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\nProxy-Authorization: Basic "+auth+"\r\n\r\n")
			r, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
			if err != nil {
				t.Fatal(err)
			}
			return c, br, r.StatusCode
		}
		const right = "dTpw" // u:p
		if _, _, status := connect("a.example:80", "dTp4"); status != http.StatusProxyAuthRequired {
			t.Errorf("status %d with another password", status)
		}
		if _, _, status := connect("b.example:80", right); status != http.StatusForbidden {
			t.Errorf("status %d for a target that is refused", status)
		}
		if c, br, status := connect("a.example:80", right); status != http.StatusOK || send(t, c, br, "/").StatusCode != http.StatusOK {
			t.Errorf("status %d", status)
		}
		if got := http11.Targets(); len(got) != 2 || got[1] != "a.example:80" {
			t.Errorf("targets %q", got)
		}

		socks := NewProxy(t, on, func(p *Proxy) { p.SOCKS, p.User, p.Password, p.Where = true, "u", "p", http11.Where })
		for password, want := range map[byte]byte{'p': 0, 'x': 1} {
			c, br := dial(t, on, socks)
			c.Write([]byte{5, 2, 0, 2, 1, 1, 'u', 1, password})
			var answer [4]byte
			if _, err := io.ReadFull(br, answer[:]); err != nil || answer != [4]byte{5, 2, 1, want} {
				t.Errorf("password %c: %v, %v", password, answer, err)
			}
			if want != 0 {
				continue
			}
			c.Write(append([]byte{5, 1, 0, 3, 9}, "a.example\x00\x50"...))
			if head := make([]byte, 10); func() error { _, err := io.ReadFull(br, head); return err }() != nil || head[1] != 0 || send(t, c, br, "/").StatusCode != http.StatusOK {
				t.Errorf("connected: %v", head)
			}
		}
		if got := socks.Targets(); len(got) != 1 || got[0] != "a.example:80" {
			t.Errorf("targets %q", got)
		}
	})
}

// TestLiar: the resolver gives the addresses that the test wants.
func TestLiar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lie := Liar(t, func(name string) []netip.Addr {
			if name != "a.example" {
				return nil
			}
			return Addrs("192.0.2.7 2001:db8::7")
		})
		for network, want := range map[string]string{"ip4": "192.0.2.7", "ip6": "2001:db8::7"} {
			got, err := lie.LookupNetIP(t.Context(), network, "a.example")
			if err != nil || len(got) != 1 || got[0].Unmap().String() != want {
				t.Errorf("%s: %v, %v", network, got, err)
			}
		}
		if got, err := lie.LookupNetIP(t.Context(), "ip", "b.example"); err == nil {
			t.Errorf("a name without addresses has %v", got)
		}
	})
}

// TestCA: what the authority has issued is trusted by those who know it, for its names and until it
// expires.
func TestCA(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		on := simnet.New(simnet.Options{})
		ca := NewCA(t)
		s := HTTPS(t, on, http.NotFoundHandler(), func(s *httptest.Server) { s.TLS = ca.Server("a.example", "192.0.2.7") })
		hello := func(config *tls.Config) error {
			c, _ := dial(t, on, s.Listener)
			return tls.Client(c, config).Handshake()
		}
		for _, name := range []string{"a.example", "192.0.2.7"} {
			if err := hello(&tls.Config{RootCAs: ca.Pool(), ServerName: name}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, config := range map[string]*tls.Config{
			"another name": {RootCAs: ca.Pool(), ServerName: "b.example"}, "another authority": {RootCAs: NewCA(t).Pool(), ServerName: "a.example"},
			"later": {RootCAs: ca.Pool(), ServerName: "a.example", Time: func() time.Time { return time.Now().Add(2 * time.Hour) }},
		} {
			if err := hello(config); err == nil {
				t.Errorf("trusted: %s", name)
			}
		}
	})
}
