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

const apiWithin = 15 * time.Second // for one call of the JetStream API with its repetitions

// apiTryWithin limits one attempt. While a cluster elects a leader, requests stay unanswered.
const apiTryWithin = 3 * time.Second

// api makes a call of the JetStream API about a stream or a bucket. It must be safe to repeat the
// call: api repeats it when no answer comes in time, and when the connection is lost that the call
// was made on. It returns other errors at once, also the server's refusal because we lack a right.
func (c *Conn) api(ctx context.Context, about string, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	return c.apiUntil(ctx, about, call)
}

// Patiently makes a call of JetStream that is safe to repeat. It repeats the call, for 15 s at
// most, while nobody answers. If the server refuses the call because we lack a right, Patiently
// returns as soon as it knows that, and the error names the right.
func (c *Conn) Patiently(ctx context.Context, call func(ctx context.Context) error) error {
	return c.api(ctx, "", call)
}

// apiUntil is like api, but it repeats the call until ctx ends.
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
		return nats.ErrDisconnected // the cause, which the error of the caller's context would hide
	}
	return err
}

// These error codes of a running server mean that something does not exist, or does not exist yet.
const (
	codeNotLeader     = 10009
	codeNotEnabled    = 10076 // a server that is starting uses it too
	codeNotForAccount = 10039
)

// Unanswered reports whether a call of the JetStream API failed only because nobody answered it:
// the connection was lost and is not restored yet, or the cluster is electing a leader. The same
// call may succeed a moment later. The server may have executed the call although no answer
// arrived.
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
	// A message larger than the buffers is written directly, so it returns the network's error.
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
