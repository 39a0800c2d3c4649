package ask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Running is a running crawl, which is asked over NATS.
type Running struct {
	NC     *nats.Conn
	Name   crawl.Names
	Shards int // of the crawl
}

// Ask asks a question as Gather does, and calls each with a json.RawMessage for every object.
// Unless shards is nil, only the shards that it lists, given their number, are waited for. The
// other shards are known not to answer; if they answer nevertheless, their objects are used.
func (r Running) Ask(ctx context.Context, question string, req any, shards func(of int) []int, each func(v any) error) error {
	if shards == nil {
		shards = all
	}
	return gather(ctx, r.NC, r.Name, question, req, shards(r.Shards), r.Shards, func(raw json.RawMessage) error { return each(raw) })
}

// all lists the numbers of so many shards.
func all(of int) []int {
	list := make([]int, of)
	for k := range list {
		list[k] = k
	}
	return list
}

// Gather asks every service of a crawl a question. It calls each, in the caller's goroutine, for
// every object of the answers, in no particular order between instances. raw is valid until each
// returns.
//
// Gather returns nil when all shards, from 0 to shards-1, have answered. The error is an
// IncompleteError, joined with the handlers' errors, when nothing more comes, when ctx ends before
// that, or when a handler failed. Nothing more comes after a silence of 4 s, or of 0.6 s if no
// instance has announced the missing shards or the instance that did has gone. Objects that came
// are valid in spite of an error. A shard that changes its owner during the answer may be answered
// for twice, or not at all. When the handlers of all shards failed, the error consists of their
// errors only. With shards 0, everyone who answers within the time above is heard. An error of each
// ends the answer and is returned as it is. ErrNobody means that no service listens.
func Gather(ctx context.Context, nc *nats.Conn, name crawl.Names, question string, req any, shards int, each func(raw json.RawMessage) error) error {
	return gather(ctx, nc, name, question, req, all(shards), shards, each)
}

func gather(ctx context.Context, nc *nats.Conn, name crawl.Names, question string, req any, wanted []int, shards int, each func(raw json.RawMessage) error) error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(req); err != nil {
		return fmt.Errorf("ask %q: %w", question, err)
	}
	// SubscribeSync would allocate space for 65,536 messages, so this is a callback.
	answers, ended := make(chan *nats.Msg), make(chan struct{})
	inbox := nc.NewInbox()
	sub, err := nc.Subscribe(inbox+".*", func(m *nats.Msg) {
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
	_ = sub.SetPendingLimits(-1, -1) // the windows of the senders are the limit
	if err := nc.PublishRequest(name.Query(question), inbox+questionReply, bytes.TrimSpace(data.Bytes())); err != nil {
		// The connection is lost, or is being made again, so nothing was asked.
		return fmt.Errorf("%w: ask %q: %w", ErrNobody, question, err)
	}
	g := &gathering{nc: nc, inbox: inbox, question: question, each: each, missing: map[int]bool{}, failed: map[int]bool{}, claims: map[string]*claim{}, parts: map[string]int{}, shards: shards,
		asked: time.Now()}
	for _, k := range wanted {
		g.missing[k] = true
	}
	heard := g.asked
	for shards == 0 || len(g.missing) > 0 {
		left := g.patience(heard.Sub(g.asked)) - time.Since(heard)
		m, err := next(ctx, answers, min(left, probeEvery))
		if errors.Is(err, errQuiet) && left > probeEvery {
			g.probe()
			continue
		}
		if err != nil {
			return g.ended(err)
		}
		heard = time.Now()
		if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
			if m.Subject != inbox+questionReply {
				g.gone(m.Subject)
				continue
			}
			return fmt.Errorf("%w: no service of crawl %q answers the question %q: either its services are still starting or none is running", ErrNobody, name, question)
		}
		if err := g.take(m); err != nil {
			return err
		}
	}
	return g.ended(nil)
}

// questionReply is the end of the subject of answers. Replies to probes have other subjects.
const questionReply = ".a"

type gathering struct {
	nc       *nats.Conn
	inbox    string
	question string
	each     func(json.RawMessage) error
	missing  map[int]bool // shards without an answer so far
	claims   map[string]*claim
	failed   map[int]bool   // shards whose handler failed, without another answer
	parts    map[string]int // how many came, by claimant
	shards   int
	errs     []error
	asked    time.Time
	claimed  time.Duration // from asked to the latest announcement
	named    bool          // an instance has announced a shard
	probes   int
}

