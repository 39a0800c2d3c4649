package fetcher

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Why a connection was given up while an answer was awaited or under way.
var (
	errFirstByte = errors.New("no answer in time")
	errWhole     = errors.New("the whole answer took too long")
	errSlow      = errors.New("the answer came too slowly")
	errUnarmed   = errors.New("fetcher: nobody may send on this connection now")
)

// conn is a connection to an origin as the HTTP client sees it, TLS already inside. It is the sending point: each request
// needs a permit of its own, armed by the hold it is sent under, so nothing net/http might do by itself (repeat a request,
// use a connection for somebody else) puts a byte on the wire. It also keeps the time limits of an answer, by deadlines
// on the socket, which cost less than timers and work while net/http waits inside Read.
type conn struct {
	net.Conn          // plain TCP, or TLS over raw
	raw      net.Conn // the socket
	addr     netip.Addr
	private  bool
	limits   *Options
	forget   func(*conn) // takes it out of the client's record
	closing  sync.Once

	armed atomic.Pointer[hold] // who may send one request
	sent  atomic.Int64         // when the request went out, in nanoseconds since processStart; 0: never
	got   atomic.Int64         // bytes of its answer so far
	fault atomic.Pointer[error]
	ended atomic.Bool // the other side has ended the connection, and we have read up to there

	// The rest belongs to whoever reads; net/http hands that from one goroutine to the other.
	answering int64 // value of sent that the window is for
	window    time.Time
	inWindow  int64
}

// Write sends one request: net/http hands it over in one piece, its head being smaller than the write buffer.
func (c *conn) Write(p []byte) (int, error) {
	h := c.armed.Swap(nil)
	if h == nil {
		return 0, errUnarmed
	}
	if err := h.begin(c); err != nil {
		return 0, err
	}
	now := time.Now()
	c.got.Store(0)
	c.sent.Store(int64(now.Sub(processStart)))
	c.Conn.SetDeadline(now.Add(c.limits.FirstByte))
	return c.Conn.Write(p)
}

// Read reads a piece of the answer, and fails when the answer breaks a limit.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if n > 0 {
			c.got.Add(int64(n))
			if err := c.arrived(int64(n)); err != nil {
				return 0, c.fail(err)
			}
			return n, err
		}
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			c.ended.Store(err != nil)
			return n, err
		}
		if err := c.expired(); err != nil {
			return 0, c.fail(err)
		}
	}
}

// arrived counts bytes and keeps the deadline ahead of them.
func (c *conn) arrived(n int64) error {
	sent := c.sent.Load()
	if c.answering != sent { // the first bytes of this answer
		c.answering = sent
		c.inWindow = n
		c.nextWindow(time.Now())
		return nil
	}
	c.inWindow += n
	// Enough for this window already: no need to look at the clock more than once a window's worth of bytes.
	if c.inWindow >= c.enough() {
		now := time.Now()
		if now.After(c.last()) {
			return errWhole
		}
		c.nextWindow(now)
	}
	return nil
}

// expired is called when the socket's deadline has passed, and says which limit that breaks; nil means none.
func (c *conn) expired() error {
	if c.answering != c.sent.Load() {
		return errFirstByte
	}
	now := time.Now()
	switch {
	case !now.Before(c.last()):
		return errWhole
	case c.inWindow < c.enough():
		return errSlow
	}
	c.nextWindow(now)
	return nil
}

func (c *conn) enough() int64 {
	return c.limits.MinRate * int64(c.limits.RateWindow/time.Millisecond) / 1000
}

// last is when the answer must be complete.
func (c *conn) last() time.Time {
	return processStart.Add(time.Duration(c.sent.Load()) + c.limits.WholeResponse)
}

func (c *conn) nextWindow(now time.Time) {
	c.inWindow = 0
	end := now.Add(c.limits.RateWindow)
	if last := c.last(); end.After(last) {
		end = last
	}
	c.window = end
	c.Conn.SetDeadline(end)
}

func (c *conn) fail(err error) error {
	c.fault.Store(&err)
	return err
}

// rest takes the deadlines off a connection whose answer is complete.
func (c *conn) rest() { c.Conn.SetDeadline(time.Time{}) }

// Close closes the socket at once. TLS would first say goodbye, and may wait for seconds for somebody to listen.
func (c *conn) Close() error {
	err := net.ErrClosed
	c.closing.Do(func() {
		c.forget(c)
		err = c.raw.Close()
	})
	return err
}
