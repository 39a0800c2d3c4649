package wire

import (
	"bufio"
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

// Why a connection was given up while an answer was awaited or under way.
var (
	errFirstByte = errors.New("no response in time")
	ErrWhole     = errors.New("the whole response took too long")
	errSlow      = errors.New("the response arrived too slowly")
	errUnarmed   = errors.New("fetcher: sending on this connection is not allowed now")
)

// conn is a connection to an origin as requests see it, TLS already inside. It is the sending
// point: each request needs a permit of its own, armed by the hold it is sent under, so no mistake
// above (a request sent twice, a connection used for somebody else) puts a byte on the wire. It
// also keeps the time limits of a response, by deadlines on the socket, which cost less than
// timers.
type conn struct {
	net.Conn          // plain TCP, or TLS over raw
	raw      net.Conn // the socket
	client   *Client
	cfg      *Config // it was dialled under: what the guard was asked
	host     canon.Host
	port     int
	secure   bool          // there is TLS inside
	in       *bufio.Reader // of this conn
	// among those that wait for a request; guarded by connRecord.mu, as is expiry
	idle    *list.Element
	expiry  *time.Timer // closes it when it has waited for long; nil: it has not waited yet
	addr    netip.Addr  // in unknownBlock: only a proxy knows it
	private bool
	// Nobody on the internet can read along: it is TLS, or stays among private addresses.
	safe bool
	// In its handshake the server asked for a certificate, and was shown none.
	certWanted bool
	closing    sync.Once

	armed    atomic.Pointer[Session] // who may send one request
	inFlight atomic.Bool             // a request the check knows of
	// Keeps what is sent and read while a request is under way; nil: nobody does.
	recording atomic.Pointer[recording]
	shut      atomic.Bool // the socket is closed
	// When the request went out, in nanoseconds since processStart; 0: never.
	sent  atomic.Int64
	got   atomic.Int64 // bytes of its answer so far
	fault atomic.Pointer[error]
	ended atomic.Bool // the other side has ended the connection, and we have read up to there

	// The rest belongs to whoever reads, which is the visit's goroutine.
	answering int64 // value of sent that the window is for
	inWindow  int64
	late      int64         // value of sent when the time was up; 0 in a new window
	paused    time.Duration // of this answer: we did not want to read on
}

// Write sends one request, which is in one piece.
func (c *conn) Write(p []byte) (int, error) {
	h := c.armed.Swap(nil)
	if h == nil || c.shut.Load() {
		return 0, errUnarmed
	}
	c.got.Store(0)
	if err := h.begin(c); err != nil {
		return 0, err
	}
	c.inFlight.Store(true)
	if c.shut.Load() { // meanwhile
		c.over()
		return 0, net.ErrClosed
	}
	if h.Recorder != nil {
		c.recording.Store(h.Recorder.begin(p))
	}
	now := time.Now()
	c.sent.Store(int64(now.Sub(processStart)))
	c.Conn.SetDeadline(now.Add(c.client.opt.FirstByte))
	return c.Conn.Write(p)
}

// origin is scheme, host and port that the connection leads to, as far as TLS is concerned.
func (c *conn) origin() string {
	return canon.Origin{Scheme: "https", Host: c.host, Port: c.port}.String()
}

// over tells the check that no request is under way here any more: its answer was read to the end,
// or the socket is closed.
func (c *conn) over() {
	if c.inFlight.Swap(false) {
		c.client.check.end(c.host)
	}
}

// Read reads a piece of the answer, and fails when the answer breaks a limit.
func (c *conn) Read(p []byte) (int, error) {
	for {
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
			// With TLS 1.3 a server says only now that it does not like our certificate.
			if c.answering == 0 && isAlert(err) {
				return n, c.fail(&tlsError{err, c.origin()})
			}
			return n, err
		}
		if err := c.expired(); err != nil {
			if c.late == c.sent.Load() {
				return 0, c.fail(err)
			}
			// The time is up, but it may be we who came late, with bytes waiting in the
			// socket: look once more.
			c.late = c.sent.Load()
			c.Conn.SetDeadline(time.Now().Add(secondLook))
		}
	}
}

// secondLook is how long bytes are waited for that should have been there already.
const secondLook = 20 * time.Millisecond

// arrived counts bytes and keeps the deadline ahead of them.
func (c *conn) arrived(n int64) error {
	sent := c.sent.Load()
	if c.answering != sent { // the first bytes of this answer
		c.answering = sent
		c.paused = 0
		c.nextWindow(time.Now())
		return nil
	}
	c.inWindow += n
	// Enough for this window already: no need to look at the clock more than once a
	// window's worth of bytes.
	if c.inWindow >= c.enough() {
		now := time.Now()
		if now.After(c.last()) {
			return ErrWhole
		}
		c.nextWindow(now)
	}
	return nil
}

// expired is called when the socket's deadline has passed, and says which limit that
// breaks; nil means none.
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

// last is when the answer must be complete.
func (c *conn) last() time.Time {
	return processStart.Add(time.Duration(c.sent.Load()) + c.client.opt.WholeResponse + c.paused)
}

func (c *conn) nextWindow(now time.Time) {
	c.inWindow, c.late = 0, 0
	end := now.Add(c.client.opt.RateWindow)
	if last := c.last(); end.After(last) {
		end = last
	}
	c.Conn.SetDeadline(end)
}

// pause takes time in which nothing was read, for no fault of the origin's, out of the account.
func (c *conn) pause(d time.Duration) {
	c.paused += d
	c.nextWindow(time.Now())
}

func (c *conn) fail(err error) error {
	c.fault.Store(&err)
	return err
}

// toIdle takes the deadlines off a connection whose answer is complete.
func (c *conn) toIdle() {
	c.Conn.SetDeadline(time.Time{})
	c.over()
	c.client.conns.toIdle(c, c.client.opt.IdleTimeout)
}

// Close closes the socket at once. TLS would first say goodbye, and may wait for seconds for
// somebody to listen.
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
