package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/proxy"

	"github.com/curtsy/curtsy/internal/credentials"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A proxy is asked to connect (CONNECT, or SOCKS5), for https and http alike, and passes bytes on.
// So what is recorded is what the site sees, one request leads to one request there, and the site's
// answer comes from the site. The other way, in which a proxy gets the whole URL, ensures none of
// this: such a proxy may answer itself, ask twice, and looks the name up itself.
//
// Unless the proxy is to look names up, it gets the address that the guard allowed.

// proxyError is the error of a proxy that could not be used. The site received no request and is
// not the cause.
type proxyError struct {
	proxy *credentials.Proxy
	why   string
}

func (e *proxyError) Error() string { return fmt.Sprintf("the proxy %s %s", e.proxy, e.why) }

// notConnected is a proxy's answer that it did not connect to a site.
type notConnected struct {
	proxy  *credentials.Proxy
	target string
	why    string
	barred bool // it refused, and would refuse another address as well
}

func (e *notConnected) Error() string {
	return fmt.Sprintf("the proxy %s did not connect to %s: %s", e.proxy, e.target, e.why)
}

// unknownBlock has invented addresses, which stand for those that only a proxy knows. They are
// never dialled. The block is a part of IPv6 that is not assigned.
var unknownBlock = netip.MustParsePrefix("100::/8")

// unknownAddress returns an address that stands for that of a host that only the proxy knows. Hosts
// of one registered domain are assumed to be at one address, as most of them are.
func unknownAddress(host canon.Host) netip.Addr {
	var b [16]byte
	b[0] = 1
	sum := maphash.String(nameSeed, host.Registered())
	for i := range 7 { // only the /64 counts
		b[1+i] = byte(sum >> (8 * i))
	}
	return netip.AddrFrom16(b)
}

// link is a connection to a site: a socket, and what a proxy passes on at its other end.
type link struct {
	net.Conn          // bytes of the site
	socket   net.Conn // to be closed
	addr     netip.Addr
	// Nobody on the internet can read the bytes between here and where they leave the proxy
	// unencrypted.
	closed bool
}

// proxyState is what was last reported of a proxy that cannot be used.
type proxyState struct {
	mu     sync.Mutex // guards last
	last   time.Time
	report func(why string)
}

// reportEvery is the least time between two reports that a proxy cannot be used.
const reportEvery = 30 * time.Second

// OnProxy makes the client call report when its proxy cannot be used, at most every 30 seconds. It
// must be called before any request is sent.
func (c *Client) OnProxy(report func(why string)) { c.proxy.report = report }

func (s *proxyState) failed(err error) {
	var useless *proxyError
	if s.report == nil || !errors.As(err, &useless) {
		return
	}
	s.mu.Lock()
	now := time.Now()
	due := s.last.IsZero() || now.Sub(s.last) >= reportEvery
	if due {
		s.last = now
	}
	s.mu.Unlock()
	if due {
		s.report(useless.Error())
	}
}

// inner reports whether a name means a machine of the network in which it is looked up.
func inner(host string) bool {
	host = strings.TrimSuffix(host, ".")
	_, last, dotted := strings.Cut(host, ".")
	if !dotted {
		return true
	}
	last = last[strings.LastIndexByte(last, '.')+1:]
	return slices.Contains([]string{"localhost", "local", "internal", "lan", "localdomain"}, last) || strings.HasSuffix(host, ".home.arpa")
}

// dialProxy connects to a proxy, and asks it to connect to target, whose address is addr.
func (c *Client) dialProxy(ctx context.Context, h *Session, target string, addr netip.Addr) (*link, error) {
	l, err := c.dialThrough(ctx, h, target, addr)
	if err != nil && h.ctx.Err() == nil {
		c.proxy.failed(err)
	}
	return l, err
}

