package simnet

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// window is Options.Window unless a test sets another.
const window = 256 << 10

// Conn is one end of a connection. Its methods may be called from any goroutine.
type Conn struct {
	n             *Net
	at            netip.AddrPort // of the listener
	local, remote *net.TCPAddr
	in, out       *half
	abrupt        bool // SetLinger(0): Close resets
	once          sync.Once
	closed        atomic.Bool
	both          *ends
}

// ends counts which ends of a connection are closed.
type ends struct {
	mu     sync.Mutex
	closed int
	server *Conn
}

// pair makes the two ends of a connection to at. The caller has locked n.mu.
func (n *Net) pair(at netip.AddrPort, client, server *net.TCPAddr) (c, s *Conn) {
	up, down := newHalf(n, at), newHalf(n, at)
	both := new(ends)
	c = &Conn{n: n, at: at, local: client, remote: server, in: down, out: up, both: both}
	s = &Conn{n: n, at: at, local: server, remote: client, in: up, out: down, both: both}
	both.server = s
	return c, s
}

// LocalAddr is a *net.TCPAddr.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is a *net.TCPAddr.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Read waits until there is something to read, the other end has closed, or the read deadline is
// over.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.in.read(b)
	return n, c.wrap("read", err)
}

// Write waits while the data that the other end has not read fills the window.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.out.write(b)
	return n, c.wrap("write", err)
}

func (c *Conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Readable reports whether a read would return at once, with data or an error.
func (c *Conn) Readable() bool {
	h := c.in
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.deaf || h.broken || h.readBy.passed() {
		return true
	}
	arrived := len(h.segments) > 0 && time.Until(h.segments[0].from) <= 0
	return !h.n.isCut(h.at) && (arrived || len(h.segments) == 0 && h.ended)
}

// Close ends both directions. The other end reads what was written before, and then io.EOF. If this
// end has unread data, the other end gets a reset instead, as with TCP.
func (c *Conn) Close() error {
	err := c.wrap("close", net.ErrClosed)
	c.once.Do(func() {
		err = nil
		c.closed.Store(true)
		if c.abrupt {
			c.Reset()
		} else {
			unread := c.in.closeReading()
			c.out.closeWriting(unread)
		}
		c.over()
	})
	return err
}

func (c *Conn) over() {
	c.both.mu.Lock()
	c.both.closed++
	last := c.both.closed == 2
	c.both.mu.Unlock()
	if last {
		c.n.forget(c.both.server)
	}
}

// CloseWrite ends the direction from this end to the other.
func (c *Conn) CloseWrite() error {
	c.out.closeWriting(false)
	return nil
}

// SetLinger makes Close reset the connection if seconds is 0, like (*net.TCPConn).SetLinger.
func (c *Conn) SetLinger(seconds int) error {
	c.abrupt = seconds == 0
	return nil
}

// Reset breaks the connection: both ends get "connection reset by peer", and unread data is lost.
func (c *Conn) Reset() {
	c.in.reset()
	c.out.reset()
}

// SetDeadline calls SetReadDeadline and SetWriteDeadline.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	c.out.setDeadline(&c.out.writeBy, t)
	return c.usable()
}

// usable returns the error of setting a deadline after this end was closed.
func (c *Conn) usable() error {
	if c.closed.Load() {
		return c.wrap("set", net.ErrClosed)
	}
	return nil
}

// SetReadDeadline sets the time from which on reads fail with os.ErrDeadlineExceeded; the zero time
// means never.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return c.usable()
}

// SetWriteDeadline sets the time from which on writes fail with os.ErrDeadlineExceeded; the zero
// time means never.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return c.usable()
}

// half is one direction of a connection.
type half struct {
	n  *Net
	at netip.AddrPort

	mu       sync.Mutex // guards what is below
	changed  *sync.Cond
	segments []segment // written, but not read
	size     int       // bytes in segments
	free     time.Time // when the line has transmitted everything written
	ended    bool      // by the writer
	cutShort bool      // ended with a reset instead of an end, after everything is read
	deaf     bool      // the reader has closed
	broken   bool      // reset
	readBy   deadline
	writeBy  deadline
}

// segment is the data of one write, readable from a certain time.
type segment struct {
	data []byte
	from time.Time
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newHalf(n *Net, at netip.AddrPort) *half {
	h := &half{n: n, at: at}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) wake() {
	h.mu.Lock()
	h.changed.Broadcast()
	h.mu.Unlock()
}

func (h *half) setDeadline(d *deadline, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), h.wake)
	}
	h.changed.Broadcast()
}

// quit stops the timers of deadlines, which would keep virtual time busy. The caller has locked mu.
func (h *half) quit() {
	for _, d := range []*deadline{&h.readBy, &h.writeBy} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
}

func (h *half) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.deaf:
			return 0, net.ErrClosed
		case h.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case h.broken:
			return 0, os.NewSyscallError("read", syscall.ECONNRESET)
		case len(b) == 0:
			return 0, nil
		}
		if !h.n.isCut(h.at) {
			if len(h.segments) > 0 {
				s := &h.segments[0]
				if wait := time.Until(s.from); wait > 0 {
					late := time.AfterFunc(wait, h.wake)
					h.changed.Wait()
					late.Stop()
					continue
				}
				n := copy(b, s.data)
				if s.data = s.data[n:]; len(s.data) == 0 {
					h.segments = h.segments[1:]
				}
				h.size -= n
				h.changed.Broadcast()
				return n, nil
			}
			if h.ended && h.cutShort {
				return 0, os.NewSyscallError("read", syscall.ECONNRESET)
			}
			if h.ended {
				return 0, io.EOF
			}
		}
		h.changed.Wait()
	}
}

func (h *half) write(b []byte) (written int, err error) {
	delay, rate := h.n.latency(), h.n.rate(h.at)
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.ended:
			return written, net.ErrClosed
		case h.writeBy.passed():
			return written, os.ErrDeadlineExceeded
		case h.broken:
			return written, os.NewSyscallError("write", syscall.ECONNRESET)
		case h.deaf:
			return written, os.NewSyscallError("write", syscall.EPIPE)
		case len(b) == 0:
			return written, nil
		}
		free := h.n.opt.Window - h.size
		if free <= 0 {
			h.changed.Wait()
			continue
		}
		part := b[:min(len(b), free)]
		if rate > 0 { // in small pieces, so that they arrive one after another
			part = part[:min(len(part), max(1, rate/10))]
		}
		b = b[len(part):]
		from := time.Now()
		if rate > 0 {
			if h.free.After(from) {
				from = h.free
			}
			from = from.Add(time.Duration(len(part)) * time.Second / time.Duration(rate))
			h.free = from
		}
		from = from.Add(delay)
		if n := len(h.segments); n > 0 && h.segments[n-1].from.After(from) {
			from = h.segments[n-1].from // no segment overtakes another
		}
		h.segments = append(h.segments, segment{append([]byte(nil), part...), from})
		h.size += len(part)
		written += len(part)
		h.changed.Broadcast()
	}
}

// closeReading closes the reading end. It reports whether there was unread data.
func (h *half) closeReading() (unread bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	unread = h.size > 0
	h.deaf, h.segments, h.size = true, nil, 0
	h.quit()
	h.changed.Broadcast()
	return unread
}

func (h *half) closeWriting(cutShort bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended, h.cutShort = true, cutShort
	}
	h.changed.Broadcast()
}

func (h *half) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken, h.segments, h.size = true, nil, 0
	h.quit()
	h.changed.Broadcast()
}
