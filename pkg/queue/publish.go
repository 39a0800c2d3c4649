package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackWithin is how long an attempt to publish waits for its acknowledgement before the message is
// sent again.
const ackWithin = 5 * time.Second

// errNoAck ends an attempt whose acknowledgement did not arrive.
var errNoAck = errors.New("no acknowledgement in time")

// publisher sends messages and assigns the acknowledgements to them. It uses one subscription for
// all messages and a channel for each unacknowledged message. With many goroutines this takes half
// the time of a request of nats.go.
type publisher struct {
	c      *Conn
	prefix string // of reply subjects, "." included
	waits  waits

	mu      sync.Mutex
	waiting map[string]chan ack // by the reply subject's last token; guarded by mu
	n       uint64              // guarded by mu
}

type ack struct {
	seq uint64
	err error
}

func newPublisher(c *Conn) (*publisher, error) {
	p := &publisher{c: c, prefix: c.NC.NewRespInbox() + ".", n: rand.Uint64(), waiting: map[string]chan ack{}}
	_, err := c.NC.Subscribe(p.prefix+"*", p.arrived)
	return p, err
}

func (p *publisher) arrived(m *nats.Msg) {
	token := m.Subject[min(len(p.prefix), len(m.Subject)):]
	p.mu.Lock()
	ch := p.waiting[token]
	delete(p.waiting, token)
	p.mu.Unlock()
	if ch != nil {
		ch <- parseAck(m)
	}
}

func parseAck(m *nats.Msg) ack {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return ack{err: nats.ErrNoResponders}
	}
	// For example {"stream":"docs-EVENTS-3","seq":1234}. No name can contain a quotation mark, so
	// no decoder is needed.
	if _, tail, ok := bytes.Cut(m.Data, []byte(`"seq":`)); ok && !bytes.Contains(m.Data, []byte(`"error":`)) {
		n := 0
		for n < len(tail) && '0' <= tail[n] && tail[n] <= '9' {
			n++
		}
		if seq, err := strconv.ParseUint(string(tail[:n]), 10, 64); err == nil {
			return ack{seq: seq}
		}
	}
	var answer struct {
		Seq   uint64              `json:"seq"`
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return ack{err: fmt.Errorf("acknowledgement %.80q: %w", m.Data, err)}
	}
	if answer.Error != nil {
		return ack{err: answer.Error}
	}
	return ack{seq: answer.Seq}
}

// try publishes a message once and waits for its acknowledgement.
func (p *publisher) try(ctx context.Context, subject string, data []byte) (uint64, error) {
	ch := make(chan ack, 1)
	changed := p.c.watch()
	p.mu.Lock()
	p.n++
	token := strconv.FormatUint(p.n, 36)
	p.waiting[token] = ch
	p.mu.Unlock()
	err := p.c.NC.PublishRequest(subject, p.prefix+token, data)
	if err == nil {
		t := time.NewTimer(ackWithin)
		defer t.Stop()
		select {
		case got := <-ch:
			return got.seq, got.err
		case <-ctx.Done():
			err = ctx.Err()
		case <-changed: // the acknowledgement was lost together with the connection
			err = nats.ErrDisconnected
		case <-t.C:
			err = errNoAck
			if refused := p.c.refused.of(subject); refused != nil {
				err = refused
			}
		}
	}
	p.mu.Lock()
	delete(p.waiting, token)
	p.mu.Unlock()
	return 0, err
}

// publish sends data until it is acknowledged, until it is clear that it can never be acknowledged,
// or until ctx ends. It logs what it waits for, once for all calls that wait for the same.
func (p *publisher) publish(ctx context.Context, subject string, data []byte) (uint64, error) {
	seq, err := p.try(ctx, subject, data)
	if err == nil {
		return seq, nil
	}
	p.waits.enter(subject)
	defer p.waits.leave(subject, p.c.log)
	b := backoff{least: 10 * time.Millisecond, most: time.Second}
	for {
		why, hopeless := whyNot(err)
		if hopeless {
			return 0, fmt.Errorf("publish %d bytes to %s: %w", len(data), subject, hopelessError(err))
		}
		var wake <-chan struct{}
		if !p.c.NC.IsConnected() {
			wake = p.c.watch()
		}
		if ctx.Err() == nil {
			p.waits.logOnce(subject, why, err, p.c.log)
		}
		if werr := b.wait(ctx, wake); werr != nil {
			return 0, fmt.Errorf("publish to %s: %w; the last try: %w", subject, werr, err)
		}
		seq, next := p.try(ctx, subject, data)
		if next == nil {
			return seq, nil
		}
		if ctx.Err() == nil { // otherwise err contains all there is to log
			err = next
		}
	}
}
