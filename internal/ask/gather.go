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

// Gather asks question of every service of the crawl and calls each, in the caller's goroutine,
// for every object of their answers, in no particular order between instances. raw is each's
// only until it returns.
//
// It returns nil when every shard from 0 to shards-1 was answered for. The error is an
// IncompleteError, joined with the handlers' errors, when nothing more comes (4 s of silence; 0.6 s
// when nobody says that it holds what is missing, or who said so has gone), when ctx ends before
// that, or when a handler failed. What came stays valid. A shard that changes hands meanwhile may
// be answered for twice, or not at all. When every shard's handler failed, their errors come alone.
// With shards 0, all who answer within that time are heard. An error of each ends it and is
// returned as it is. ErrNobody means that no service listens.
func Gather(ctx context.Context, nc *nats.Conn, name crawl.Names, question string, req any, shards int, each func(raw json.RawMessage) error) error {
	all := make([]int, shards)
	for k := range all {
		all[k] = k
	}
	return GatherFrom(ctx, nc, name, question, req, all, shards, each)
}

// GatherFrom is Gather that waits for some of the shards only: the others are known not to answer.
// What they say nevertheless counts.
func GatherFrom(ctx context.Context, nc *nats.Conn, name crawl.Names, question string, req any, wanted []int, shards int, each func(raw json.RawMessage) error) error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(req); err != nil {
		return fmt.Errorf("ask %q: %w", question, err)
	}
	// A callback and not SubscribeSync, which makes room for 65,536 messages at once.
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
	_ = sub.SetPendingLimits(-1, -1) // bounded by each sender's window
	if err := nc.PublishRequest(name.Query(question), inbox+questionReply, bytes.TrimSpace(data.Bytes())); err != nil {
		// Nothing was asked: the connection is lost, or waits to be made anew.
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

// questionReply is the end of the subject that answers come to; those of probes are other ones.
const questionReply = ".a"

type gathering struct {
	nc       *nats.Conn
	inbox    string
	question string
	each     func(json.RawMessage) error
	missing  map[int]bool // shards nobody has answered for yet
	claims   map[string]*claim
	failed   map[int]bool   // shards whose handler failed, and that nobody else has answered for
	parts    map[string]int // that came, by claimant
	shards   int
	errs     []error
	asked    time.Time
	claimed  time.Duration // after asked, when an instance last said that it would answer
	named    bool          // some instance has said that it holds a shard
	probes   int
}

// claim is an instance's word that it will answer for some shards. It ends with the final part.
// Claims are known by where the instance hears acknowledgements; an older version does not say
// that at once, is known by its name, and cannot be probed.
type claim struct {
	shards map[int]bool
	acks   string // "": not known
	probe  string // what it is probed by, "": it is not
}

// errQuiet: nothing came for a while.
var errQuiet = errors.New("no answer")

// patience is how long to wait for the next message, when the last came so long after the question
// was asked.
func (g *gathering) patience(heard time.Duration) time.Duration {
	if g.shards == 0 || !g.named || g.working() {
		return quiet
	}
	return min(quiet, max(0, g.claimed+max(unclaimed, slower*g.claimed)-heard))
}

// working reports whether an instance has said that it would answer for a missing shard.
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

// probe asks the instances that are waited for whether they are there. They need not answer: for
// one that has gone the server does, with the status 503 on the subject that gone knows. All that
// the instance sent before has come by then.
func (g *gathering) probe() {
	for _, c := range g.claims {
		if c.acks == "" || !g.waitedFor(c) {
			continue
		}
		if c.probe == "" {
			g.probes++
			c.probe = g.inbox + ".p" + strconv.Itoa(g.probes)
		}
		// Where it cannot be sent, the instance is waited for longer.
		_ = g.nc.PublishRequest(c.acks, c.probe, []byte(probeWord))
	}
}

// gone ends the claim that a probe belongs to.
func (g *gathering) gone(probe string) {
	maps.DeleteFunc(g.claims, func(_ string, c *claim) bool { return c.probe == probe })
}

// next waits for a message, at most so long.
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
		case m := <-answers: // it came, and we were slow
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
		// An older version does not say how many there were.
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

// shardsOf reads the shards that a message names.
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

// ended makes the error of an answer, nil when it is whole. cause is why waiting stopped early.
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
		return nil // a handler that failed did so for shards that another instance has answered for
	case e.Cause == nil && len(g.failed) == g.shards:
		return errors.Join(g.errs...) // nothing came that could be called a part of an answer
	}
	return errors.Join(append(g.errs, e)...)
}
