package frontier

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// The ownership term and what follows from it, as pkg/queue has them; its
// TestTermsOfTheModel holds it to them.
const (
	modelTerm  = 10 * time.Second
	modelRival = modelTerm * 3 / 2
)

// modelOwner is a frontier that wants the one shard there is. What it does about ownership is
// written down here, after pkg/queue; what it grants, renews, expires and applies is the production
// shard, without its file.
type modelOwner struct {
	node
	name string

	// As in queue.Own: the revision watched, and since when.
	seen   uint64
	since  time.Duration
	tried  *read // what was written without an answer
	before *read // … and what it was to replace

	// As in queue.Ownership.
	record   queue.Record
	revision uint64
	until    time.Duration
	letGo    bool
	writing  bool
	mute     bool // its writes do not arrive, though all else does: the register has no leader, say

	s       *Shard // nil: not the owner
	applied int    // of the log
}

func (o *modelOwner) boot() {
	o.s, o.seen, o.tried = nil, 0, nil
	o.look()
}

func (o *modelOwner) die() { o.s = nil }

// read is what a question about the record brings.
type read struct {
	record   queue.Record
	revision uint64
}

// look is queue.Own: again and again until the shard is had.
func (o *modelOwner) look() {
	m := o.m
	again := func() { o.after(modelTerm/10, o.look) }
	call(&o.node, modelTerm/2, func() read { return read{m.record, m.revision} }, func(r read, ok bool) {
		if !ok {
			again()
			return
		}
		if o.seen != r.revision {
			o.seen, o.since = r.revision, o.clock() // the owner wrote it before
		}
		wait := modelRival
		if m.rules.rivalWaitsOneTerm {
			wait = modelTerm
		}
		free := r.revision == 0 || r.record.Clean || r.record.Owner == o.name || o.clock()-o.since >= wait
		prev := r
		if t := o.tried; t != nil && r.record.Owner == t.record.Owner && r.record.Epoch == t.record.Epoch {
			prev, free = *o.before, true // our own write, whose answer was lost
		}
		if !free {
			again()
			return
		}
		rec := r.record
		rec.Owner, rec.Clean = o.name, false
		rec.Epoch = max(r.record.Epoch+1, uint64(o.time().Unix()))
		sent := o.clock()
		call(&o.node, modelTerm/2, func() uint64 { return m.compareAndSet(rec, r.revision) }, func(rev uint64, ok bool) {
			switch {
			case !ok:
				o.tried, o.before = &read{record: rec}, &prev
				again()
			case rev == 0:
				again()
			default:
				o.record, o.revision, o.until, o.letGo, o.tried = rec, rev, sent+modelTerm, false, nil
				o.serve(prev.record, prev.revision != 0)
			}
		})
	})
}

// compareAndSet is the broker's. It returns the new revision, or 0.
func (m *world) compareAndSet(r queue.Record, revision uint64) uint64 {
	if m.revision != revision {
		return 0
	}
	if m.revision != 0 && (r.Epoch < m.record.Epoch || r.Epoch == m.record.Epoch && r.Owner != m.record.Owner) {
		m.violation("epoch %d of %s after epoch %d of %s", r.Epoch, r.Owner, m.record.Epoch, m.record.Owner)
	}
	if r.Epoch != m.record.Epoch {
		for _, o := range m.owners {
			if o.up && o.s != nil && o.valid() && o.name != r.Owner {
				m.violation("%s took the shard while %s may still act", r.Owner, o.name)
			}
		}
	}
	m.record = r
	m.revision++
	return m.revision
}

// valid is Ownership.Valid.
func (o *modelOwner) valid() bool {
	if o.m.rules.deposedAnswers {
		return true
	}
	return !o.letGo && o.clock() < o.until
}

// acted notes that the owner has done what only one may do, and checks that it was that one.
func (o *modelOwner) acted() {
	if r := o.m.record; r.Clean || r.Owner != o.name || r.Epoch != o.s.Ledger.Epoch {
		o.m.violation("%s acts in epoch %d, the shard is %s's in epoch %d (let go: %v)", o.name, o.s.Ledger.Epoch, r.Owner, r.Epoch, r.Clean)
	}
}

