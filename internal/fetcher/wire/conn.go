package wire

import (
	"container/list"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Why a connection was closed while an answer was awaited or being read.
var (
	errFirstByte = errors.New("no response in time")
	ErrWhole     = errors.New("the whole response took too long")
	errSlow      = errors.New("the response arrived too slowly")
	errUnarmed   = errors.New("fetcher: sending on this connection is not allowed now")
)

// conn is a connection to an origin as requests see it, with TLS already inside. Requests are sent
// here and nowhere else. Each request needs a permission of its own, from the session in which it
// is sent. So no mistake elsewhere (a request sent twice, a connection used for another host) puts
// a byte on the wire. It also enforces the time limits of a response, by deadlines of the socket,
// which cost less than timers.
type conn struct {
	net.Conn          // plain TCP, or TLS over raw
	raw      net.Conn // the socket
	client   *Client
	cfg      *Config // under which it was dialled, and which the guard used
	host     canon.Host
	port     int
	secure   bool // it has TLS
	// Its position among the connections that wait for a request. Like expiry, it is guarded by
	// connRecord.mu.
	idle    *list.Element
	expiry  *time.Timer // closes it after it waited for long; nil: it has not waited yet
	addr    netip.Addr  // in unknownBlock if only a proxy knows it
	private bool
	// Nobody on the internet can read what is sent: the connection has TLS, or stays among private
	// addresses.
	safe bool
	// The server asked for a certificate in the handshake, and got none.
	certWanted bool
	closing    sync.Once
	peek       *peek // at the socket; nil: it is none

	armed    atomic.Pointer[Session] // the session that may send one request
	inFlight atomic.Bool             // a request that was reported to the check
	// Records what is sent and read while a request is running; nil means that nothing is recorded.
	recording atomic.Pointer[recording]
	shut      atomic.Bool // the socket is closed
	// When the request went out, in nanoseconds since processStart. 0 means that it did not.
	sent  atomic.Int64
	got   atomic.Int64 // bytes of the answer so far
	fault atomic.Pointer[error]
	ended atomic.Bool // the other side closed the connection, and we have read to its end

	// The fields below belong to the reader, which is the visit's goroutine.
	answering int64 // the value of sent to which the window belongs
	inWindow  int64
	windowEnd time.Time     // when the next read has to end; zero: the socket has that deadline
	late      int64         // the value of sent when the time was up; 0 in a new window
	paused    time.Duration // during this answer, because of us
}

// Write sends one request, which is in one piece.
func (c *conn) Write(p []byte) (int, error) {
	h, err := c.start()
	if err != nil {
		return 0, err
	}
	if h.Recorder != nil {
		c.recording.Store(h.Recorder.begin(p))
	}
	c.Conn.SetDeadline(time.Now().Add(c.client.opt.FirstByte))
	return c.Conn.Write(p)
}

// start uses the permission to send one request, whose first byte goes out next. It returns the
// session that gave it.
func (c *conn) start() (*Session, error) {
	h := c.armed.Swap(nil)
	if h == nil || c.shut.Load() {
		return nil, errUnarmed
	}
	c.got.Store(0)
	if err := h.begin(c); err != nil {
		return nil, err
	}
	c.inFlight.Store(true)
	if c.shut.Load() { // meanwhile
		c.over()
		return nil, net.ErrClosed
	}
	c.sent.Store(int64(time.Since(processStart)))
	return h, nil
}

// origin returns scheme, host and port of the origin that the connection leads to, as TLS sees it.
func (c *conn) origin() string {
	return canon.Origin{Scheme: "https", Host: c.host, Port: c.port}.String()
}

// over reports to the check that no request is running on this connection any more: its answer was
// read to the end, or the socket is closed.
func (c *conn) over() {
	if c.inFlight.Swap(false) {
		c.client.check.end(c.host)
	}
}

// Read reads a part of the answer. It fails if the answer breaks a limit.
func (c *conn) Read(p []byte) (int, error) {
	for {
		if !c.windowEnd.IsZero() {
			c.Conn.SetDeadline(c.windowEnd)
			c.windowEnd = time.Time{}
		}
		n, err := c.Conn.Read(p)
		if n > 0 {
			c.got.Add(int64(n))
			if r := c.recording.Load(); r != nil {
				r.add(p[:n])
			}
			if err := c.arrived(int64(n)); err != nil {
				return 0, c.fail(err)
			}
			return n, err
		}
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			c.ended.Store(err != nil)
			// With TLS 1.3 a server refuses our certificate only now.
			if c.answering == 0 && isAlert(err) {
				return n, c.fail(&tlsError{err, c.origin()})
			}
			return n, err
		}
		if err := c.expired(); err != nil {
			if c.late == c.sent.Load() {
				return 0, c.fail(err)
			}
			// The time is up, but we may be late ourselves, and bytes may wait in the socket. So it
			// is read once more.
			c.late = c.sent.Load()
			c.Conn.SetDeadline(time.Now().Add(secondLook))
		}
	}
}

// secondLook is how long a read waits for bytes that should have arrived already.
const secondLook = 20 * time.Millisecond

// arrived counts bytes and moves the deadline.
func (c *conn) arrived(n int64) error {
	sent := c.sent.Load()
	if c.answering != sent { // these are the first bytes of this answer
		c.answering = sent
		c.paused = 0
		c.nextWindow(time.Now())
		return nil
	}
	c.inWindow += n
	// The window already has enough bytes. The clock is read only once for a window's worth of
	// bytes.
	if c.inWindow >= c.enough() {
		now := time.Now()
		if now.After(c.last()) {
			return ErrWhole
		}
		c.nextWindow(now)
	}
	return nil
}

// expired is called after the socket's deadline. It returns the limit that was broken; nil means
// that none was.
func (c *conn) expired() error {
	if c.answering != c.sent.Load() {
		return errFirstByte
	}
	now := time.Now()
	switch {
	case !now.Before(c.last()):
		return ErrWhole
	case c.inWindow < c.enough():
		return errSlow
	}
	c.nextWindow(now)
	return nil
}

func (c *conn) enough() int64 {
	return c.client.opt.MinRate * int64(c.client.opt.RateWindow/time.Millisecond) / 1000
}

// last returns when the answer must be complete.
func (c *conn) last() time.Time {
	return processStart.Add(time.Duration(c.sent.Load()) + c.client.opt.WholeResponse + c.paused)
}

// nextWindow begins a window. Its deadline is set before the next read: most answers need no
// further one.
func (c *conn) nextWindow(now time.Time) {
	c.inWindow, c.late = 0, 0
	c.windowEnd = now.Add(c.client.opt.RateWindow)
	if last := c.last(); c.windowEnd.After(last) {
		c.windowEnd = last
	}
}

// pause excludes time in which we read nothing, not because of the origin.
func (c *conn) pause(d time.Duration) {
	c.paused += d
	c.nextWindow(time.Now())
}

func (c *conn) fail(err error) error {
	c.fault.Store(&err)
	return err
}

// toIdle removes the deadlines of a connection whose answer is complete.
func (c *conn) toIdle() {
	c.windowEnd = time.Time{}
	c.Conn.SetDeadline(time.Time{})
	c.over()
	c.client.conns.toIdle(c, c.client.opt.IdleTimeout)
}

// Close closes the socket at once. TLS would first send a closing message, and may wait seconds for
// somebody to receive it.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closing.Do(func() {
		c.client.conns.drop(c)
		err = c.raw.Close()
		c.shut.Store(true)
		c.client.ipLimiters.closed(c)
		c.over()
	})
	return err
}
