package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// MaxDeliver is the number of deliveries after which Consume gives up a message that still
	// fails (see ConsumeOptions.GiveUp).
	MaxDeliver = 5

	// the server redelivers a message after this time; we report every third of it that the message
	// is still being handled
	ackWait = 15 * time.Second
	// how long a running handler may continue when the context of Consume ends
	handlerGrace = 10 * time.Second
	retryMost    = 30 // × ConsumeOptions.Retry: the longest delay
)

// Message is one message of a Work queue. Data must not be changed.
type Message struct {
	Data []byte
	// 1 for the first delivery; after a crash of the broker it may start at 1 again
	Deliveries int
	Seq        uint64 // in the stream
}

// BatchHandler handles the messages that are available, in order. If it returns nil, all of them
// are acknowledged. After any other error each message is passed to the handler again, alone, and
// the error of that call counts: a message whose error wraps ErrDrop is acknowledged and dropped, a
// message with another error is delivered again after a delay. The slice must not be used after the
// handler has returned. The context ends a few seconds after the context of Consume, so that the
// handler can finish.
type BatchHandler func(ctx context.Context, batch []Message) error

// ConsumeOptions limit the batches of Consume. The zero value is usable.
type ConsumeOptions struct {
	MaxMessages int // in one batch; 0: 64
	MaxBytes    int // in one batch, which always has at least one message; 0: 8 MiB
	// delay before a failed message is delivered again. It doubles each time, up to 30 times Retry.
	// 0 means 1 s
	Retry time.Duration
	// Ready is called once the consumers of earlier epochs are deleted, before the first message is
	// passed to the handler. From then on only this call of Consume acknowledges messages of the
	// subject.
	Ready func()
	// GiveUp receives a message whose handler failed at delivery number MaxDeliver. If GiveUp
	// returns nil, the message is acknowledged and dropped; otherwise it is delivered again. The
	// context is that of the handler.
	GiveUp func(ctx context.Context, m Message, cause error) error
}

// Consume passes the messages of subject to h until ctx ends, and then returns nil. It uses the
// durable consumer <durable>-<epoch>. Consume first deletes the consumers of earlier epochs and of
// this epoch, and then creates that one. Calls of Consume that used the deleted consumers end with
// ErrFenced. This call ends with ErrFenced too when another call begins with this epoch or a later
// one.
func (w *Work) Consume(ctx context.Context, subject, durable string, epoch uint64, o ConsumeOptions, h BatchHandler) error {
	o.MaxMessages = cmp.Or(o.MaxMessages, 64)
	o.MaxBytes = cmp.Or(o.MaxBytes, 8<<20)
	o.Retry = cmp.Or(o.Retry, time.Second)
	b := backoff{least: 20 * time.Millisecond, most: 2 * time.Second}
	logged, made := false, ""
	for ctx.Err() == nil {
		name := made
		var err error
		if name == "" {
			if name, err = w.fence(ctx, subject, durable, epoch); err == nil {
				made = name
				if ready := o.Ready; ready != nil {
					o.Ready = nil // call it only once
					ready()
				}
			}
		}
		if err == nil {
			s := &consumption{w: w, o: o, h: h, held: map[uint64]*nats.Msg{}}
			err = s.run(ctx, subject, name)
			if s.handled {
				b.reset()
				logged = false
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errStale):
			made = "" // a new consumer receives all of them again
		case errors.Is(err, errConsumerGone), errors.Is(err, jetstream.ErrConsumerNotFound):
			return fmt.Errorf("consume %s as %s: %w", subject, name, ErrFenced)
		case errors.Is(err, ErrFenced), errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("consume %s: %w", subject, err)
		}
		if !logged {
			w.c.log.Info("consuming again", "subject", subject, "because", err)
			logged = true
		}
		var wake <-chan struct{}
		if !w.c.NC.IsConnected() {
			wake = w.c.watch()
		}
		_ = b.wait(ctx, wake)
	}
	return nil
}