// snapshot is a checkpoint: what it says of the hosts, where in the log, and at hand-over of
// outstanding visits.
type snapshot struct {
	applied int
	at      time.Time // by the clock of who made it
	hosts   []hosts.Host
	visits  []hosts.Visit
	visitN  uint64
}

// modelMetrics serves all shards: counters are not looked at here.
var modelMetrics = store.NewMetrics(nil)

// modelShard makes a shard without a file. Each host has one auxiliary request, granted at each
// visit and never done: that is all the work there is, and it needs no store.
func (o *modelOwner) modelShard() *Shard {
	j := judge.Judge{Spec: crawl.Spec{Delay: 200 * time.Millisecond}}
	s := newShard(0, "", j, slog.New(slog.DiscardHandler))
	s.Ledger.Epoch, s.Ledger.Valid = o.record.Epoch, o.valid
	s.Ledger.Budget, s.Ledger.Metrics, s.Visits.Notify = &budget.Budget{}, modelMetrics, make(chan struct{}, 1)
	for i, w := range o.m.hosts {
		h := &hosts.Host{ID: store.HostID(i), Name: canon.Host(w.name), Pace: hosts.Pace{Private: true}, At: -1}
		h.Aux = []crawl.AuxRequest{{Kind: crawl.AuxRobots}}
		h.Origins = []hosts.Origin{{RobotsTxt: hosts.RobotsTxt{HasDelay: true, Copy: crawl.RobotsParsed, CrawlDelay: w.delay}}}
		// No two at the same time: their order would be a map's, and the run not repeatable.
		h.Due = time.Unix(0, int64(i+1))
		s.Ledger.Show(h)
	}
	return s
}

// serve begins with the shard that was just taken from prev: from its checkpoint, if there
// is one, and the log.
func (o *modelOwner) serve(prev queue.Record, was bool) {
	m := o.m
	clean := !was || prev.Clean
	switch {
	case was && prev.Clean:
		m.stats.handovers++
	case prev.Owner == o.name:
		m.stats.again++
	case was:
		m.stats.takeovers++
	}
	o.s, o.applied, o.writing = o.modelShard(), 0, false
	s := o.s
	if prev.Checkpoint != "" {
		n, _ := strconv.Atoi(prev.Checkpoint)
		o.restore(m.checkpoints[n], clean)
	}
	for _, h := range s.Ledger.Hosts {
		s.Visits.Reschedule(h, o.time())
	}
	o.renewOwnership(modelTerm / 3)
	o.expire()
	o.poll(func() { o.catchUp(clean) })
}

// restore takes over a checkpoint; the visits in it only if they are all there are.
func (o *modelOwner) restore(c snapshot, clean bool) {
	s, now := o.s, o.time()
	shift := now.Sub(c.at) // no two clocks agree: what was left to wait is waited from now on
	for i := range c.hosts {
		h := s.Ledger.Hosts[c.hosts[i].Name]
		h.Due, h.Delay, h.Last, h.Fetched = c.hosts[i].Due.Add(shift), c.hosts[i].Delay, c.hosts[i].Last, c.hosts[i].Fetched
		if h.Reported = c.hosts[i].Reported; o.m.rules.reportedNotCarried {
			h.Reported.Requests = 0
		}
	}
	o.applied, s.Ledger.VisitN = c.applied, c.visitN
	if !clean || o.m.rules.visitsNotCarried {
		return
	}
	for _, v := range c.visits {
		o.m.stats.carried++
		v.Host = s.Ledger.Hosts[v.Host.Name]
		v.Until = now.Add(times.OwnerLease)
		v.Host.Visit = &v
		s.Visits.Outstanding[v.ID] = &v
	}
}

// catchUp is shard.catchUp by the owner's own clock.
func (o *modelOwner) catchUp(clean bool) {
	s, now := o.s, o.time()
	if s.Ledger.Phase.Read {
		return
	}
	found := store.StartLease
	if clean {
		found = store.StartClean
	}
	if s.Ledger.Phase.CaughtUp(found, now) == store.StartClean {
		return
	}
	if o.m.rules.noQuiet {
		s.Ledger.Phase.Until = now
	}
	if !o.m.rules.noDelayAfterQuiet {
		s.JustVisited(s.Ledger.Phase.Until)
	}
}

