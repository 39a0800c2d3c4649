package assignment

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// crammed is the prefix of the name of a member whose disk is full: it keeps its shards, but must
// get no more. No instance has such a name.
const crammed = "full="

// allotment is what an indexer knows about the others: which are there, and where the pages of the
// shards are. It is only a hint and may be old. Every consequence is decided by the owner of the
// shard, with a compare-and-set of its assignment record.
type allotment struct {
	o      *Options
	shards int

	mu      sync.Mutex // guards what follows
	there   map[string]bool
	members []string        // those whose disk has space
	retired map[string]bool // instances that the operator has retired
	// Those retired instances whose shards must move: all of them, unless no other would be left.
	going       map[string]bool
	listed      bool // all assignment records were read
	assignments map[int]known
	first       []string // by shard: who should claim it if it has no primary
	// By shard: where its pages should be if all absent primaries come back.
	plan    []string
	since   []time.Time // by shard: since when first and plan have their value
	gone    map[int]absence
	changed chan struct{} // closed and replaced when anything changes
}

// known is an assignment record, and since when we have known it.
type known struct {
	Record
	revision uint64
	since    time.Time
}

func newAllotment(o *Options) *allotment {
	return &allotment{o: o, shards: o.Shards, assignments: map[int]known{}, first: make([]string, o.Shards), plan: make([]string, o.Shards),
		since: make([]time.Time, o.Shards), gone: map[int]absence{}, changed: make(chan struct{})}
}

// change returns a channel that is closed when anything changes.
func (p *allotment) change() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// edit changes what is known and computes the consequences.
func (p *allotment) edit(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.going = p.retired
	claim := slices.DeleteFunc(slices.Clone(p.members), func(name string) bool { return p.going[name] })
	if len(claim) == 0 {
		p.going, claim = nil, p.members
	}
	first := queue.Assign(p.shards, claim)
	// An absent indexer keeps its share: its pages wait for it, and those of others need not move
	// because of it.
	keep := slices.Clone(claim)
	for _, h := range p.assignments {
		if !p.going[h.Instance] && !slices.Contains(keep, h.Instance) {
			keep = append(keep, h.Instance)
		}
	}
	plan := queue.Assign(p.shards, keep)
	for i := range first {
		if first[i] != p.first[i] || plan[i] != p.plan[i] {
			p.since[i] = time.Now()
		}
	}
	p.first, p.plan = first, plan
	close(p.changed)
	p.changed = make(chan struct{})
}

// run starts the goroutines that keep it up to date.
func (p *allotment) run(ctx context.Context, g *errgroup.Group, kv, members jetstream.KeyValue) {
	g.Go(func() error { return p.join(ctx, members) })
	g.Go(func() error { return p.watchAssignments(ctx, kv) })
	g.Go(func() error { return p.watchRetired(ctx, kv) })
	g.Go(func() error { return p.publishRetired(ctx) })
	g.Go(func() error { return p.watchAway(ctx, kv, members) })
}

