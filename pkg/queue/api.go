package queue

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const apiWithin = 15 * time.Second // in all, for one call of the JetStream API

// apiTryWithin is for one try: a cluster that elects a leader leaves requests unanswered.
const apiTryWithin = 3 * time.Second

// api makes a call of the JetStream API about a stream (or bucket). The call must be one that may
// be made more than once. It is made again when no answer comes in time, or when the connection
// it was made on has gone. Other errors, and the server's word that we have no right to the call,
// are returned at once.
func (c *Conn) api(ctx context.Context, about string, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	return c.apiUntil(ctx, about, call)
}

// Patiently makes a call of JetStream that may be made more than once, and makes it again, for 15 s
// at most, when it is not answered. When the server refuses it for want of a right, that is
// returned as soon as it is known, and the error names the right.
func (c *Conn) Patiently(ctx context.Context, call func(ctx context.Context) error) error {
	return c.api(ctx, "", call)
}

// apiUntil is api for as long as ctx lasts.
func (c *Conn) apiUntil(ctx context.Context, about string, call func(ctx context.Context) error) error {
	b := backoff{least: 50 * time.Millisecond, most: time.Second}
	for {
		session := c.current()
		err := c.apiTry(ctx, session, about, call)
		if err == nil || ctx.Err() != nil || !Unanswered(err) {
			return err
		}
		if werr := b.wait(ctx, session.Done()); werr != nil {
			return err
		}
	}
}

func (c *Conn) apiTry(ctx, session context.Context, about string, call func(ctx context.Context) error) error {
	began := time.Now()
	tctx, cancel := context.WithTimeout(ctx, apiTryWithin)
	defer cancel()
	defer context.AfterFunc(session, cancel)()
	err := call(tctx)
	if err == nil {
		return nil
	}
	if refused := c.refused.since(began, about); refused != nil && Unanswered(err) {
		return refused
	}
	if ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return nats.ErrDisconnected // not the error of the caller's context
	}
	return err
}

// Error codes with which a running server says that something is not there, or not yet.
const (
	codeNotLeader     = 10009
	codeNotEnabled    = 10076 // also of a server that is starting
	codeNotForAccount = 10039
)

// Unanswered reports whether a call of the JetStream API failed only because nobody answered it:
// the connection is being made again, or a cluster elects a leader. The same call may succeed a
// moment later. It may also have been carried out, although no answer came.
func Unanswered(err error) bool {
	for _, e := range []error{
		nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, nats.ErrStaleConnection,
		nats.ErrNoResponders, jetstream.ErrNoStreamResponse, nats.ErrTimeout, context.DeadlineExceeded,
		net.ErrClosed, io.ErrClosedPipe, io.EOF,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	// a message larger than the buffers is written at once, and fails as the connection does
	var network net.Error
	if errors.As(err, &network) {
		return true
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case codeNotEnabled, codeNotForAccount:
		return false
	}
	return api.Code == 503 || api.ErrorCode == codeNotLeader
}