// consumption is one session of consuming.
type consumption struct {
	w       *Work
	o       ConsumeOptions
	h       BatchHandler
	handled bool

	mu   sync.Mutex
	held map[uint64]*nats.Msg // being handled; guarded by mu
}

func (s *consumption) run(ctx context.Context, subject, name string) error {
	// A server that sends nothing does not report either that the consumer is gone, so check before
	// each session.
	began, err := s.w.checkConsumer(ctx, subject, name)
	if err != nil {
		return err
	}
	p, err := s.w.c.openPull(s.w.cfg.Stream, name, 2*s.o.MaxMessages, s.o.MaxBytes)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range p.close() {
			_ = m.Nak() // lets the next owner receive it now and not only after ackWait
		}
	}()

	hctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { s.keep(hctx, p) })
	wg.Go(func() { s.look(hctx, p, subject, name, began) })
	wg.Go(func() { cancelAfter(ctx, hctx, cancel) })
	for {
		msgs, err := p.take(ctx, s.o.MaxMessages, s.o.MaxBytes)
		if err != nil {
			return err
		}
		if err := s.batch(hctx, msgs); err != nil {
			return err
		}
	}
}

// cancelAfter cancels the context of a running handler handlerGrace after ctx has ended.
func cancelAfter(ctx, handler context.Context, cancel func()) {
	select {
	case <-handler.Done():
		return
	case <-ctx.Done():
	}
	t := time.NewTimer(handlerGrace)
	defer t.Stop()
	select {
	case <-handler.Done():
	case <-t.C:
		cancel()
	}
}

// keep reports to the server, well within ackWait, that the messages of this session are still
// being handled.
func (s *consumption) keep(ctx context.Context, p *pull) {
	t := time.NewTicker(s.w.ackWait / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		s.mu.Lock()
		for _, m := range s.held {
			_ = m.InProgress()
		}
		s.mu.Unlock()
		p.mu.Lock()
		for _, m := range p.queue {
			_ = m.InProgress()
		}
		p.mu.Unlock()
	}
}

func (s *consumption) batch(ctx context.Context, msgs []*nats.Msg) error {
	batch := make([]Message, len(msgs))
	s.mu.Lock()
	for i, m := range msgs {
		d, err := parseDelivery(m)
		if err != nil {
			s.mu.Unlock()
			return err
		}
		batch[i] = Message{Data: m.Data, Deliveries: d.deliveries, Seq: d.seq}
		s.held[d.seq] = m
	}
	s.mu.Unlock()
	s.handled = true
	err := s.h(ctx, batch)
	if err == nil || len(batch) == 1 {
		for i, m := range msgs {
			s.settle(ctx, m, batch[i], err)
		}
		return nil
	}
	for i, m := range msgs {
		s.settle(ctx, m, batch[i], s.h(ctx, batch[i:i+1:i+1]))
	}
	return nil
}

// settle acknowledges a message or requests another delivery. A lost acknowledgement does no harm:
// the message is delivered again.
func (s *consumption) settle(ctx context.Context, m *nats.Msg, msg Message, err error) {
	log := s.w.c.log.With("subject", m.Subject, "seq", msg.Seq)
	if err != nil && !errors.Is(err, ErrDrop) && msg.Deliveries >= MaxDeliver {
		var refused error
		if s.o.GiveUp != nil {
			refused = s.o.GiveUp(ctx, msg, err) // meanwhile the message counts as being handled
		}
		if refused == nil {
			log.Error("giving up on a message", "deliveries", msg.Deliveries, "err", err)
		}
		err = refused
	}
	s.mu.Lock()
	delete(s.held, msg.Seq)
	s.mu.Unlock()
	switch {
	case err == nil:
		_ = m.Ack()
	case errors.Is(err, ErrDrop):
		log.Warn("message dropped", "err", err)
		_ = m.Ack()
	default:
		delay := min(s.o.Retry<<min(max(msg.Deliveries-1, 0), 10), retryMost*s.o.Retry)
		log.Warn("a message will be delivered again", "deliveries", msg.Deliveries, "after", delay, "err", err)
		_ = m.NakWithDelay(delay)
	}
}
