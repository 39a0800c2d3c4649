package frontier

import (
	"container/heap"
	"fmt"
	rand "math/rand/v2"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// world is one run of the model: virtual time, a register with compare-and-set, an event log,
// owners and fetchers with their own clocks, faults, and the web, which checks the requests.
// Everything happens in one goroutine in the order of time, so that a seed repeats a run exactly.
type world struct {
	rng     *rand.Rand
	rules   rules
	weather weather

	now    time.Duration // true time; no node can read it
	events eventHeap
	made   int

	// The broker: it does not fail, but connections to it do.
	record      queue.Record
	revision    uint64
	log         []logged
	checkpoints []snapshot

	owners   []*modelOwner
	fetchers []*modelFetcher
	hosts    []*webHost

	stats      modelStats
	violations []string
}

// weather is how rough a run is.
type weather struct {
	// Probabilities of a message: lost; up to 1 s late; up to 15 s late.
	loss, slow, late float64
	swift            time.Duration              // the maximum of the others
	patience         time.Duration              // how long a fetcher waits for an answer
	faults           time.Duration              // the mean time between two faults of one node
	owner, fetcher   troubles                   // the faults of each
	down, ice, split func(*world) time.Duration // durations: of a crash, a freeze, a cut connection
}

// troubles are faults by how often they come.
type troubles [6]int

const (
	crash = iota
	freeze
	cutOff
	lag      // all that it sends or receives arrives late
	handOver // only for owners, like mute: their writes do not arrive
	mute
)

// skies are weathers. Errors at the end of a lease or a term are noticed only if few other things
// go wrong.
var skies = []func(*world) weather{storm, silence, storm, restarts, storm, deafness}

func about(mean time.Duration) func(*world) time.Duration {
	return func(m *world) time.Duration { return m.exp(mean) }
}

// calm: nothing happens.
func calm(*world) weather {
	return weather{swift: 5 * time.Millisecond, patience: 2 * time.Second, faults: time.Hour}
}

// storm: everything may happen.
func storm(m *world) weather {
	some := func() troubles {
		return troubles{m.rng.IntN(5), m.rng.IntN(5), 1 + m.rng.IntN(5), m.rng.IntN(3), m.rng.IntN(5), m.rng.IntN(5)}
	}
	pick := func(d ...time.Duration) time.Duration { return d[m.rng.IntN(len(d))] }
	return weather{
		loss: 0.03 * m.rng.Float64(), slow: 0.2 * m.rng.Float64(), late: 0.03 * m.rng.Float64(), swift: 20 * time.Millisecond,
		// RequestTimeout may be long; it must not matter
		patience: pick(2*time.Second, 2*time.Second, 30*time.Second),
		faults:   m.between(10*time.Second, 90*time.Second), owner: some(), fetcher: some(),
		down: about(pick(time.Second, 8*time.Second)), ice: about(pick(time.Second, 12*time.Second)), split: about(pick(3*time.Second, 20*time.Second)),
	}
}

// silence: a fast network, and a register that receives writes of an owner late or not at all.
func silence(*world) weather {
	return weather{
		slow: 0.02, swift: time.Millisecond, patience: 2 * time.Second, faults: 20 * time.Second, owner: troubles{mute: 1, lag: 1},
		split: func(m *world) time.Duration { return m.between(5*time.Second, 20*time.Second) },
	}
}

// restarts: owners restart at once while fetchers receive nothing.
func restarts(*world) weather {
	return weather{
		swift: 5 * time.Millisecond, patience: 2 * time.Second, faults: 15 * time.Second, owner: troubles{crash: 1}, fetcher: troubles{cutOff: 1},
		down: about(50 * time.Millisecond), split: func(m *world) time.Duration { return m.between(5*time.Second, 15*time.Second) },
	}
}

// deafness: fetchers receive nothing for longer than a lease, and nothing else happens.
func deafness(*world) weather {
	return weather{
		swift: time.Millisecond, patience: 2 * time.Second, faults: 15 * time.Second, fetcher: troubles{cutOff: 1},
		split: func(m *world) time.Duration { return m.between(10*time.Second, 15*time.Second) },
	}
}

const (
	modelOwners   = 3
	modelFetchers = 3
	modelSlots    = 2
	modelLate     = 15 * time.Second
	modelDrift    = 0.015 // between the slowest clock and the fastest
)

type modelStats struct {
	runs, requests, visits, expired   int
	takeovers, handovers, again       int // unclean from another, clean, by the same owner
	carried, crashes, freezes, splits int
	excused                           int // of requests of frozen fetchers, which cannot be ended
}

func (s *modelStats) add(o modelStats) {
	s.runs++
	s.requests += o.requests
	s.visits += o.visits
	s.expired += o.expired
	s.takeovers += o.takeovers
	s.handovers += o.handovers
	s.again += o.again
	s.carried += o.carried
	s.crashes += o.crashes
	s.freezes += o.freezes
	s.splits += o.splits
	s.excused += o.excused
}

func newWorld(seed uint64, r rules, sky func(*world) weather) *world {
	m := &world{rng: rand.New(rand.NewPCG(seed, 4)), rules: r}
	m.weather = sky(m)
	for i, delay := range []time.Duration{time.Second, 200 * time.Millisecond, 3 * time.Second} {
		m.hosts = append(m.hosts, &webHost{name: fmt.Sprintf("h%d.example", i), delay: delay})
	}
	for i := range modelOwners {
		o := &modelOwner{name: "owner-" + strconv.Itoa(i)}
		o.node = m.node(o.boot, o.die)
		m.owners = append(m.owners, o)
	}
	for range modelFetchers {
		f := &modelFetcher{}
		f.node = m.node(f.boot, f.die)
		f.thaw = f.excuse
		m.fetchers = append(m.fetchers, f)
	}
	return m
}

// run starts all nodes and lets time pass. It stops at the first violation.
func (m *world) run(span time.Duration) {
	for _, o := range m.owners {
		o.start()
	}
	for _, f := range m.fetchers {
		f.start()
	}
	for _, o := range m.owners {
		m.plague(&o.node, m.weather.owner, o)
	}
	for _, f := range m.fetchers {
		m.plague(&f.node, m.weather.fetcher, nil)
	}
	for len(m.events) > 0 && len(m.violations) == 0 {
		e := heap.Pop(&m.events).(event)
		if e.at > span {
			break
		}
		m.now = e.at
		e.do()
	}
	for _, o := range m.owners {
		o.counted()
	}
}

func (m *world) violation(format string, args ...any) {
	m.violations = append(m.violations, fmt.Sprintf("%v: ", m.now)+fmt.Sprintf(format, args...))
}

// event is something that happens at a time.
type event struct {
	at time.Duration
	n  int // of two events at the same time the one made first comes first
	do func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }

func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].n < h[j].n
}

