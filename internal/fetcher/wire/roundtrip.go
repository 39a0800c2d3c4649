package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
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
	looked := time.Now()
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
	h.watch.begin(h.ctx, c)
	h.ready(c)
	// While it waited for the token and the delay, something may have come over the connection.
	if reused && (c.shut.Load() || time.Since(looked) >= quietFor && !c.quiet()) {
		return nil, io.EOF
	}
	if _, err := c.Write(h.buffers.request(r)); err != nil {
		return nil, err
	}
	in := h.buffers.answer(c)
	head, err := response.ReadHead(in, h.c.opt.MaxHeader)
	if err != nil {
		return nil, err
	}
	return &reply{head, head.Body(in)}, nil
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

// quietFor is how long a look at a connection counts. A request cannot be sent much sooner after a
// look, so another look would see hardly more.
const quietFor = time.Millisecond

// quiet reports whether a connection without a request is open and has received nothing.
func (c *conn) quiet() bool {
	if c.shut.Load() {
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
	return !c.readable()
}

// peek looks at a socket without reading from it. It is made once for a connection, because a look
// precedes and follows each request.
type peek struct {
	socket syscall.RawConn  // nil: it cannot be looked at, so it is never quiet
	look   func(fd uintptr) // sets quiet
	quiet  bool             // nothing arrived, and the other side has not closed it
}

// newPeek returns a peek at a connection, or nil if that is no socket.
func newPeek(c net.Conn) *peek {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	p := new(peek)
	if raw, err := s.SyscallConn(); err == nil {
		p.socket = raw
	}
	p.look = func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.quiet = errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK)
	}
	return p
}

// readable reports whether a read of a connection without TLS would return at once. Connections
// that are not sockets report it themselves; of others it is unknown.
func (c *conn) readable() bool {
	if s, ok := c.raw.(interface{ Readable() bool }); ok {
		return s.Readable()
	}
	if c.peek == nil {
		return false
	}
	if c.peek.socket == nil {
		return true
	}
	err := c.peek.socket.Control(c.peek.look)
	return err != nil || !c.peek.quiet
}