// handOverPage lets go of the shard in order: nothing is granted or renewed any more, then the
// checkpoint with the outstanding visits, then the record.
func (o *modelOwner) handOver() {
	s := o.s
	if s == nil || o.letGo || !s.Ledger.Phase.Read || o.clock() >= o.until {
		return
	}
	o.letGo = true
	c := snapshot{applied: o.applied, at: o.time(), visitN: s.Ledger.VisitN}
	for _, h := range s.Ledger.Hosts {
		c.hosts = append(c.hosts, *h)
	}
	for _, v := range s.Visits.Outstanding {
		c.visits = append(c.visits, *v)
	}
	slices.SortFunc(c.visits, func(a, b hosts.Visit) int { return int(a.ID.N) - int(b.ID.N) })
	o.m.checkpoints = append(o.m.checkpoints, c)
	name := strconv.Itoa(len(o.m.checkpoints) - 1)
	began := o.clock()
	done := func() {
		o.s, o.seen = nil, 0
		o.after(3*time.Second, o.look) // others first
	}
	var release, failed func()
	release = func() {
		if o.s != s { // lost meanwhile
			return
		}
		if o.writing { // a renewal under way ends first
			o.after(10*time.Millisecond, release)
			return
		}
		r := o.record
		r.Clean, r.Previous, r.Checkpoint = true, r.Checkpoint, name
		o.write(r, done, failed)
	}
	failed = func() {
		if o.clock()-began >= modelTerm {
			done()
			return
		}
		o.after(modelTerm/20, release)
	}
	release()
}

// write is Ownership.rewrite, when prepared for a revision of its own that it has not heard of.
func (o *modelOwner) write(r queue.Record, written, failed func()) {
	m, s := o.m, o.s
	type answer struct {
		revision uint64
		now      queue.Record
		latest   uint64
		lost     bool
	}
	sent, revision := o.clock(), o.revision
	o.writing = true
	call(&o.node, modelTerm/3, func() answer {
		if o.mute {
			return answer{lost: true}
		}
		rev := m.compareAndSet(r, revision)
		return answer{rev, m.record, m.revision, false}
	}, func(a answer, ok bool) {
		if o.s != s {
			return
		}
		o.writing = false
		switch {
		case !ok || a.lost:
			failed()
		case a.revision != 0:
			o.record, o.revision = r, a.revision
			o.until = sent + modelTerm
			written()
		case a.now.Owner == o.name && a.now.Epoch == o.record.Epoch:
			// Our own, whose answer was lost.
			o.record, o.revision = a.now, a.latest
			o.write(r, written, failed)
		case m.rules.deposedAnswers:
		default: // lost
			o.s, o.seen = nil, 0
			o.after(time.Second, o.look)
		}
	})
}

func (o *modelOwner) renewOwnership(after time.Duration) {
	s := o.s
	o.after(after, func() {
		if o.s == s && !o.letGo {
			o.write(o.record, func() { o.renewOwnership(modelTerm / 3) }, func() { o.renewOwnership(modelTerm / 20) })
		}
	})
}

// expire is keepCommitted's part of it.
func (o *modelOwner) expire() {
	s := o.s
	o.after(store.CommitEvery, func() {
		if o.s != s {
			return
		}
		now := o.time()
		before := maps.Clone(s.Visits.Outstanding)
		due := map[*hosts.Host]time.Time{}
		for _, v := range before {
			due[v.Host] = v.Host.Due
		}
		s.Visits.Expire(now)
		o.m.stats.expired += len(before) - len(s.Visits.Outstanding)
		s.Visits.Expired = nil
		if o.m.rules.noDelayAfterExpiry {
			for h, t := range due {
				if h.Visit == nil {
					h.Due = t
					s.Visits.Reschedule(h, now)
				}
			}
		}
		o.expire()
	})
}

