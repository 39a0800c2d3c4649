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
	// MaxDeliver is the delivery at which a message that still fails is given up.
	MaxDeliver = 5

	ackWait      = 15 * time.Second // unless we say every third of it that a message is still in hand
	handlerGrace = 10 * time.Second // what a handler under way is given when Consume's context ends
	retryMost    = 30               // × ConsumeOptions.Retry: the longest delay
)

// Message is one message of a hand-off. Data must not be changed.
type Message struct {
	Data       []byte
	Deliveries int    // 1 for the first; after a crash of the broker it may begin at 1 again
	Seq        uint64 // in the stream
}

// BatchHandler handles the messages waiting, in order. nil settles them all. After any other error each message is
// handed over again on its own, and its own error counts: ErrDrop wrapped settles the message for good, others bring it
// back after a delay. The slice is the handler's only until it returns. The context outlives Consume's by a few
// seconds, so that what is under way can be finished.
type BatchHandler func(ctx context.Context, batch []Message) error

// ConsumeOptions bound the batches of Consume. The zero value is usable.
type ConsumeOptions struct {
	MaxMessages int           // in one batch; 0: 64
	MaxBytes    int           // in one batch, which always has a message; 0: 8 MiB
	Retry       time.Duration // delay before a failed message comes back, doubled each time up to 30 times itself; 0: 1 s
	// Ready is called once those of earlier epochs are fenced, before the first message is handed over: from then on nobody but
	// this call settles messages of the subject.
	Ready func()
	// GiveUp is told of a message whose handler failed at delivery MaxDeliver. When it returns nil the message is settled for
	// good, else it comes back. Its context is the handler's.
	GiveUp func(ctx context.Context, m Message, cause error) error
}

// Consume hands the messages of subject to h until ctx ends, and then returns nil. It works on the durable consumer
// <durable>-<epoch>, made anew after deleting those of earlier epochs and of this one: that fences whoever held them,
// whose Consume ends with ErrFenced, as this one does when another call with this epoch or a later one turns up.
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
				if o.Ready != nil {
					o.Ready()
				}
			}
		}
		if err == nil {
			s := &consumption{w: w, o: o, h: h, held: map[uint64]*nats.Msg{}}
			err = s.run(ctx, name)
			if s.handled {
				b.reset()
				said = false
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
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
	held map[uint64]*nats.Msg // in the handler's hands; guarded by mu
}

func (s *consumption) run(ctx context.Context, name string) error {
	// A silent server does not say that a consumer is gone, so ask before each session.
	err := s.w.c.api(ctx, s.w.cfg.Stream, func(ctx context.Context) error {
		_, err := s.w.c.JS.Consumer(ctx, s.w.cfg.Stream, name)
		return err
	})
	if err != nil {
		return err
	}
	p, err := s.w.c.openPull(s.w.cfg.Stream, name, 2*s.o.MaxMessages, s.o.MaxBytes)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range p.close() {
			_ = m.Nak() // for whoever comes next; without it they wait for ackWait to pass
		}
	}()

	hctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { s.keep(hctx, p) })
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

// cancelAfter gives a handler under way its grace once ctx has ended.
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

// keep tells the server, well within ackWait, that what we hold is still being worked on.
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

// settle acknowledges a message or sends it round again. Nothing hangs on the acknowledgement arriving: a message
// whose one was lost comes again.
func (s *consumption) settle(ctx context.Context, m *nats.Msg, msg Message, err error) {
	log := s.w.c.log.With("subject", m.Subject, "seq", msg.Seq)
	if err != nil && !errors.Is(err, ErrDrop) && msg.Deliveries >= MaxDeliver {
		var refused error
		if s.o.GiveUp != nil {
			refused = s.o.GiveUp(ctx, msg, err) // the message stays in hand as long
		}
		if refused == nil {
			log.Error("message given up", "deliveries", msg.Deliveries, "err", err)
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
		log.Warn("message comes again", "deliveries", msg.Deliveries, "after", delay, "err", err)
		_ = m.NakWithDelay(delay)
	}
}
