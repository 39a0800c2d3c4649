package assignment

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/pkg/queue"
)

// absence measures for how long nothing was seen of a shard's primary.
type absence struct {
	traces traces
	total  time.Duration
	looked time.Time
}

// traces are the revisions of what a primary writes while it lives: the owner record of the shard,
// and its member keys. 0 means that there is none.
type traces [3]uint64

// newer reports whether anything was written since then.
func (t traces) newer(was traces) bool {
	for i := range t {
		if t[i] > was[i] {
			return true
		}
	}
	return false
}

// lost returns the primary of a shard if it was away for so long that its pages must be crawled
// again.
func (p *allotment) lost(id int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lostFor(id) {
		return p.assignments[id].Instance
	}
	return ""
}

// lostFor is lost. The caller has locked mu.
func (p *allotment) lostFor(id int) bool {
	after := p.o.RebuildAfter
	return after > 0 && p.gone[id].total >= after && !p.present(p.assignments[id].Instance)
}

// watchAway measures for how long primaries that are no members have written nothing. It uses our
// own clock, and counts only while the broker responds to us.
func (p *allotment) watchAway(ctx context.Context, kv, members jetstream.KeyValue) error {
	if p.o.RebuildAfter == 0 {
		return nil
	}
	every := p.o.Term / 3
	for backoff.Sleep(ctx, every) == nil {
		p.mu.Lock()
		homes := maps.Clone(p.assignments)
		p.mu.Unlock()
		for id, h := range homes {
			if found, err := p.lookFor(ctx, kv, members, id, h); err == nil {
				p.seen(id, h.Instance, found, time.Now())
			}
		}
	}
	return nil
}

// lookFor reads the traces of a shard's primary.
func (p *allotment) lookFor(ctx context.Context, kv, members jetstream.KeyValue, id int, h known) (found traces, err error) {
	p.mu.Lock()
	there := p.present(h.Instance)
	p.mu.Unlock()
	if there || h.Instance == p.o.Instance {
		return found, nil // RebuildAfter is off
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Term/3)
	defer cancel()
	for i, look := range []struct {
		kv  jetstream.KeyValue
		key string
	}{{kv, ownerKey(id)}, {members, "indexer." + h.Instance}, {members, "indexer." + crammed + h.Instance}} {
		e, err := look.kv.Get(ctx, look.key)
		var owner queue.Record
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
		case err != nil:
			return found, err
		case i == 0 && (json.Unmarshal(e.Value(), &owner) != nil || owner.Owner != h.Instance):
			// another indexer owns the shard, without its pages
		default:
			found[i] = e.Revision()
		}
	}
	return found, nil
}

// seen records a look at a shard's primary.
func (p *allotment) seen(id int, instance string, found traces, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, counting := p.gone[id]
	if p.present(instance) || instance == p.o.Instance {
		delete(p.gone, id)
		return
	}
	switch {
	case !counting || found.newer(was.traces):
		was = absence{traces: found}
	case now.Sub(was.looked) < p.o.Term: // otherwise we were disconnected ourselves
		was.total += now.Sub(was.looked)
	}
	was.looked = now
	p.gone[id] = was
}
