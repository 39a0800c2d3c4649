package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// errGone means that nobody reads the answer any more.
var errGone = errors.New("the asker has gone")

// writer streams one answer. It is never more than a window of parts ahead of the asker.
type writer struct {
	s      *Service
	reply  string
	ctx    context.Context
	cancel context.CancelCauseFunc
	acks   *nats.Subscription
	tokens chan struct{} // one for each part that may be sent now
	buf    bytes.Buffer  // objects that are not sent yet, one a line
	enc    *json.Encoder
	signs  sync.WaitGroup
	parts  int // how many were sent
}

// newWriter begins an answer. It announces at once the shards that will be answered for.
func newWriter(s *Service, reply string, shards []int) (*writer, error) {
	if reply == "" {
		return nil, errors.New("a question without a reply subject")
	}
	w := &writer{s: s, reply: reply, tokens: make(chan struct{}, window)}
	for range window {
		w.tokens <- struct{}{}
	}
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false) // URLs are full of ampersands
	w.ctx, w.cancel = context.WithCancelCause(s.ctx)
	var err error
	w.acks, err = s.nc.Subscribe(s.nc.NewInbox(), func(m *nats.Msg) {
		// The status 503 means that the asker's inbox has gone.
		if string(m.Data) == stopWord || m.Header.Get("Status") == "503" {
			w.cancel(errGone)
			return
		}
		if string(m.Data) == probeWord {
			return
		}
		select {
		case w.tokens <- struct{}{}:
		default: // acknowledged twice
		}
	})
	if err != nil {
		w.cancel(err)
		return nil, err
	}
	m := w.message(kindAlive)
	m.Header[headerShards] = []string{joinShards(shards)}
	_ = s.nc.PublishMsg(m) // if it is lost, the asker does not wait as long
	w.signs.Go(w.signOfLife)
	return w, nil
}

// signOfLife keeps the asker waiting while the handler has nothing to send yet.
func (w *writer) signOfLife() {
	t := time.NewTicker(signEvery)
	defer t.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-t.C:
			_ = w.s.nc.PublishMsg(w.message(kindAlive))
		}
	}
}

func (w *writer) message(kind string) *nats.Msg {
	m := nats.NewMsg(w.reply)
	m.Reply = w.acks.Subject
	m.Header[headerKind] = []string{kind}
	m.Header[headerFrom] = []string{w.s.from}
	return m
}

// send adds an object to the answer.
func (w *writer) send(v any) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	start := w.buf.Len()
	if err := w.enc.Encode(v); err != nil {
		w.buf.Truncate(start)
		return fmt.Errorf("encode an answer: %w", err)
	}
	most := int(w.s.nc.MaxPayload()) - 4<<10 // the rest is for the headers
	if n := w.buf.Len() - start; n > most {
		w.buf.Truncate(start)
		return fmt.Errorf("an answer of %d bytes is over the limit of %d", n, most)
	}
	if w.buf.Len() < partBytes {
		return nil
	}
	if start > 0 && w.buf.Len() > most { // the last object does not fit with the others
		last := bytes.Clone(w.buf.Bytes()[start:])
		w.buf.Truncate(start)
		if err := w.flush(); err != nil {
			return err
		}
		w.buf.Write(last)
	}
	return w.flush()
}

// flush sends the buffered objects as a part. Before that it waits until the window allows one.
func (w *writer) flush() error {
	if w.buf.Len() == 0 {
		return nil
	}
	t := time.NewTimer(ackWithin)
	defer t.Stop()
	select {
	case <-w.tokens:
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	case <-t.C:
		w.cancel(errGone)
		return errGone
	}
	m := w.message(kindPart)
	m.Data = w.buf.Bytes()
	err := w.s.nc.PublishMsg(m) // copies Data
	w.parts++
	w.buf.Reset()
	if err != nil {
		w.cancel(err)
	}
	return err
}

// finish sends the rest of the answer, and the final part with the shards or the error.
func (w *writer) finish(shards []int, err error) {
	if err == nil {
		err = w.flush()
	}
	if errors.Is(err, errGone) {
		return
	}
	m := w.message(kindFinal)
	m.Header[headerShards], m.Header[headerParts] = []string{joinShards(shards)}, []string{strconv.Itoa(w.parts)}
	if err != nil {
		m.Header[headerError] = []string{headerText(err.Error())}
	}
	_ = w.s.nc.PublishMsg(m) // if it is lost, the asker sees that the shards are missing
}

func (w *writer) close() {
	_ = w.acks.Unsubscribe()
	w.cancel(nil)
	w.signs.Wait()
}

// headerText makes one line from the text of an error.
func headerText(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c == '\r' || c == '\n' {
			b[i] = ' '
		}
	}
	return string(b[:min(len(b), 2<<10)])
}
