package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// A server disconnects a client for which 64 MiB wait. These limits allow a fetcher 512
	// sessions before that.
	partBytes = 64 << 10
	window    = 2

	beatEvery = 3 * time.Second
	silence   = 10 * time.Second // after this the other side is considered dead

	maxReason = 1 << 10 // bytes of the reason in the last frame
)

// The reasons for which a session ends early.
var (
	errGone   = errors.New("the other side no longer listens")
	errSilent = fmt.Errorf("nothing came from the other side for %v", silence)
	errLost   = errors.New("a message was lost on its way")
	errOrder  = errors.New("the other side sent a message out of turn")
	errLeft   = errors.New("the other side ended the session")
)

// session is one end of a conversation between a fetcher and a renderer.
type session struct {
	nc     *nats.Conn
	sub    *nats.Subscription
	ctx    context.Context // ends with the session; its cause says why
	cancel context.CancelCauseFunc
	opened chan struct{} // closed when the other side has answered
	in     chan []byte   // whole messages that nobody has received yet; at most one
	room   chan struct{} // has an element when the other side has received a part
	beats  sync.WaitGroup

	mu    sync.Mutex // guards the fields below, and the order of frames
	peer  string     // the inbox of the other side
	sent  uint32     // parts that were sent
	acked uint32     // parts that the other side has received
	got   uint32     // parts that were received
	heard time.Time  // when the last frame came
	some  []byte     // the beginning of a message
}

// newSession listens for the other side, whose inbox is peer. If it is empty, it is that of the
// first frame that arrives.
func newSession(ctx context.Context, nc *nats.Conn, peer string) (*session, error) {
	s := &session{nc: nc, peer: peer, opened: make(chan struct{}), in: make(chan []byte, 1), room: make(chan struct{}, 1), heard: time.Now()}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	var err error
	if s.sub, err = nc.Subscribe(nc.NewInbox(), s.take); err != nil {
		s.cancel(err)
		return nil, err
	}
	s.beats.Go(s.beat)
	return s, nil
}

// close leaves the session and notifies the other side. reason may be empty.
func (s *session) close(reason string) {
	s.mu.Lock()
	if s.peer != "" {
		// If it is lost, the other side notices a little later that nobody listens.
		_ = s.publish(frame{flags: ends, payload: []byte(reason[:min(len(reason), maxReason)])})
	}
	s.mu.Unlock()
	s.cancel(nil)
	_ = s.sub.Unsubscribe()
	s.beats.Wait()
}

// publish sends a frame with the present numbers. It is called with mu locked.
func (s *session) publish(f frame) error {
	f.sent, f.got = s.sent, s.got
	return s.nc.PublishRequest(s.peer, s.sub.Subject, f.append(make([]byte, 0, frameHeader+len(f.payload))))
}

// beat sends signs of life, and ends the session when the other side sends none.
func (s *session) beat() {
	t := time.NewTicker(beatEvery)
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-t.C:
		}
		s.mu.Lock()
		if time.Since(s.heard) > silence {
			s.cancel(errSilent)
		} else if s.peer != "" {
			_ = s.publish(frame{}) // while there is no connection, silence decides
		}
		s.mu.Unlock()
	}
}

// take receives a frame. It never waits for a reader.
func (s *session) take(m *nats.Msg) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		s.cancel(errGone)
		return
	}
	f, err := parseFrame(m.Data)
	if err != nil {
		s.cancel(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Reply == "" || s.peer != "" && m.Reply != s.peer {
		return // it does not belong to the session
	}
	opened := s.peer == ""
	s.peer, s.heard = m.Reply, time.Now()
	if err := s.apply(f); err != nil {
		s.cancel(err)
	} else if opened {
		close(s.opened)
	}
}

// apply is called with mu locked.
func (s *session) apply(f frame) error {
	if f.got > s.sent {
		return errFrame
	}
	if f.got > s.acked {
		s.acked = f.got
		select {
		case s.room <- struct{}{}:
		default:
		}
	}
	switch {
	case f.flags&ends != 0:
		if len(f.payload) == 0 {
			return errLeft
		}
		return fmt.Errorf("%w: %s", errLeft, printable(f.payload))
	case f.flags&part == 0 && f.sent == s.got:
		return nil
	case f.flags&part == 0 || f.sent != s.got+1:
		return errLost
	}
	s.got++
	if len(s.some)+len(f.payload) > 4+maxHead+maxBody {
		return errTooLarge
	}
	s.some = append(s.some, f.payload...)
	if f.flags&last != 0 {
		select {
		case s.in <- s.some:
			s.some = nil
		default:
			return errOrder
		}
	}
	return s.publish(frame{}) // acknowledges the part
}

func printable(reason []byte) string {
	return strings.ToValidUTF8(string(reason[:min(len(reason), maxReason)]), "")
}

// send sends a message. It waits while a window of parts is in flight.
func (s *session) send(b []byte) error {
	size := min(partBytes, int(s.nc.MaxPayload())-frameHeader)
	for {
		if err := s.wait(window - 1); err != nil {
			return err
		}
		f := frame{flags: part, payload: b[:min(size, len(b))]}
		if b = b[len(f.payload):]; len(b) == 0 {
			f.flags |= last
		}
		s.mu.Lock()
		s.sent++
		err := s.publish(f)
		s.mu.Unlock()
		if err != nil {
			s.cancel(err)
			return err
		}
		if len(b) == 0 {
			return nil
		}
	}
}

// wait waits until at most so many parts are in flight.
func (s *session) wait(parts uint32) error {
	for {
		s.mu.Lock()
		inFlight := s.sent - s.acked
		s.mu.Unlock()
		if inFlight <= parts {
			return nil
		}
		select {
		case <-s.room:
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

// receive returns the next message.
func (s *session) receive() (message, error) {
	select {
	case b := <-s.in:
		return decode(b)
	case <-s.ctx.Done():
	}
	select {
	case b := <-s.in: // it came before the end
		return decode(b)
	default:
		return message{}, context.Cause(s.ctx)
	}
}
