package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Gather asks question of every service of the crawl and calls each, in the caller's goroutine, for every object of
// their answers, in no particular order between instances. raw is each's only until it returns.
//
// It returns nil when every shard from 0 to shards-1 was answered for. When nothing more comes (4 s of silence) or ctx
// ends before that, the error is an IncompleteError and what came stays valid; a shard that changes hands meanwhile may
// be answered for twice, or not at all. With shards 0, all who answer within that time are heard. An error of each ends
// it and is returned as it is; errors of handlers come joined, once all have answered; ErrNobody means that no service
// listens.
func Gather(ctx context.Context, nc *nats.Conn, name crawl.Names, question string, req any, shards int, each func(raw json.RawMessage) error) error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(req); err != nil {
		return fmt.Errorf("ask %q: %w", question, err)
	}
	// A callback and not SubscribeSync, which makes room for 65,536 messages at once.
	answers, ended := make(chan *nats.Msg), make(chan struct{})
	sub, err := nc.Subscribe(nc.NewInbox(), func(m *nats.Msg) {
		select {
		case answers <- m:
		case <-ended:
		}
	})
	if err != nil {
		return fmt.Errorf("ask %q: %w", question, err)
	}
	defer close(ended)
	defer sub.Unsubscribe()
	_ = sub.SetPendingLimits(-1, -1) // bounded by each sender's window
	if err := nc.PublishRequest(name.Query(question), sub.Subject, bytes.TrimSpace(data.Bytes())); err != nil {
		return fmt.Errorf("ask %q: %w", question, err)
	}
	g := &gathering{nc: nc, question: question, each: each, missing: map[int]bool{}, shards: shards}
	for k := range shards {
		g.missing[k] = true
	}
	for shards == 0 || len(g.missing) > 0 {
		m, err := next(ctx, answers)
		if err != nil {
			return g.ended(err)
		}
		if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
			return fmt.Errorf("%w: no service of crawl %q knows the question %q: is the crawl running?", ErrNobody, name, question)
		}
		if err := g.take(m); err != nil {
			return err
		}
	}
	return errors.Join(g.errs...)
}

type gathering struct {
	nc       *nats.Conn
	question string
	each     func(json.RawMessage) error
	missing  map[int]bool
	shards   int
	errs     []error
}

// errQuiet: nothing came for a while.
var errQuiet = errors.New("no answer")

// next waits for a message, not longer than the quiet time.
func next(ctx context.Context, answers <-chan *nats.Msg) (*nats.Msg, error) {
	t := time.NewTimer(quiet)
	defer t.Stop()
	select {
	case m := <-answers:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-t.C:
		return nil, errQuiet
	}
}

func (g *gathering) take(m *nats.Msg) error {
	switch m.Header.Get(headerKind) {
	case kindPart:
		if err := g.part(m.Data); err != nil {
			_ = g.nc.Publish(m.Reply, []byte(stopWord))
			return err
		}
		_ = g.nc.Publish(m.Reply, nil)
	case kindFinal:
		if text := m.Header.Get(headerError); text != "" {
			g.errs = append(g.errs, fmt.Errorf("%s: %s: %s", g.question, m.Header.Get(headerFrom), text))
		}
		for k := range strings.SplitSeq(m.Header.Get(headerShards), ",") {
			if n, err := strconv.Atoi(k); err == nil {
				delete(g.missing, n)
			}
		}
	}
	return nil
}

func (g *gathering) part(data []byte) error {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if err := g.each(line); err != nil {
			return err
		}
		data = rest
	}
	return nil
}

// ended makes the error of an answer that stopped short.
func (g *gathering) ended(cause error) error {
	if errors.Is(cause, errQuiet) {
		cause = nil
	}
	if g.nc.IsClosed() {
		cause = nats.ErrConnectionClosed
	}
	if g.shards == 0 && cause == nil {
		return errors.Join(g.errs...)
	}
	e := &IncompleteError{Question: g.question, Shards: g.shards, Cause: cause}
	for k := range g.shards {
		if g.missing[k] {
			e.Missing = append(e.Missing, k)
		}
	}
	return errors.Join(append(g.errs, e)...)
}