// join takes part in the membership until ctx ends.
func (p *allotment) join(ctx context.Context, members jetstream.KeyValue) error {
	o := p.o
	for ctx.Err() == nil {
		as := o.Instance
		full, changed := o.Space()
		if full != nil {
			as = crammed + as
		}
		while, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			select {
			case <-while.Done():
			case <-changed:
			}
		}()
		err := queue.Members(while, members, queue.MemberOptions{Kind: "indexer", Instance: as, Term: o.Term, Log: o.Log}, p.reported)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// reported applies a list of members.
func (p *allotment) reported(names []string) {
	p.o.Log.Info("indexers", "members", names)
	p.edit(func() {
		p.there = map[string]bool{}
		p.members = nil
		for _, name := range names {
			p.there[name] = true
			if !strings.HasPrefix(name, crammed) {
				p.members = append(p.members, name)
			}
		}
	})
}

// watchAssignments follows the assignment records until ctx ends.
func (p *allotment) watchAssignments(ctx context.Context, kv jetstream.KeyValue) error {
	var all map[int]known // as they arrive one by one; nil once all have arrived
	queue.WatchKeys(ctx, kv, "home.*", p.o.Term/2, func() { all = map[int]known{} }, func(e jetstream.KeyValueEntry) {
		if e == nil {
			p.edit(func() {
				for id, h := range all {
					if old := p.assignments[id]; old.revision >= h.revision {
						all[id] = old // known for longer, or from our own write
					}
				}
				p.assignments, p.listed = all, true
			})
			all = nil
			return
		}
		id, h, valid := readEntry(e)
		if !valid || id >= p.shards {
			return
		}
		if all != nil {
			all[id] = h
		} else {
			p.note(id, h.Record, h.revision)
		}
	})
	return nil
}

// watchRetired follows which indexers the operator has retired, until ctx ends.
func (p *allotment) watchRetired(ctx context.Context, kv jetstream.KeyValue) error {
	var all map[string]bool // as they arrive one by one; then the last complete list
	told := false
	queue.WatchKeys(ctx, kv, crawl.Retired("*"), p.o.Term, func() { all, told = map[string]bool{}, false }, func(e jetstream.KeyValueEntry) {
		if e == nil {
			told = true
		} else if name := strings.TrimPrefix(e.Key(), crawl.Retired("")); e.Operation() == jetstream.KeyValuePut {
			all[name] = true
		} else {
			delete(all, name)
		}
		if told {
			p.edit(func() { p.retired = maps.Clone(all) })
		}
	})
	return nil
}

// publishRetired logs once that nothing of a retired indexer is left.
func (p *allotment) publishRetired(ctx context.Context) error {
	for said := false; ; {
		changed := p.change()
		p.mu.Lock()
		none := p.going[p.o.Instance] && p.listed
		for _, h := range p.assignments {
			none = none && h.Instance != p.o.Instance
		}
		p.mu.Unlock()
		if none && !said {
			p.o.Log.Info("retired: this indexer has no shard left and can be stopped")
		}
		said = none
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func readEntry(e jetstream.KeyValueEntry) (id int, h known, valid bool) {
	id, err := strconv.Atoi(strings.TrimPrefix(e.Key(), "home."))
	if err != nil || id < 0 || e.Operation() != jetstream.KeyValuePut || json.Unmarshal(e.Value(), &h.Record) != nil {
		return 0, h, false
	}
	h.revision, h.since = e.Revision(), time.Now()
	return id, h, true
}

// note applies a record that we have read or written, or that arrived.
func (p *allotment) note(id int, h Record, revision uint64) {
	p.edit(func() {
		if old, ok := p.assignments[id]; !ok || old.revision < revision {
			p.assignments[id] = known{h, revision, time.Now()}
		}
	})
}

// recordOf returns the record of a shard as far as we know it. revision is 0 if there is none.
func (p *allotment) recordOf(id int) known {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.assignments[id]
}

// where returns the assignment record of a shard, and whether that instance is there.
func (p *allotment) where(id int) (h known, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h = p.assignments[id]
	return h, p.present(h.Instance)
}

// present reports whether an instance is there. The caller has locked mu.
func (p *allotment) present(instance string) bool {
	return p.there[instance] || p.there[crammed+instance]
}

// wants reports whether this indexer should try to own the shard now. here is its own page store of
// the shard.
func (p *allotment) wants(id int, here stamp) bool {
	o := p.o
	if o.Embedded {
		return true
	}
	full, _ := o.Space()
	p.mu.Lock()
	defer p.mu.Unlock()
	takes := full == nil && !p.going[o.Instance] // what it does not have yet
	if p.there == nil || !p.listed {
		return false
	}
	h, ok := p.assignments[id]
	mine := takes && p.first[id] == o.Instance
	// Members that start together share the shards, and none takes all of them first.
	settled := time.Since(p.since[id]) > o.Term/10
	switch {
	case !ok:
		return takes && here.identity != "" || mine && settled
	case h.HandedOver != nil:
		switch {
		case takes && h.HandedOver.To == o.Instance:
			return true
		case h.Instance == o.Instance:
			return !p.present(h.HandedOver.To) || time.Since(h.since) > handedOverMost*o.Term
		}
		return mine && !p.present(h.HandedOver.To) && !p.present(h.Instance)
	case h.Instance == o.Instance:
		return true
	case here.counts(h.Record):
		return takes && !p.present(h.Instance)
	}
	return mine && settled && p.lostFor(id)
}

// moveTo returns the instance to which the pages of a shard of this indexer should move, "" if they
// may stay.
func (p *allotment) moveTo(id int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	to, least := p.plan[id], p.o.Term // so that a member that comes and goes moves nothing
	if p.going[p.o.Instance] {
		least /= 10 // the decision of the operator does not change quickly
		if !p.there[to] {
			to = p.first[id] // and absent members are not waited for
		}
	}
	if to == p.o.Instance || !p.there[to] || time.Since(p.since[id]) < least {
		return ""
	}
	return to
}
