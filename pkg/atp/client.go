package atp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/textproto"
	"strconv"
	"time"
)

// Client sends requests. It may be used concurrently. The zero value is ready to use.
type Client struct {
	// Dial connects; nil is a net.Dialer. What must not be reached is refused here.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is the configuration for atps addresses; nil verifies the server by its host name.
	TLS *tls.Config
	// Idle is the longest time without an octet in either direction; 0 is [DefaultIdle]. A context
	// bounds the whole exchange.
	Idle time.Duration
	// UserAgent and From are sent if not empty and if the request has none.
	UserAgent, From string
}

// Do sends a request to a and returns the response once its head has come. Any status is a
// response, not an error; see [Response.Err]. When ctx ends, reading the body fails too. The
// request's header is not changed.
//
// Nothing is repeated: whether a request that failed may be sent again is known to the caller only.
func (c *Client) Do(ctx context.Context, a Address, r *Request) (_ *Response, err error) {
	out, err := c.encode(a, r)
	if err != nil {
		return nil, err
	}
	conn, err := c.connect(ctx, a)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if err != nil {
			if stop(); ctx.Err() != nil {
				err = ctx.Err()
			}
			_ = conn.Close()
		}
	}()
	// A server may refuse a request before it has read the whole body, and then it closes. So the
	// error of writing counts only if there is no response.
	written := send(conn, out, r)
	res, err := readResponse(conn)
	if err != nil && written != nil {
		return nil, written
	} else if err != nil {
		return nil, err
	}
	res.Body = &responseBody{Reader: res.Body, conn: conn, stop: stop, ctx: ctx}
	return res, nil
}

// encode returns the head of a request to a.
func (c *Client) encode(a Address, r *Request) (string, error) {
	if !isToken(string(r.Method)) {
		return "", fmt.Errorf("%w: %q is no method", ErrMalformed, r.Method)
	}
	uri := r.URI
	if uri == "" {
		uri = a.String()
	}
	if len(uri) > MaxURI {
		return "", fmt.Errorf("%w: a URI of more than %d octets", ErrTooLarge, MaxURI)
	}
	if err := checkURI(uri); err != nil {
		return "", err
	}
	h := maps.Clone(r.Header)
	if h == nil {
		h = textproto.MIMEHeader{}
	}
	for name, value := range map[string]string{UserAgent: c.UserAgent, From: c.From} {
		if value != "" && h.Get(name) == "" {
			h.Set(name, value)
		}
	}
	h.Del(ContentLength)
	if r.Body != nil {
		h.Set(ContentLength, strconv.FormatInt(r.Length, 10))
	}
	return encodeHead(string(r.Method)+" "+uri+" "+Version, h)
}

func (c *Client) connect(ctx context.Context, a Address) (net.Conn, error) {
	idle := c.Idle
	if idle <= 0 {
		idle = DefaultIdle
	}
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: idle}).DialContext
	}
	conn, err := dial(ctx, "tcp", a.HostPort())
	if err != nil {
		return nil, err
	}
	conn = &idleConn{Conn: conn, idle: idle}
	if !a.TLS {
		return conn, nil
	}
	config := c.TLS.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	if config.ServerName == "" {
		config.ServerName = a.Host
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

func send(conn net.Conn, head string, r *Request) error {
	w := bufio.NewWriter(conn)
	_, _ = w.WriteString(head) // a bufio.Writer keeps its first error for Flush
	if r.Body != nil {
		n, err := io.Copy(w, io.LimitReader(r.Body, r.Length))
		if err != nil {
			return err
		}
		if n < r.Length {
			return fmt.Errorf("%w: the body has %d octets, not %d", ErrMalformed, n, r.Length)
		}
	}
	return w.Flush()
}

// responseBody closes the connection with the body, and reports the end of the context as such.
type responseBody struct {
	io.Reader
	conn net.Conn
	stop func() bool
	ctx  context.Context
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = b.ctx.Err()
	}
	return n, err
}

func (b *responseBody) Close() error {
	b.stop()
	if err := b.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// idleConn gives each read and each write a deadline of its own.
type idleConn struct {
	net.Conn
	idle time.Duration
}

func (c *idleConn) Read(p []byte) (int, error) {
	_ = c.SetReadDeadline(time.Now().Add(c.idle)) // fails where the next line fails too
	return c.Conn.Read(p)
}

func (c *idleConn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.idle)) // fails where the next line fails too
	return c.Conn.Write(p)
}
