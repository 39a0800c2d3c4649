package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackWithin is how long one try to publish waits for its acknowledgement before it is sent again.
const ackWithin = 5 * time.Second

// errNoAck ends a try whose acknowledgement did not come.
var errNoAck = errors.New("no acknowledgement in time")

// acks matches acknowledgements to publishes: one subscription for all of them, one channel for each under way.
type acks struct {
	c      *Conn
	prefix string // of reply subjects, "." included

	mu      sync.Mutex
	waiting map[string]chan ack // by the reply subject's last token; guarded by mu
	n       uint64              // guarded by mu
}

type ack struct {
	seq uint64
	err error
}

func newAcks(c *Conn) (*acks, error) {
	a := &acks{c: c, prefix: c.NC.NewRespInbox() + ".", n: rand.Uint64(), waiting: map[string]chan ack{}}
	_, err := c.NC.Subscribe(a.prefix+"*", a.arrived)
	return a, err
}

func (a *acks) arrived(m *nats.Msg) {
	token := strings.TrimPrefix(m.Subject, a.prefix)
	a.mu.Lock()
	ch := a.waiting[token]
	delete(a.waiting, token)
	a.mu.Unlock()
	if ch != nil {
		ch <- parseAck(m)
	}
}

func parseAck(m *nats.Msg) ack {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return ack{err: nats.ErrNoResponders}
	}
	var answer struct {
		Seq   uint64              `json:"seq"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return ack{err: fmt.Errorf("acknowledgement: %w", err)}
	}
	if answer.Error != nil {
		return ack{err: answer.Error}
	}
	return ack{seq: answer.Seq}
}

// try publishes once and waits for the acknowledgement.
func (a *acks) try(ctx context.Context, subject string, data []byte) (uint64, error) {
	ch := make(chan ack, 1)
	changed := a.c.watch()
	a.mu.Lock()
	a.n++
	token := strconv.FormatUint(a.n, 36)
	a.waiting[token] = ch
	a.mu.Unlock()
	err := a.c.NC.PublishRequest(subject, a.prefix+token, data)
	if err == nil {
		t := time.NewTimer(ackWithin)
		defer t.Stop()
		select {
		case got := <-ch:
			return got.seq, got.err
		case <-ctx.Done():
			err = ctx.Err()
		case <-changed: // whatever was under way is gone with the connection
			err = nats.ErrDisconnected
		case <-t.C:
			err = errNoAck
		}
	}
	a.mu.Lock()
	delete(a.waiting, token)
	a.mu.Unlock()
	return 0, err
}

// publish sends data until it is acknowledged, it can never be, or ctx ends. It says through the logger what it waits
// for, once for each reason.
func (a *acks) publish(ctx context.Context, subject string, data []byte) (uint64, error) {
	b := backoff{least: 10 * time.Millisecond, most: time.Second}
	said := ""
	for {
		seq, err := a.try(ctx, subject, data)
		if err == nil {
			if said != "" {
				a.c.log.Info("goes on", "subject", subject)
			}
			return seq, nil
		}
		why, hopeless := whyNot(err)
		if hopeless {
			return 0, fmt.Errorf("publish to %s: %w", subject, err)
		}
		if why != said && ctx.Err() == nil {
			said = why
			a.c.log.Warn(why, "subject", subject, "err", err)
		}
		var wake <-chan struct{}
		if !a.c.NC.IsConnected() {
			wake = a.c.watch()
		}
		if werr := b.wait(ctx, wake); werr != nil {
			return 0, fmt.Errorf("publish to %s: %w (last: %w)", subject, werr, err)
		}
	}
}

// Error codes of the server that say what to do about a refused publish.
const (
	codeStoreFailed    = 10077 // full, or the disk is
	codeMessageTooBig  = 10054
	codeHeaderTooBig   = 10097
	codeStreamSealed   = 10109
	codeStreamMismatch = 10060
)

// whyNot tells what waiting is for, or that waiting is hopeless.
func whyNot(err error) (why string, hopeless bool) {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrBadSubject):
		return "", true
	case errors.As(err, &api):
		switch api.ErrorCode {
		case codeMessageTooBig, codeHeaderTooBig, codeStreamSealed, codeStreamMismatch:
			return "", true
		case codeStoreFailed:
			return "the stream is full or cannot store: waiting for room", false
		}
		return "the stream refuses messages: waiting", false
	case errors.Is(err, nats.ErrNoResponders):
		return "no stream answers for this subject: waiting for it", false
	}
	return "NATS does not answer: waiting for it", false
}