func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}

func (m *world) in(d time.Duration, do func()) {
	m.made++
	heap.Push(&m.events, event{m.now + max(d, 0), m.made, do})
}

// exp returns a random time with the given mean.
func (m *world) exp(mean time.Duration) time.Duration {
	return time.Duration(m.rng.ExpFloat64() * float64(mean))
}

func (m *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(m.rng.Int64N(int64(b-a)))
}

// node is a process on a machine of its own.
type node struct {
	m         *world
	rate      float64 // of its clock
	offset    time.Duration
	boot, die func()
	thaw      func() // before it continues after a freeze; may be nil
	up        bool
	// How often it was started: callbacks of an earlier life are ignored.
	life       int
	frozen     bool
	missed     []func() // while frozen
	deaf, dumb bool     // cut off from the broker, in one direction or both

	lateTo, lateFrom time.Duration // how much longer messages take
}

func (m *world) node(boot, die func()) node {
	return node{
		m: m, boot: boot, die: die, rate: 1 + modelDrift*(float64(m.rng.IntN(3))/2-0.5),
		offset: m.between(0, 48*time.Hour), // all clocks differ
	}
}

// clock returns the time of the node's own clock.
func (n *node) clock() time.Duration { return n.offset + time.Duration(float64(n.m.now)*n.rate) }

