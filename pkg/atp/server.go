package atp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/textproto"
	"strconv"
	"sync"
	"time"
)

// Handler answers requests. It may be called concurrently. The request's body and the writer end
// with the call. An error that is or wraps a *[StatusError] is sent, if nothing was sent before;
// any other error is logged, and the client learns only that there was one.
type Handler interface {
	ServeATP(ctx context.Context, w *ResponseWriter, r *Request) error
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc func(context.Context, *ResponseWriter, *Request) error

// ServeATP calls f.
func (f HandlerFunc) ServeATP(ctx context.Context, w *ResponseWriter, r *Request) error {
	return f(ctx, w, r)
}

// Server answers requests, one on each connection. Its fields are not changed while it serves. The
// zero value of a field means its default; Handler has none.
type Server struct {
	Handler Handler
	MaxBody int64 // octets of a request's body; 0 = 8 MiB
	// Receive is the longest time in which a request must have come completely, however steadily
	// its octets come, unless the handler calls Request.Extend; 0 = 1 min.
	Receive time.Duration
	// Idle is the longest time in which the client may take no octet of a response; 0 is
	// [DefaultIdle].
	Idle    time.Duration
	PerAddr int // connections at the same time from one address, or one IPv6 /64; 0 = 8
	Conns   int // connections at the same time; 0 = 64
	Log     *slog.Logger
}

// Serve accepts connections until ctx ends, closes l, and returns when all handlers have returned.
// For TLS, l comes from [crypto/tls.NewListener]. A second Serve on another listener has limits of
// its own.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // before waiting: handlers notice the end
	limit := &connections{all: orDefault(s.Conns, 64), each: orDefault(s.PerAddr, 8), from: map[netip.Prefix]int{}, left: make(chan struct{})}
	waiting := make(chan struct{}, maxWaiting)
	for delay := time.Duration(0); ; {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if conn != nil {
				_ = conn.Close()
			}
			return nil
		case err != nil && !temporary(err):
			return err
		case err != nil: // no descriptors, say: other connections end and give some back
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			s.log().Warn("a connection could not be accepted", "error", err, "next", delay)
			select {
			case <-time.After(delay):
			case <-ctx.Done():
			}
			continue
		}
		delay = 0
		remote := addrOf(conn)
		if !limit.enter(remote.Addr()) {
			select {
			case waiting <- struct{}{}:
				running.Go(func() {
					admitted := limit.wait(ctx, remote.Addr(), patience)
					if !admitted {
						s.refuse(conn)
					}
					<-waiting
					if admitted {
						defer limit.leave(remote.Addr())
						s.serve(ctx, conn, remote)
					}
				})
			default:
				_ = conn.Close()
			}
			continue
		}
		running.Go(func() {
			defer limit.leave(remote.Addr())
			s.serve(ctx, conn, remote)
		})
	}
}

// serve answers the one request of a connection.
func (s *Server) serve(ctx context.Context, conn net.Conn, remote netip.AddrPort) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	receive := orDefault(s.Receive, time.Minute)
	if conn.SetReadDeadline(time.Now().Add(receive)) != nil {
		return
	}
	w := newResponseWriter(conn, orDefault(s.Idle, DefaultIdle))
	r, err := readRequest(conn, orDefault(s.MaxBody, 8<<20))
	if err == nil {
		r.Remote = remote
		r.extend = func(more time.Duration) error { return conn.SetReadDeadline(time.Now().Add(more)) }
		err = s.Handler.ServeATP(ctx, w, r)
	}
	if err := w.end(statusOf(err)); err != nil {
		s.log().Debug("a response was not sent", "client", remote.Addr(), "error", err)
	}
	var status *StatusError
	if err != nil && r != nil && !errors.As(err, &status) && ctx.Err() == nil {
		s.log().Error("a request failed", "method", string(r.Method), "client", remote.Addr(), "error", err)
	}
	lingering(conn)
}

// Connections past the limits wait for a moment before they are refused: a client that sends one
// request after the other may be faster than the end of its last connection is noticed. maxWaiting
// wait or are refused at the same time. The others are closed without a word.
const (
	patience   = time.Second
	maxWaiting = 16
)

// refuse answers a connection past the limits, for a second at most.
func (s *Server) refuse(conn net.Conn) {
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	w := newResponseWriter(conn, time.Second)
	_ = w.end(&StatusError{Status: 503, Reason: "too many connections", RetryAfter: 10 * time.Second})
}

func (s *Server) log() *slog.Logger {
	if s.Log == nil {
		return slog.Default()
	}
	return s.Log
}

