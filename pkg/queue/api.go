package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	apiWithin    = 15 * time.Second // in all, for one thing asked of the JetStream API
	apiTryWithin = 3 * time.Second  // for one try: a cluster that elects a leader leaves requests unanswered
)

// api makes a call of the JetStream API that may be made more than once, and makes it again when it is not answered: in
// time, or because the connection it was made on has gone. Other errors are returned at once.
func (c *Conn) api(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	b := backoff{least: 50 * time.Millisecond, most: time.Second}
	for {
		session := c.current()
		err := apiTry(ctx, session, call)
		if err == nil || ctx.Err() != nil || !unanswered(err) {
			return err
		}
		if werr := b.wait(ctx, session.Done()); werr != nil {
			return err
		}
	}
}

func apiTry(ctx, session context.Context, call func(ctx context.Context) error) error {
	tctx, cancel := context.WithTimeout(ctx, apiTryWithin)
	defer cancel()
	defer context.AfterFunc(session, cancel)()
	err := call(tctx)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return nats.ErrDisconnected // and not a word for the end of the caller's context
	}
	return err
}

const codeNotAvailable = 10008 // the cluster has no leader at the moment

func unanswered(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &api) && api.ErrorCode == codeNotAvailable
}