// time returns its wall clock.
func (n *node) time() time.Time { return time.Unix(1_750_000_000, 0).Add(n.clock()) }

// after does something d later by the node's own clock, if it still runs then.
func (n *node) after(d time.Duration, do func()) {
	life := n.life
	n.m.in(time.Duration(float64(d)/n.rate)+1, func() { n.do(life, do) })
}

func (n *node) do(life int, do func()) {
	switch {
	case !n.up || n.life != life:
	case n.frozen:
		n.missed = append(n.missed, func() { n.do(life, do) })
	default:
		do()
	}
}

func (n *node) start() {
	n.up, n.life = true, n.life+1
	n.boot()
}

// crash ends the process; another one is started on the machine later.
func (n *node) crash(down time.Duration) {
	n.m.stats.crashes++
	n.up, n.frozen, n.missed = false, false, nil
	n.die()
	n.m.in(down, n.start)
}

// freeze stops the process for a while. Then everything that it missed happens at once, in random
// order.
func (n *node) freeze(d time.Duration) {
	n.m.stats.freezes++
	n.frozen = true
	life := n.life
	n.m.in(d, func() {
		if n.life != life || !n.up {
			return
		}
		if n.thaw != nil {
			n.thaw()
		}
		n.frozen = false
		missed := n.missed
		n.missed = nil
		n.m.rng.Shuffle(len(missed), func(i, j int) { missed[i], missed[j] = missed[j], missed[i] })
		for _, do := range missed {
			do()
		}
	})
}

// plague makes faults happen to a node, again and again. o is the node's owner, nil for a fetcher.
func (m *world) plague(n *node, t troubles, o *modelOwner) {
	sum := 0
	for _, often := range t {
		sum += often
	}
	if sum == 0 {
		return
	}
	m.in(m.exp(m.weather.faults), func() {
		defer m.plague(n, t, o)
		if !n.up || n.frozen {
			return
		}
		kind, k := 0, m.rng.IntN(sum)
		for ; k >= t[kind]; kind++ {
			k -= t[kind]
		}
		w := &m.weather
		switch {
		case kind == crash:
			n.crash(w.down(m))
		case kind == freeze:
			n.freeze(min(w.ice(m), time.Minute))
		case kind == cutOff:
			m.stats.splits++
			way := m.rng.IntN(3)
			n.deaf, n.dumb = way != 0, way != 1
			m.in(w.split(m), func() { n.deaf, n.dumb = false, false })
		case kind == lag:
			d := m.between(modelTerm/4, modelTerm)
			if m.rng.IntN(2) == 0 {
				n.lateTo, n.lateFrom = d, 0
			} else {
				n.lateTo, n.lateFrom = 0, d
			}
			m.in(w.split(m), func() { n.lateTo, n.lateFrom = 0, 0 })
		case o == nil:
		case kind == handOver:
			o.handOver()
		case kind == mute:
			o.mute = true
			m.in(w.split(m), func() { o.mute = false })
		}
	})
}

// latency returns how long a message takes, one way.
func (m *world) latency() time.Duration {
	switch p := m.rng.Float64(); {
	case p < m.weather.late:
		return m.between(0, modelLate)
	case p < m.weather.late+m.weather.slow:
		return m.between(0, time.Second)
	}
	return m.between(m.weather.swift/20, m.weather.swift)
}

// toBroker does something at the broker after a message from n arrived there, if it does.
func (n *node) toBroker(do func()) {
	if n.dumb || n.m.rng.Float64() < n.m.weather.loss {
		return
	}
	n.m.in(n.lateTo+n.m.latency(), do)
}

