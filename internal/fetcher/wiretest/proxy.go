package wiretest

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// Proxy is a proxy for tests: HTTP's CONNECT, or SOCKS5.
type Proxy struct {
	net.Listener
	SOCKS          bool
	TLS            *tls.Config             // nil: it is spoken to in the clear
	User, Password string                  // that it wants; none if empty
	Where          func(to string) string  // where it connects to for a target; nil: to it
	Answer         func(target string) int // HTTP status; nil or 200: it connects

	on      Network
	mu      sync.Mutex
	targets []string
}

// NewProxy starts a proxy. set, if not nil, changes the proxy before it starts.
func NewProxy(t testing.TB, on Network, set func(p *Proxy)) *Proxy {
	t.Helper()
	l := listen(t, on)
	p := &Proxy{Listener: l, on: on}
	if set != nil {
		set(p)
	}
	var wg sync.WaitGroup
	var open sync.Map
	in := l
	if p.TLS != nil {
		in = tls.NewListener(l, p.TLS)
	}
	wg.Go(func() {
		for {
			c, err := in.Accept()
			if err != nil {
				return
			}
			open.Store(c, true)
			wg.Go(func() {
				defer c.Close()
				serve := p.connect
				if p.SOCKS {
					serve = p.socks
				}
				site := serve(c)
				if site == nil {
					return
				}
				defer site.Close()
				open.Store(site, true)
				var both sync.WaitGroup
				both.Go(func() { io.Copy(site, c); site.Close() })
				both.Go(func() { io.Copy(c, site); c.Close() })
				both.Wait()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return p
}

// Targets returns the addresses to which clients asked the proxy to connect.
func (p *Proxy) Targets() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.targets)
}

func (p *Proxy) dial(target string) net.Conn {
	p.mu.Lock()
	p.targets = append(p.targets, target)
	p.mu.Unlock()
	if p.Where != nil {
		target = p.Where(target)
	}
	site, err := p.on.Dial(context.Background(), "tcp", target)
	if err != nil {
		return nil
	}
	return site
}

func (p *Proxy) connect(c net.Conn) net.Conn {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil || r.Method != http.MethodConnect {
		io.WriteString(c, "HTTP/1.1 405 Method Not Allowed\r\n\r\n")
		return nil
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.User+":"+p.Password))
	if p.User != "" && r.Header.Get("Proxy-Authorization") != want {
		io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
		return nil
	}
	if p.Answer != nil {
		if status := p.Answer(r.Host); status != http.StatusOK {
			p.mu.Lock()
			p.targets = append(p.targets, r.Host)
			p.mu.Unlock()
			fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Length: 2\r\n\r\nno", status, http.StatusText(status))
			return nil
		}
	}
	site := p.dial(r.Host)
	if site == nil {
		io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return nil
	}
	io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
	return site
}

// socks implements as much of RFC 1928 and RFC 1929 as a client needs.
func (p *Proxy) socks(c net.Conn) net.Conn {
	read := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(c, b); err != nil {
			return make([]byte, n)
		}
		return b
	}
	methods := read(int(read(2)[1]))
	method := byte(0)
	if p.User != "" {
		method = 2
	}
	if !slices.Contains(methods, method) {
		c.Write([]byte{5, 0xff})
		return nil
	}
	c.Write([]byte{5, method})
	if method == 2 {
		user := string(read(int(read(2)[1])))
		password := string(read(int(read(1)[0])))
		if user != p.User || password != p.Password {
			c.Write([]byte{1, 1})
			return nil
		}
		c.Write([]byte{1, 0})
	}
	var host string
	switch kind := read(4)[3]; kind {
	case 1, 4:
		addr, _ := netip.AddrFromSlice(read(map[byte]int{1: 4, 4: 16}[kind]))
		host = addr.String()
	case 3:
		host = string(read(int(read(1)[0])))
	default:
		return nil
	}
	site := p.dial(net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(read(2))))))
	if site == nil {
		c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0}) // host unreachable
		return nil
	}
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return site
}
