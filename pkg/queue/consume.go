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
	// MaxDeliver is the number of deliveries after which a message that still fails is given up.
	MaxDeliver = 5

	// unless we tell the server, every third of it, that a message is still being handled
	ackWait = 15 * time.Second
	// how long a running handler may go on when Consume's context ends
	handlerGrace = 10 * time.Second
	retryMost    = 30 // × ConsumeOptions.Retry: the longest delay
)

// Message is one message of a hand-off. Data must not be changed.
type Message struct {
	Data []byte
	// 1 for the first delivery; after a crash of the broker it may begin at 1 again
	Deliveries int
	Seq        uint64 // in the stream
}

// BatchHandler handles the messages that wait, in order. nil settles them all. After any other
// error each message is handed over again on its own, and its own error counts: a wrapped ErrDrop
// settles the message for good, other errors bring it back after a delay. The slice must not be
// used after the handler has returned. The context outlives Consume's by a few seconds, so that the
// handler can finish.
type BatchHandler func(ctx context.Context, batch []Message) error

// ConsumeOptions bound the batches of Consume. The zero value is usable.
type ConsumeOptions struct {
	MaxMessages int // in one batch; 0: 64
	MaxBytes    int // in one batch, which always has a message; 0: 8 MiB
	// delay before a failed message comes back, doubled each time up to 30 times itself; 0: 1 s
	Retry time.Duration
	// Ready is called once consumers of earlier epochs are fenced, before the first message is
	// handed over. From then on only this call settles messages of the subject.
	Ready func()
	// GiveUp is told of a message whose handler failed at delivery MaxDeliver. When it returns nil
	// the message is settled for good; otherwise it comes back. Its context is the handler's.
	GiveUp func(ctx context.Context, m Message, cause error) error
}

// Consume hands the messages of subject to h until ctx ends, and then returns nil. It works on the
// durable consumer <durable>-<epoch>, which it makes anew after deleting those of earlier epochs
// and of this one. That fences the owners of those consumers: their Consume ends with ErrFenced. So
// does this one when another call with this epoch or a later one begins.
func (w *Work) Consume(ctx context.Context, subject, durable string, epoch uint64, o ConsumeOptions, h BatchHandler) error {
	o.MaxMessages = cmp.Or(o.MaxMessages, 64)
	o.MaxBytes = cmp.Or(o.MaxBytes, 8<<20)
	o.Retry = cmp.Or(o.Retry, time.Second)
	b := backoff{least: 20 * time.Millisecond, most: 2 * time.Second}
	said, made := false, ""
	for ctx.Err() == nil {
		name := made
		var err error
		if name == "" {
			if name, err = w.fence(ctx, subject, durable, epoch); err == nil {
				made = name
				if ready := o.Ready; ready != nil {
					o.Ready = nil // once
					ready()
				}
			}
		}
		if err == nil {
			s := &consumption{w: w, o: o, h: h, held: map[uint64]*nats.Msg{}}
			err = s.run(ctx, subject, name)
			if s.handled {
				b.reset()
				said = false
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errStale):
			made = "" // a new consumer is given all of them once more
		case errors.Is(err, errConsumerGone), errors.Is(err, jetstream.ErrConsumerNotFound):
			return fmt.Errorf("consume %s as %s: %w", subject, name, ErrFenced)
		case errors.Is(err, ErrFenced), errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("consume %s: %w", subject, err)
		}
		if !said {
			w.c.log.Info("consuming again", "subject", subject, "because", err)
			said = true
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
	// A silent server does not tell that a consumer is gone, so ask before each session.
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
			_ = m.Nak() // for the next owner, who otherwise waits for ackWait to pass
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

// cancelAfter gives a running handler its grace once ctx has ended.
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

// keep tells the server, well within ackWait, that the messages we hold are still being handled.
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

// settle acknowledges a message or has it delivered again. Nothing depends on the acknowledgement
// arriving: if it is lost, the message comes again.
func (s *consumption) settle(ctx context.Context, m *nats.Msg, msg Message, err error) {
	log := s.w.c.log.With("subject", m.Subject, "seq", msg.Seq)
	if err != nil && !errors.Is(err, ErrDrop) && msg.Deliveries >= MaxDeliver {
		var refused error
		if s.o.GiveUp != nil {
			refused = s.o.GiveUp(ctx, msg, err) // the message counts as being handled meanwhile
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