// follow applies the log up to n.
func (o *modelOwner) follow(n int) func() {
	return func() {
		if o.s == nil {
			return
		}
		for ; o.applied < n; o.applied++ {
			e := &o.m.log[o.applied]
			if o.m.rules.anyOutcomeFrees {
				if h := o.s.Ledger.Hosts[e.outcome.Host]; h.Visit != nil {
					o.s.Visits.EndVisit(h.Visit)
				}
			}
			out := e.outcome
			if o.m.rules.partialFrees {
				out.Partial = false
			}
			if h := o.s.Ledger.Hosts[out.Host]; o.m.rules.reportedAddsUp && e.visit == h.Last {
				h.Reported.Requests = 0
			}
			if err := o.s.Outcomes.Apply(&crawl.Event{Visit: e.visit, Outcome: &out}, o.time()); err != nil {
				panic(err)
			}
		}
	}
}

// counted checks how many requests the owner's books have of each host: those the log tells of,
// each once. Of a visit that tells of itself after a newer one has, what comes then is left out.
func (o *modelOwner) counted() {
	if o.s == nil {
		return
	}
	last, sums := map[canon.Host]crawl.VisitID{}, map[canon.Host]map[crawl.VisitID]int{}
	for i := range o.m.log[:o.applied] {
		e := &o.m.log[i]
		host := e.outcome.Host
		if sums[host] == nil {
			sums[host] = map[crawl.VisitID]int{}
		}
		if e.visit.Compare(last[host]) >= 0 {
			last[host] = e.visit
			sums[host][e.visit] = max(sums[host][e.visit], e.outcome.Requests)
		}
	}
	for _, w := range o.m.hosts {
		sum := 0
		for _, n := range sums[canon.Host(w.name)] {
			sum += n
		}
		if got := int(o.s.Ledger.Hosts[canon.Host(w.name)].Fetched); got != sum || got > w.sent {
			o.m.violation("%s counts %d requests to %s; its log tells of %d, and %d were sent", o.name, got, w.name, sum, w.sent)
		}
	}
}

// poll asks for what the log holds now and then, since what the broker tells may be lost.
func (o *modelOwner) poll(then func()) {
	m, s := o.m, o.s
	call(&o.node, 2*time.Second, func() int { return len(m.log) }, func(n int, ok bool) {
		if o.s != s {
			return
		}
		if ok {
			o.follow(n)()
			then()
		}
		o.after(2*time.Second, func() {
			if o.s == s {
				o.poll(then)
			}
		})
	})
}

// take answers a fetcher's request for a visit, which waits for a while when
// nothing is due (match.go).
func (o *modelOwner) take(waiting time.Duration, reply func([]crawl.Visit)) {
	if o.s == nil {
		reply(nil)
		return
	}
	now := o.time()
	outstanding, _, err := o.s.Visits.Grant(1, schedule.MaxGrantBytes, now)
	if err != nil {
		panic(err)
	}
	for _, v := range outstanding {
		o.m.stats.visits++
		o.acted()
		o.shorten(v.ID)
	}
	if len(outstanding) > 0 || waiting >= grantWait {
		reply(outstanding)
		return
	}
	wait := grantWait - waiting
	if due := o.s.Visits.NextDue(now); !due.IsZero() {
		wait = min(wait, max(due.Sub(now), time.Millisecond))
	}
	if !o.s.Ledger.Phase.Read {
		wait = min(wait, time.Millisecond) // catchUp wakes whoever waits
	}
	o.after(wait, func() { o.take(waiting+wait, reply) })
}

// renew answers a fetcher's request for more time. Who may not act is silent: it does not know
// what the owner knows.
func (o *modelOwner) renew(id crawl.VisitID, reply func(crawl.Renewed)) {
	if o.s == nil || !o.valid() {
		return
	}
	r := o.s.Visits.Renew([]crawl.VisitID{id}, o.time())
	if o.m.rules.unknownRenewed && o.valid() {
		r.Lost = nil
	}
	if len(r.Lost) == 0 {
		o.acted()
		o.shorten(id)
	}
	reply(r)
}

// shorten takes the two percent from a lease that the owner counts.
func (o *modelOwner) shorten(id crawl.VisitID) {
	if v := o.s.Visits.Outstanding[id]; v != nil && o.m.rules.noTwoPercent {
		v.Until = v.Until.Add(times.Lease - times.OwnerLease)
	}
}
