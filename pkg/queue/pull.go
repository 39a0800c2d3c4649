package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	pullExpires   = 30 * time.Second
	pullHeartbeat = 2 * time.Second
	// without a heartbeat for this time the consumer or its server is gone
	pullSilence = 3 * pullHeartbeat
)

// errConsumerGone ends a session whose consumer was deleted.
var errConsumerGone = errors.New("consumer deleted")

// pull is one session of pulling from a consumer. It has one subscription, and requests at most
// maxMsgs messages and about 2 maxBytes in advance, including the messages that wait in the queue.
// Anything unusual (a reconnect, a silence, a change of leader) ends the session with errSession.
// The caller then starts another one after the last message that it has finished. This keeps the
// bookkeeping simple.
type pull struct {
	c        *Conn
	next     string // API subject for requests
	most     int    // bytes that one request asks for at most
	sub      *nats.Subscription
	maxMsgs  int
	maxBytes int
	changed  <-chan struct{}
	wake     chan struct{} // capacity 1

	mu    sync.Mutex // guards the fields below
	queue []*nats.Msg
	bytes int // total size of the queue
	asked int // messages that were requested and have not arrived
	heard time.Time
	err   error
}

func (c *Conn) openPull(stream, consumer string, maxMsgs, maxBytes int) (*pull, error) {
	p := &pull{
		c: c, next: "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
		maxMsgs: maxMsgs, maxBytes: maxBytes,
		// A request for fewer bytes than the size of the next message would end without a message
		// and be repeated at once, for ever.
		most:    max(maxBytes, int(c.NC.MaxPayload())+64<<10),
		changed: c.watch(), wake: make(chan struct{}, 1), heard: time.Now(),
	}
	var err error
	if p.sub, err = c.NC.Subscribe(c.NC.NewInbox(), p.arrived); err != nil {
		return nil, fmt.Errorf("%w: %w", errSession, err)
	}
	_ = p.sub.SetPendingLimits(-1, -1) // no more can arrive than was requested
	p.mu.Lock()
	p.ask()
	p.mu.Unlock()
	return p, nil
}

// close ends the session and returns the messages that were not taken.
func (p *pull) close() []*nats.Msg {
	_ = p.sub.Unsubscribe()
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.queue
	p.queue, p.err = nil, errSession
	return left
}

// arrived processes a message or a status. It runs in the goroutine of the subscription.
func (p *pull) arrived(m *nats.Msg) {
	p.mu.Lock()
	p.heard = time.Now()
	if len(m.Data) == 0 && len(m.Header) > 0 && m.Header.Get("Status") != "" {
		p.status(m)
	} else if p.err == nil {
		p.queue = append(p.queue, m)
		p.bytes += len(m.Data)
		p.asked--
		p.ask()
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// fail ends the session once the messages that have arrived are taken.
func (p *pull) fail(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// status processes the status message that ends a request. The caller must hold mu.
func (p *pull) status(m *nats.Msg) {
	switch code, text := m.Header.Get("Status"), m.Header.Get("Description"); {
	case code == "100": // heartbeat
	case code == "408" || code == "404" || text == "Batch Completed" || text == "Message Size Exceeds MaxBytes":
		left, _ := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
		p.asked = max(p.asked-left, 0)
		p.ask()
	case text == "Consumer Deleted":
		p.err = errConsumerGone
	default:
		p.err = fmt.Errorf("%w: %s %s", errSession, code, text)
	}
}

// ask requests more messages when at least half of the permitted number has arrived and been taken.
// The caller must hold mu.
func (p *pull) ask() {
	if p.err != nil || p.asked+len(p.queue) > p.maxMsgs/2 || p.bytes > p.maxBytes {
		return
	}
	n := p.maxMsgs - p.asked - len(p.queue)
	req, _ := json.Marshal(struct {
		Expires   time.Duration `json:"expires"`
		Batch     int           `json:"batch"`
		MaxBytes  int           `json:"max_bytes"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{pullExpires, n, p.most, pullHeartbeat})
	if err := p.c.NC.PublishRequest(p.next, p.sub.Subject, req); err != nil {
		p.err = fmt.Errorf("%w: %w", errSession, err)
		return
	}
	p.asked += n
}

// take waits for messages and returns the available ones in order of arrival: at least one, at most
// n, and at most limit bytes (but always one).
func (p *pull) take(ctx context.Context, n, limit int) ([]*nats.Msg, error) {
	for {
		select {
		case <-p.changed: // messages in the queue may have arrived before, and are not lost
			return nil, fmt.Errorf("%w: the connection changed", errSession)
		default:
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.mu.Lock()
		if errors.Is(p.err, errConsumerGone) { // its messages belong to another consumer now
			p.mu.Unlock()
			return nil, errConsumerGone
		}
		if len(p.queue) > 0 {
			batch := p.cut(n, limit)
			p.ask()
			p.mu.Unlock()
			return batch, nil
		}
		err := p.err
		p.mu.Unlock()
		if err == nil {
			err = p.pause(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// cut removes the batch from the queue. The caller must hold mu.
func (p *pull) cut(n, limit int) []*nats.Msg {
	size, k := 0, 0
	for k < len(p.queue) && k < n && (k == 0 || size+len(p.queue[k].Data) <= limit) {
		size += len(p.queue[k].Data)
		k++
	}
	batch := p.queue[:k:k]
	p.queue = p.queue[k:]
	p.bytes -= size
	return batch
}

// pause waits until the state may have changed.
func (p *pull) pause(ctx context.Context) error {
	t := time.NewTimer(pullSilence)
	defer t.Stop()
	select {
	case <-p.wake:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.changed:
	case <-t.C:
		p.mu.Lock()
		defer p.mu.Unlock()
		if time.Since(p.heard) >= pullSilence {
			return fmt.Errorf("%w: no message from the server for %v", errSession, pullSilence)
		}
	}
	return nil
}