// fromBroker does something at n, in the given life, after a message arrived there, if it does.
func (n *node) fromBroker(life int, do func()) {
	if n.m.rng.Float64() < n.m.weather.loss {
		return
	}
	n.m.in(n.lateFrom+n.m.latency(), func() {
		if !n.deaf {
			n.do(life, do)
		}
	})
}

// call lets the broker do something and returns the result or, after patience, that there was none;
// a later answer is ignored.
func call[A any](n *node, patience time.Duration, serve func() A, answer func(a A, ok bool)) {
	done, life := false, n.life
	settle := func(a A, ok bool) {
		if !done {
			done = true
			answer(a, ok)
		}
	}
	n.toBroker(func() {
		a := serve()
		n.fromBroker(life, func() { settle(a, true) })
	})
	n.after(patience, func() {
		var none A
		settle(none, false)
	})
}

// callNodes is call for other nodes, through the broker; the first answer counts.
func callNodes[A any](n *node, patience time.Duration, nodes []*node, serve func(i int, reply func(A)), answer func(a A, ok bool)) {
	done, life := false, n.life
	settle := func(a A, ok bool) {
		if !done {
			done = true
			answer(a, ok)
		}
	}
	n.toBroker(func() {
		for i, to := range nodes {
			to.fromBroker(to.life, func() {
				serve(i, func(a A) {
					to.toBroker(func() { n.fromBroker(life, func() { settle(a, true) }) })
				})
			})
		}
	})
	n.after(patience, func() {
		var none A
		settle(none, false)
	})
}

// logged is an event of the shard's log: the progress of a visit, or its end.
type logged struct {
	visit   crawl.VisitID
	outcome crawl.Outcome
}

// append adds to the log and notifies the readers.
func (m *world) append(e logged) {
	m.log = append(m.log, e)
	for _, o := range m.owners {
		o.fromBroker(o.life, o.follow(len(m.log)))
	}
}

// webHost is a web server, which knows exactly which requests it got and when.
type webHost struct {
	name    string
	delay   time.Duration
	sent    int // requests to it
	busy    *request
	ended   time.Duration // when the last request ended
	asked   bool
	longest time.Duration // without a request
}

// request is a request as the web server sees it.
type request struct {
	host  *webHost
	visit *modelVisit
	over  bool
}

// least is the true time in which the fastest clock advances by d. No process can keep a delay more
// exactly than its clock.
func least(d time.Duration) time.Duration {
	return time.Duration(float64(d)/(1+modelDrift/2)) - time.Microsecond
}

// begin is a request arriving at a web server; it checks politeness.
func (m *world) begin(v *modelVisit) *request {
	h := m.hosts[v.host]
	if b := h.busy; b != nil && !m.excuse(b) {
		m.violation("two requests at once to %s, by visits %v and %v", h.name, b.visit.id, v.id)
	}
	gap := m.now - h.ended
	if h.asked && gap < least(h.delay) {
		m.violation("%s asked %v after its last answer, its delay is %v (visit %v)", h.name, gap, h.delay, v.id)
	}
	h.longest = max(h.longest, gap)
	m.stats.requests++
	h.sent++
	h.busy, h.asked = &request{host: h, visit: v}, true
	return h.busy
}

// excuse reports whether r is of a frozen fetcher, which cannot close its connection although its
// lease has ended: the one case that is not promised. The request counts as ended when the lease
// did.
func (m *world) excuse(r *request) bool {
	over := r.visit.leaseOver()
	if r.over || !r.visit.f.frozen || over > m.now {
		return false
	}
	m.stats.excused++
	m.over(r, over)
	return true
}

// end is the end of a request for the web server: everything was sent, or the connection was
// closed.
func (m *world) end(r *request) {
	if !m.excuse(r) {
		m.over(r, m.now)
	}
}

func (m *world) over(r *request, at time.Duration) {
	if !r.over {
		r.over = true
		r.host.busy, r.host.ended = nil, max(r.host.ended, at)
	}
}
