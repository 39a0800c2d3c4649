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

// crammed stands before the name of a member whose disk has no room: what it has it keeps, but
// nothing more should be given to it. No instance is named so.
const crammed = "full="

// allotment is what an indexer knows of the others: who is there, and where the shards' pages are.
// It is a hint only, and may be old; what follows from it is done under the shard's ownership, by
// compare-and-set on its home record.
type allotment struct {
	o      *Options
	shards int

	mu      sync.Mutex // guards what follows
	there   map[string]bool
	members []string        // of them those that have room
	retired map[string]bool // instances that the operator has retired
	// Of these, those that give away what they have: all, unless nobody would be left.
	going       map[string]bool
	listed      bool // all home records there were are known
	assignments map[int]known
	first       []string // by shard: who should claim it when it has no home
	// By shard: where its pages should be, when all homes that are away come back.
	plan    []string
	since   []time.Time // by shard: since when first and plan say so
	gone    map[int]absence
	changed chan struct{} // closed and replaced when anything does
}

// known is a home record, and how long we have known it so.
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

// edit changes what is known and works out what follows.
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
	// An indexer that is away keeps its share: its pages wait for it, and others' need not move
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

// run starts what keeps it known.
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

// reported takes in who is there.
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

// watchAssignments follows the home records until ctx ends.
func (p *allotment) watchAssignments(ctx context.Context, kv jetstream.KeyValue) error {
	var all map[int]known // as they are told one by one; nil once all were
	queue.WatchKeys(ctx, kv, "home.*", p.o.Term/2, func() { all = map[int]known{} }, func(e jetstream.KeyValueEntry) {
		if e == nil {
			p.edit(func() {
				for id, h := range all {
					if old := p.assignments[id]; old.revision >= h.revision {
						all[id] = old // known longer, or by our own write
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
	var all map[string]bool // as they are told one by one; then what was told last
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

// publishRetired says, once, that nothing is left here of a retired indexer.
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

// note takes a record in that we have read or written, or were told of.
func (p *allotment) note(id int, h Record, revision uint64) {
	p.edit(func() {
		if old, ok := p.assignments[id]; !ok || old.revision < revision {
			p.assignments[id] = known{h, revision, time.Now()}
		}
	})
}

// recordOf is the shard's record as far as we know; revision 0 when it has none.
func (p *allotment) recordOf(id int) known {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.assignments[id]
}

// where is the shard's home record, and whether that instance is there.
func (p *allotment) where(id int) (h known, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h = p.assignments[id]
	return h, p.present(h.Instance)
}

// present reports whether an instance is there. mu is held.
func (p *allotment) present(instance string) bool {
	return p.there[instance] || p.there[crammed+instance]
}

// wants reports whether this indexer should try to hold the shard now, given the page store it has
// of it.
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
	// Members that start together share, and none takes all first.
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

// moveTo names the instance that the pages this indexer holds should be moved to, "" when they may
// stay.
func (p *allotment) moveTo(id int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	to, least := p.plan[id], p.o.Term // so that who comes and goes moves nothing
	if p.going[p.o.Instance] {
		least /= 10 // the operator's word does not waver
		if !p.there[to] {
			to = p.first[id] // nor is anybody waited for who is away
		}
	}
	if to == p.o.Instance || !p.there[to] || time.Since(p.since[id]) < least {
		return ""
	}
	return to
}