func (c *Client) dialThrough(ctx context.Context, h *Session, target string, addr netip.Addr) (*link, error) {
	p := c.opt.Proxy
	l := &link{addr: addr}
	var at netip.Addr
	check := func(address string) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil || ReachOf(ap.Addr()) == forbidden {
			return errors.New("has a link-local, metadata or multicast address; Curtsy never connects to these")
		}
		at = ap.Addr().Unmap()
		return nil
	}
	d := net.Dialer{
		FallbackDelay: -1, Resolver: c.opt.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error { return check(address) },
	}
	dial := d.DialContext
	if c.opt.Dial != nil {
		dial = c.opt.Dial
		if _, err := netip.ParseAddrPort(p.Addr); err == nil { // it is not a name
			if err := check(p.Addr); err != nil {
				return nil, &proxyError{p, err.Error()}
			}
		}
	}
	socket, err := dial(ctx, "tcp", p.Addr)
	if err != nil {
		return nil, &proxyError{p, "cannot be reached: " + detail(err)}
	}
	if err := check(socket.RemoteAddr().String()); err != nil {
		socket.Close()
		return nil, &proxyError{p, err.Error()}
	}
	l.socket, l.Conn = socket, socket
	l.closed = p.Scheme == "https" || c.Reach(at) != Public
	if p.Login.User() != "" && !l.closed {
		socket.Close()
		return nil, &proxyError{p, "has a public address, and passwords are sent to it only with TLS; use https:// for it"}
	}
	// All reads and writes below end with ctx.
	stop := context.AfterFunc(ctx, func() { socket.SetDeadline(time.Unix(1, 0)) })
	err = c.tunnel(ctx, h, l, target)
	if !stop() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		socket.Close()
		return nil, timedOut(ctx, err)
	}
	return l, nil
}

// tunnel asks a proxy that is connected to connect to target.
func (c *Client) tunnel(ctx context.Context, h *Session, l *link, target string) error {
	p := c.opt.Proxy
	switch p.Scheme {
	case "socks5":
		return c.socks(ctx, l, target)
	case "https":
		t := tls.Client(l.socket, &tls.Config{ServerName: p.Host(), RootCAs: p.Login.Roots(), NextProtos: []string{"http/1.1"}})
		if err := t.HandshakeContext(ctx); err != nil {
			return &proxyError{p, "cannot be used: " + (&tlsError{err, "proxy:"}).why()}
		}
		l.Conn = t
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target)
	if agent := h.cfg.Header.Get("User-Agent"); agent != "" {
		fmt.Fprintf(&b, "User-Agent: %s\r\n", agent)
	}
	if user := p.Login.User(); user != "" {
		fmt.Fprintf(&b, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(user+":"+p.Login.Password())))
	}
	b.WriteString("\r\n")
	if _, err := io.WriteString(l.Conn, b.String()); err != nil {
		return &proxyError{p, "closed the connection: " + detail(err)}
	}
	br := bufio.NewReader(io.LimitReader(l.Conn, c.opt.MaxHeader))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil && ctx.Err() != nil:
		return err // it waits for the site
	case err != nil:
		return &proxyError{p, "does not answer with HTTP: " + detail(err)}
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return &proxyError{p, "requires a user name and a password, or others than these: add user: and password: below proxy: in the file for --credentials"}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		why := "HTTP " + strings.TrimSpace(resp.Status)
		barred := resp.StatusCode < 500
		if barred {
			why += "; it must allow CONNECT to that port"
		}
		return &notConnected{p, target, why, barred}
	case br.Buffered() > 0:
		return &proxyError{p, "sends data before the first request"}
	}
	return nil
}

// socks asks a SOCKS5 proxy that is connected to connect to target.
func (c *Client) socks(ctx context.Context, l *link, target string) error {
	p := c.opt.Proxy
	var login *proxy.Auth
	if p.Login.User() != "" {
		login = &proxy.Auth{User: p.Login.User(), Password: p.Login.Password()}
	}
	d, err := proxy.SOCKS5("tcp", p.Addr, login, connected{l.socket})
	if err == nil {
		_, err = d.(proxy.ContextDialer).DialContext(ctx, "tcp", target)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case strings.Contains(err.Error(), "unknown error "):
		// This is the library's text for a refusal by the proxy.
		_, why, _ := strings.Cut(err.Error(), "unknown error ")
		return &notConnected{p, target, why, strings.Contains(why, "ruleset")}
	case strings.Contains(err.Error(), "authentication"):
		return &proxyError{p, "requires a user name and a password, or others than these: add user: and password: below proxy: in the file for --credentials"}
	}
	return &proxyError{p, "cannot be used: " + detail(err)}
}

// connected is a dialer that has connected already.
type connected struct{ net.Conn }

func (c connected) Dial(string, string) (net.Conn, error) { return c.Conn, nil }

func (c connected) DialContext(context.Context, string, string) (net.Conn, error) { return c.Conn, nil }