// claim is the announcement of an instance that it will answer for some shards. It ends with the
// final part. Its key is the subject on which the instance receives acknowledgements. An older
// version does not announce this subject. Its key is the name of the instance, and it cannot be
// probed.
type claim struct {
	shards map[int]bool
	acks   string // empty: not known
	probe  string // the reply subject of its probes; empty: it is not probed
}

// errQuiet means that nothing came for a while.
var errQuiet = errors.New("no answer")

// patience is how long to wait for the next message. heard is the time from the question to the
// last message.
func (g *gathering) patience(heard time.Duration) time.Duration {
	if g.shards == 0 || !g.named || g.working() {
		return quiet
	}
	return min(quiet, max(0, g.claimed+max(unclaimed, slower*g.claimed)-heard))
}

// working reports whether an instance has announced an answer for a missing shard.
func (g *gathering) working() bool {
	for _, c := range g.claims {
		if g.waitedFor(c) {
			return true
		}
	}
	return false
}

func (g *gathering) waitedFor(c *claim) bool {
	for k := range c.shards {
		if g.missing[k] {
			return true
		}
	}
	return false
}

// probe checks whether the instances that are waited for still exist. They do not answer a probe.
// If an instance has gone, the server answers with the status 503, and gone handles this answer.
// All messages that the instance had sent have arrived before it.
func (g *gathering) probe() {
	for _, c := range g.claims {
		if c.acks == "" || !g.waitedFor(c) {
			continue
		}
		if c.probe == "" {
			g.probes++
			c.probe = g.inbox + ".p" + strconv.Itoa(g.probes)
		}
		// If the probe cannot be sent, the wait for this instance is only longer.
		_ = g.nc.PublishRequest(c.acks, c.probe, []byte(probeWord))
	}
}

// gone ends the claim to which a probe belongs.
func (g *gathering) gone(probe string) {
	maps.DeleteFunc(g.claims, func(_ string, c *claim) bool { return c.probe == probe })
}

// next waits for a message, but no longer than patience.
func next(ctx context.Context, answers <-chan *nats.Msg, patience time.Duration) (*nats.Msg, error) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case m := <-answers:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-t.C:
		select {
		case m := <-answers: // it came in time, and we were slow
			return m, nil
		default:
			return nil, errQuiet
		}
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
		g.parts[claimant(m)]++
	case kindAlive:
		c := g.claims[claimant(m)]
		if c == nil {
			c = &claim{shards: map[int]bool{}, acks: m.Reply}
			g.claims[claimant(m)] = c
		}
		for k := range shardsOf(m) {
			c.shards[k] = true
			g.claimed, g.named = time.Since(g.asked), true
		}
	case kindFinal:
		delete(g.claims, claimant(m))
		text := m.Header.Get(headerError)
		// An older version does not send the number of parts.
		if sent := m.Header.Get(headerParts); sent != "" && sent != strconv.Itoa(g.parts[claimant(m)]) {
			text = cmp.Or(text, "a part of the answer was lost on the way")
		}
		if text != "" {
			g.errs = append(g.errs, fmt.Errorf("%s: %s: %s", g.question, m.Header.Get(headerFrom), text))
		}
		for k := range shardsOf(m) {
			g.named = true
			switch {
			case text == "":
				delete(g.missing, k)
				delete(g.failed, k)
			case g.missing[k]:
				delete(g.missing, k)
				g.failed[k] = true
			}
		}
	}
	return nil
}

func claimant(m *nats.Msg) string { return cmp.Or(m.Reply, m.Header.Get(headerFrom)) }

// shardsOf are the shards that a message names.
func shardsOf(m *nats.Msg) iter.Seq[int] {
	return func(yield func(int) bool) {
		for s := range strings.SplitSeq(m.Header.Get(headerShards), ",") {
			if k, err := strconv.Atoi(s); err == nil && !yield(k) {
				return
			}
		}
	}
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

// ended makes the error of an answer. It is nil if the answer is complete. cause is why waiting
// ended.
func (g *gathering) ended(cause error) error {
	if errors.Is(cause, errQuiet) {
		cause = nil
	}
	e := &IncompleteError{Question: g.question, Shards: g.shards, Cause: cause}
	for k := range g.shards {
		if g.missing[k] || g.failed[k] {
			e.Missing = append(e.Missing, k)
		}
	}
	if (g.shards == 0 || len(g.missing) > 0) && g.nc.IsClosed() {
		e.Cause = nats.ErrConnectionClosed
	}
	switch {
	case g.shards > 0 && len(e.Missing) == 0:
		return nil // another instance answered for the shards of a handler that failed
	case e.Cause == nil && len(g.failed) == g.shards:
		return errors.Join(g.errs...) // there is no answer at all
	}
	return errors.Join(append(g.errs, e)...)
}
