package wire

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/curtsy/curtsy/pkg/canon"
)

// errSilent is why a connection was closed on which an exchange that is not HTTP went on.
var errSilent = errors.New("nothing arrived for too long")

// Talk is how an exchange that is not HTTP is limited. Unlike an answer of HTTP it has no least
// rate: the other side may have nothing to say for a while.
type Talk struct {
	Silence time.Duration // the longest time that one read or write may wait
	Most    time.Duration // the longest time from the first byte sent to the last one read
	// Quiet, if not nil, is called whenever a read has waited for another QuietEvery, by the
	// goroutine that reads.
	Quiet      func()
	QuietEvery time.Duration
	// Interrupt ends the exchange as soon as nothing new is to begin (Session.Waiting). Otherwise
	// it may go on until the session's context ends, as a request may.
	Interrupt bool
}

// Talked is what was exchanged.
type Talked struct {
	Sent, Received int64 // bytes, inside TLS
	At             time.Time
	Took           time.Duration
}

// Run carries out one exchange that is not HTTP in a session, with the server at the host and port
// of u. With the scheme https it has TLS. The exchange passes the same gate, check, limiter, guard
// and proxy as a request, counts as one, and is reported as one, with the status that talk
// returns. It has a connection of its own, which is open only while talk runs; the deadlines of
// that connection cannot be changed. Nothing is signed, and no credentials are added, except that
// a certificate for the origin is shown if the server asks for it. Nothing is repeated.
func (limits Talk) Run(h *Session, u canon.URL, talk func(net.Conn) (status int, err error)) (t Talked, err error) {
	h.Memory.release()
	if err := h.c.pass(h, u); err != nil {
		return t, err
	}
	t.At = time.Now()
	c, err := h.c.connectToTalk(h, u)
	if err != nil {
		return t, h.c.turnedAway(h, err)
	}
	if limits.Interrupt {
		ctx, cancel := context.WithCancel(h.ctx)
		defer cancel()
		defer context.AfterFunc(h.Waiting, cancel)()
		defer context.AfterFunc(ctx, func() { c.Close() })()
	}
	line := &talking{conn: c, limits: limits}
	h.inFlight.Status, err = talk(line)
	t.Sent, t.Received = line.sent, line.received
	h.inFlight.Bytes = t.Received
	h.done(false)
	h.abandoned = h.abandoned && err != nil // otherwise the other side had nothing more to say
	t.Took = time.Since(t.At)
	return t, err
}

// connectToTalk makes the connection of an exchange, and arms it.
func (c *Client) connectToTalk(h *Session, u canon.URL) (*conn, error) {
	h.token.begin()
	h.unsigned, h.signedAt = botauth.Message{}, time.Time{}
	h.behind, h.head, h.credentials = nil, nil, NoCredentials
	h.talking = true
	defer func() { h.talking = false }()
	origin := u.Origin()
	line, err := c.connect(h, net.JoinHostPort(strings.Trim(string(u.Host()), "[]"), strconv.Itoa(origin.Port)), origin.Scheme == "https")
	if err != nil {
		return nil, err
	}
	h.conn, h.reused, h.used = line, false, true
	h.watch.begin(h.ctx, line)
	h.ready(line)
	return line, nil
}

// talking is the connection of an exchange while it goes on. It belongs to one goroutine.
type talking struct {
	*conn
	limits         Talk
	began          time.Time // when the first byte went out; zero: none did
	sent, received int64
}

// Write sends bytes. The first ones need the permission of the session, like a request.
func (t *talking) Write(p []byte) (int, error) {
	if t.began.IsZero() {
		if _, err := t.conn.start(); err != nil {
			return 0, err
		}
		t.began = time.Now()
	}
	if !t.inFlight.Load() {
		return 0, net.ErrClosed
	}
	t.conn.Conn.SetWriteDeadline(t.last(time.Now()))
	n, err := t.conn.Conn.Write(p)
	t.sent += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, t.fail(t.why())
	}
	return n, err
}

// Read reads what arrived, or waits for it.
func (t *talking) Read(p []byte) (int, error) {
	if t.began.IsZero() || !t.inFlight.Load() {
		return 0, errUnarmed
	}
	end, looked := t.last(time.Now()), false
	for {
		deadline := end
		if t.limits.Quiet != nil {
			deadline = earlier(end, time.Now().Add(t.limits.QuietEvery))
		}
		t.conn.Conn.SetReadDeadline(deadline)
		n, err := t.conn.Conn.Read(p)
		t.received += int64(n)
		switch {
		case n > 0:
			t.got.Add(int64(n))
			return n, nil
		case err == nil:
			return 0, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			t.ended.Store(true)
			if t.received == 0 && isAlert(err) { // with TLS 1.3 our certificate is refused only now
				err = t.fail(&tlsError{err, t.origin()})
			}
			return 0, err
		case time.Now().Before(end):
			t.limits.Quiet()
		case looked:
			return 0, t.fail(t.why())
		default: // we may be late ourselves, so the socket is read once more
			looked, end = true, time.Now().Add(secondLook)
		}
	}
}

// last returns until when a read or write that begins now may wait.
func (t *talking) last(now time.Time) time.Time {
	return earlier(now.Add(t.limits.Silence), t.began.Add(t.limits.Most))
}

// why is which limit was broken.
func (t *talking) why() error {
	if time.Since(t.began) >= t.limits.Most {
		return ErrWhole
	}
	return errSilent
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// SetDeadline does nothing, like the next two: the deadlines are those of the limits.
func (t *talking) SetDeadline(time.Time) error      { return nil }
func (t *talking) SetReadDeadline(time.Time) error  { return nil }
func (t *talking) SetWriteDeadline(time.Time) error { return nil }
