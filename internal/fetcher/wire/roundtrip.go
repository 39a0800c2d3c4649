package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wire/response"
	"github.com/curtsy/curtsy/pkg/canon"
)

// reply is the head of a response, and its body as it arrives.
type reply struct {
	*response.Head
	body *response.Body
}

// roundTrip sends one request and reads the head of its response. If the host has a connection, it
// waits here for a token of its address, and otherwise after the name was looked up (see connect).
// After an error the connection cannot be used any more.
func (h *Session) roundTrip(u canon.URL, r *request) (*reply, error) {
	h.token.begin()
	c := h.kept(u)
	if c != nil && !c.private {
		if err := h.takeIPToken(c.addr, c); err != nil {
			h.c.conns.toIdle(c, h.c.opt.IdleTimeout) // nothing was sent on it
			return nil, err
		}
		if c.shut.Load() { // meanwhile
			c = nil
		}
	}
	reused := c != nil
	if c == nil {
		var err error
		origin := u.Origin()
		if c, err = h.c.connect(h, net.JoinHostPort(strings.Trim(string(u.Host()), "[]"), strconv.Itoa(origin.Port)), origin.Scheme == "https"); err != nil {
			return nil, err
		}
	}
	h.conn, h.reused, h.used = c, reused, true
	// The end of the lease, or of the visit, ends the request at once.
	stop := context.AfterFunc(h.ctx, func() { c.Close() })
	h.unwatch = func() { stop() }
	h.ready(c)
	if reused && !c.quiet() { // while it waited for the token and the delay
		return nil, io.EOF
	}
	h.sending.Reset()
	r.write(&h.sending)
	if _, err := c.Write(h.sending.Bytes()); err != nil {
		return nil, err
	}
	head, err := response.ReadHead(c.in, h.c.opt.MaxHeader)
	if err != nil {
		return nil, err
	}
	return &reply{head, head.Body(c.in)}, nil
}

// kept returns the host's connection, if it can be used for a request for u.
func (h *Session) kept(u canon.URL) *conn {
	c := h.c.conns.get(h.host)
	if c == nil {
		return nil
	}
	origin := u.Origin()
	if c.secure != (origin.Scheme == "https") || c.port != origin.Port || c.cfg != h.cfg || !c.wake() {
		c.Close() // a host has one connection at a time
		return nil
	}
	return c
}

// wake removes a connection from those that wait. It returns false if the connection is closed, or
// if anything came over it in between: its end, or bytes that nobody requested, which must not be
// taken for the next response.
func (c *conn) wake() bool {
	return c.client.conns.wake(c) && c.quiet()
}

// quiet reports whether a connection without a request is open and has received nothing.
func (c *conn) quiet() bool {
	if c.shut.Load() || c.in.Buffered() > 0 {
		return false
	}
	if t, ok := c.Conn.(*tls.Conn); ok {
		// Bytes that TLS has read already are not in the socket. With a deadline in the past, a
		// read returns them and does not read from the socket.
		t.SetReadDeadline(time.Unix(1, 0))
		var b [1]byte
		n, err := t.Read(b[:])
		t.SetReadDeadline(time.Time{})
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return !readable(c.raw)
}

// readable reports whether a read of a connection without TLS would return at once. Connections
// that are not sockets report it themselves; of others it is unknown.
func readable(c net.Conn) bool {
	switch c := c.(type) {
	case interface{ Readable() bool }:
		return c.Readable()
	case syscall.Conn:
		raw, err := c.SyscallConn()
		if err != nil {
			return true
		}
		quiet := false
		err = raw.Read(func(fd uintptr) bool {
			var b [1]byte
			_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			quiet = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK)
			return true
		})
		return err != nil || !quiet
	}
	return false
}

// request is what goes out, without what only its connection knows.
type request struct {
	method, target, host string
	header               http.Header
	body                 string
}

// write makes one piece of a request. Names and values are our own, so only line ends have to be
// checked.
func (r *request) write(b *bytes.Buffer) {
	b.WriteString(r.method)
	b.WriteByte(' ')
	b.WriteString(r.target)
	b.WriteString(" HTTP/1.1\r\nHost: ")
	b.WriteString(r.host)
	b.WriteString("\r\n")
	field := func(name, value string) {
		b.WriteString(name)
		b.WriteString(": ")
		for i := range len(value) {
			if c := value[i]; c != '\r' && c != '\n' {
				b.WriteByte(c)
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString("\r\n")
	}
	for _, v := range r.header["User-Agent"] {
		field("User-Agent", v)
	}
	var names [24]string
	rest := names[:0]
	for name := range r.header {
		if name != "User-Agent" {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	for _, name := range rest {
		for _, v := range r.header[name] {
			field(name, v)
		}
	}
	if r.method == "POST" {
		field("Content-Length", strconv.Itoa(len(r.body)))
	}
	b.WriteString("\r\n")
	b.WriteString(r.body)
}