// statusOf is what a client is sent for an error, or nil if there is nothing to send.
func statusOf(err error) *StatusError {
	var status *StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		return status
	case errors.Is(err, ErrTooLarge):
		return &StatusError{Status: 413, Reason: err.Error()}
	case errors.Is(err, ErrVersion):
		return &StatusError{Status: 505, Reason: err.Error()}
	case errors.Is(err, ErrMalformed):
		return &StatusError{Status: 400, Reason: err.Error()}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isTimeout(err):
		return &StatusError{Status: 408, Reason: "the request did not come completely"}
	default:
		return &StatusError{Status: 500, Reason: "an internal error happened"}
	}
}

// lingering lets the client read the response although it may still be sending: closing a
// connection with unread octets would reset it, and the response would be lost. A little is read
// and dropped.
func lingering(conn net.Conn) {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || conn.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, conn, 256<<10)
}

// ResponseWriter sends the response of one request. It must not be used concurrently.
type ResponseWriter struct {
	header  textproto.MIMEHeader
	out     *bufio.Writer
	started bool
	left    int64 // octets of the body that must still come; -1 if their number was not given
}

func newResponseWriter(conn net.Conn, idle time.Duration) *ResponseWriter {
	return &ResponseWriter{header: textproto.MIMEHeader{}, out: bufio.NewWriterSize(&idleConn{Conn: conn, idle: idle}, 32<<10), left: -1}
}

// Header is sent by Start; later changes have no effect.
func (w *ResponseWriter) Header() textproto.MIMEHeader { return w.header }

// Started reports whether Start was called.
func (w *ResponseWriter) Started() bool { return w.started }

// Start sends the head of a response whose body has length octets, or ends with the connection if
// length is -1. A second call is an error.
func (w *ResponseWriter) Start(status int, reason string, length int64) error {
	if w.started {
		return errors.New("ATP: a response was started twice")
	}
	w.header.Del(ContentLength)
	if length >= 0 {
		w.header.Set(ContentLength, strconv.FormatInt(length, 10))
	}
	if w.header.Get(Date) == "" {
		w.header.Set(Date, time.Now().UTC().Format(time.RFC1123))
	}
	head, err := encodeHead(Version+" "+strconv.Itoa(status)+" "+clean(reason), w.header)
	if err != nil {
		return err
	}
	w.started, w.left = true, length
	_, err = w.out.WriteString(head)
	return err
}

// Write sends octets of the body, after Start, or after 200 and a body without a length. More
// octets than Start promised are an error.
func (w *ResponseWriter) Write(p []byte) (int, error) {
	if !w.started {
		if err := w.Start(200, "OK", -1); err != nil {
			return 0, err
		}
	}
	if w.left >= 0 {
		if int64(len(p)) > w.left {
			return 0, errors.New("ATP: a body is longer than its Content-Length")
		}
		w.left -= int64(len(p))
	}
	return w.out.Write(p)
}

// Flush sends what was written so far.
func (w *ResponseWriter) Flush() error { return w.out.Flush() }

// end sends what is left, or a refusal if nothing was sent.
func (w *ResponseWriter) end(status *StatusError) error {
	if !w.started {
		if status == nil {
			status = &StatusError{Status: 200, Reason: "OK"}
		}
		if status.RetryAfter > 0 {
			w.header.Set(RetryAfter, strconv.FormatInt(int64((status.RetryAfter+time.Second-1)/time.Second), 10))
		}
		if err := w.Start(status.Status, status.Reason, 0); err != nil {
			return err
		}
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	if w.left > 0 {
		return io.ErrShortWrite
	}
	return nil
}

// connections counts open connections by client. It may be used concurrently.
type connections struct {
	all, each int

	mu   sync.Mutex // guards what follows
	open int
	from map[netip.Prefix]int
	left chan struct{} // closed and replaced when a connection ends
}

// wait is enter, and waits for up to most until it is possible.
func (c *connections) wait(ctx context.Context, client netip.Addr, most time.Duration) bool {
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		c.mu.Lock()
		left := c.left
		c.mu.Unlock()
		if c.enter(client) {
			return true
		}
		select {
		case <-left:
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (c *connections) enter(client netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := customer(client)
	if c.open >= c.all || c.from[key] >= c.each {
		return false
	}
	c.open++
	c.from[key]++
	return true
}

func (c *connections) leave(client netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := customer(client)
	close(c.left)
	c.left = make(chan struct{})
	c.open--
	if c.from[key]--; c.from[key] == 0 {
		delete(c.from, key)
	}
}

// customer is the block of addresses that belongs to one customer: an IPv4 address, an IPv6 /64.
func customer(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // without an address: the zero Prefix, which works like any other
	return p
}

func addrOf(conn net.Conn) netip.AddrPort {
	a, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	return a
}

func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

func orDefault[T int | int64 | time.Duration](n, value T) T {
	if n <= 0 {
		return value
	}
	return n
}
