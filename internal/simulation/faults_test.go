package simulation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet/broker"
)

// faults is the plan of a run: what goes wrong when.
type faults struct {
	w *world

	mu     sync.Mutex // guards the fields below
	points []*pointFault
	dead   []death
	ended  bool // no more faults
	// The times in which fetchers could not publish what they knew.
	outages []outage
	times   []time.Time // of the beginnings and the ends of all faults
	web     int         // how often the web was cut off or its connections were reset
	disks   int         // how many disks of frontiers were lost
	// how often indexers were killed, stopped or cut off, so that page stores may count as lost
	indexers int
	// how often the broker lost messages
	rollbacks int
}

// pointFault is a fault at the n-th time that a service reaches a point.
type pointFault struct {
	role, point string
	service     int
	n           int // how many times remain
	what        string
	restart     time.Duration // after a kill, or how long a cut lasts
	loses       bool          // its disk, when it is killed
	dies        bool          // when a cut ends
}

// outage is a time in which a fetcher was cut off, or since which it has been dead. Without a
// fetcher it is a time whose messages the broker has lost.
type outage struct {
	l        *life
	from, to time.Time // zero while it lasts
}

// off records that a fetcher is cut off, or killed, from now on.
func (f *faults) off(l *life) {
	if l.s.has("indexer") {
		f.indexersAway()
	}
	if !l.s.has("fetcher") {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.outages {
		if o.l == l && o.to.IsZero() {
			return // it was cut off before it was killed
		}
	}
	f.outages = append(f.outages, outage{l: l, from: time.Now()})
}

// indexersAway records that an indexer is away.
func (f *faults) indexersAway() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.indexers++
}

// on records that a fetcher is connected again.
func (f *faults) on(l *life) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.outages {
		if o := &f.outages[i]; o.l == l && o.to.IsZero() {
			o.to = time.Now()
		}
	}
}

// silent reports whether what a fetcher learned at one time may have been unknown to all others at
// a later time: it was cut off or dead at the first time, or shortly after it, and still at the
// second; or the broker has lost the messages of the first time.
func (f *faults) silent(l *life, at, until time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.outages {
		if o.l == nil { // the broker lost messages
			if !at.After(o.to) && o.from.Before(at.Add(publishing)) {
				return true
			}
		} else if o.l == l && o.from.Before(at.Add(publishing)) && (o.to.IsZero() || until.Before(o.to.Add(publishing))) {
			return true
		}
	}
	return false
}

// publishing is the longest time until what was read is published and applied, if nothing goes
// wrong.
const publishing = 250 * ms

// happened records that a fault begins or ends now.
func (f *faults) happened() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times = append(f.times, time.Now())
}

// undisturbed reports whether no fault happened in a period or in the minute before it: no cut
// lasts longer than that.
func (f *faults) undisturbed(from, to time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.times {
		if t.After(from.Add(-time.Minute)) && t.Before(to) {
			return false
		}
	}
	return true
}

// death is a service that was killed at a point and will be started again.
type death struct {
	l     *life
	after time.Duration
	loses bool // its disk
}

// event is something that the goroutine of the test does at a time.
type event struct {
	at time.Time
	do func()
}

// has reports whether a service does what a role does.
func (s *service) has(role string) bool {
	return s.role == role || s.role == "crawl" && role != "feeder"
}

// pointsOf are the points at which a service can be ended, by role.
var pointsOf = map[string][]string{
	"frontier": {"commit frontier-", "committed frontier-", "send", "sent"},
	"fetcher":  {"append", "appended", "send pages", "sent pages"},
	"indexer":  {"commit pages-", "committed pages-", "acknowledge", "commit search-", "committed search-"},
	"crawl": {"commit frontier-", "committed frontier-", "append", "appended", "send pages", "sent pages",
		"commit pages-", "committed pages-", "acknowledge", "commit search-", "committed search-"},
	"feeder": {"read", "write", "take", "dead", "ack", "sweep"},
}

// plan adds a fault to those that are planned. Services may be running.
func (f *faults) plan(p *pointFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.points = append(f.points, p)
}

// plan makes a plan of faults.
func (w *world) plan() {
	r := w.r
	f := w.faults
	for range 1 + r.IntN(14) {
		at := time.Duration(r.Int64N(int64(60 * time.Second)))
		k := r.IntN(20)
		if w.one {
			k = oneProcess[k]
		}
		switch k {
		case 0, 1, 2, 15, 16, 17: // a kill at a point
			s := w.all[r.IntN(len(w.all))]
			all := pointsOf[s.role]
			p := &pointFault{role: s.role, service: s.n, point: all[r.IntN(len(all))], n: times(r), what: "kill", restart: away(r, s), loses: s.role == "frontier" && r.IntN(6) == 0}
			f.plan(p)
			w.note("plan: kill %s-%d at %q, time %d; back after %v; its disk is lost: %v", p.role, p.service, p.point, p.n, p.restart, p.loses)
		case 3, 18:
			// A disk that is full for one commit, or a message whose arrival is not confirmed.
			s := w.all[r.IntN(len(w.all))]
			all := pointsOf[s.role]
			p := &pointFault{role: s.role, service: s.n, point: all[r.IntN(len(all))], n: times(r), what: "error"}
			if slices.Contains(pointsOf["fetcher"], p.point) || s.has("indexer") && strings.HasPrefix(p.point, "committed") {
				// A fetcher drops the visit, as when it is killed. A commit that was carried out
				// does not fail.
				continue
			}
			f.plan(p)
			w.note("plan: %s-%d has an error at %q, time %d", p.role, p.service, p.point, p.n)
		// The connection to the broker is cut at a point, and the process may be killed when the
		// cut ends
		case 4, 14, 19:
			s := w.all[r.IntN(len(w.all))]
			all := pointsOf[s.role]
			p := &pointFault{role: s.role, service: s.n, point: all[r.IntN(len(all))], n: times(r), what: "cut", restart: pause(r), dies: r.IntN(2) == 0}
			f.plan(p)
			w.note("plan: cut %s-%d off at %q, time %d, for %v; then it is killed: %v", p.role, p.service, p.point, p.n, p.restart, p.dies)
		case 5, 6:
			s := w.all[r.IntN(len(w.all))]
			back := away(r, s)
			loses := s.role == "frontier" && r.IntN(3) == 0 || s.role == "indexer" && r.IntN(4) == 0
			w.later(at, func() {
				if s.life == nil || !s.life.kill() {
					return
				}
				w.note("%s is killed; its disk is lost: %v", s.life, loses)
				s.over()
				if loses {
					s.loseDisk()
				}
				w.later(back, s.start)
			})
		case 7:
			s, back := w.all[r.IntN(len(w.all))], pause(r)
			w.later(at, func() {
				if s.life == nil || s.life.isDead() {
					return
				}
				s.stop()
				w.later(back, s.start)
			})
		case 8, 9, 12, 13:
			s, back := w.all[r.IntN(len(w.all))], pause(r)
			if k >= 12 { // a fetcher, for longer than a lease
				for s.role != "fetcher" {
					s = w.all[r.IntN(len(w.all))]
				}
				back = time.Duration(9+r.IntN(15)) * time.Second
			}
			w.later(at, func() {
				if s.life == nil {
					return
				}
				l := s.life
				w.note("%s is cut off for %v", l, back)
				l.cut()
				w.later(back, func() { l.connect() })
			})
		case 10:
			long := time.Duration(r.Int64N(int64(20 * time.Second)))
			kind := r.IntN(3)
			w.later(at, func() {
				at := w.web.Addr()
				f.web++
				f.happened()
				switch kind {
				case 0:
					w.note("all connections to the web are reset")
					w.net.Reset(at)
				case 1:
					w.note("the web is cut off for %v", long)
					w.net.Cut(at, true)
					w.later(long, func() { w.net.Cut(at, false) })
				case 2:
					w.note("the web is slow for %v", long)
					w.net.Slow(at, 2000)
					w.later(long, func() { w.net.Slow(at, 0) })
				}
			})
		case 11:
			lost := time.Duration(r.IntN(1000)) * ms
			if r.IntN(2) == 0 {
				w.later(at, func() { w.restartBroker("", time.Time{}) })
				break
			}
			w.later(at, func() {
				copied := time.Now()
				synctest.Wait()
				dir := filepath.Join(w.dir, fmt.Sprint("nats-", at))
				if err := copyDir(w.natsDir, dir); err != nil {
					w.t.Error(err)
				}
				w.later(lost, func() { w.restartBroker(dir, copied) })
			})
		}
	}
}

// twice makes some messages arrive a second time, up to half a minute later and therefore after
// other messages.
func (w *world) twice() {
	if w.r.IntN(2) == 0 {
		return
	}
	part, r := 0.02+0.2*w.r.Float64(), rand.New(rand.NewPCG(w.seed, 2))
	w.note("%.0f %% of the messages arrive twice", 100*part)
	names := crawl.Names(w.spec.Name)
	var mu sync.Mutex // guards r
	again := func(m *nats.Msg) {
		mu.Lock()
		hit, after := r.Float64() < part, time.Duration(r.Int64N(int64(30*time.Second)))
		if r.IntN(2) == 0 {
			after /= 30
		}
		mu.Unlock()
		w.faults.mu.Lock()
		hit = hit && !w.faults.ended
		w.faults.mu.Unlock()
		if m.Header.Get("Copy") != "" || !hit {
			return
		}
		w.copies.Add(1)
		time.AfterFunc(after, func() {
			defer w.copies.Add(-1)
			if err := w.q.NC.PublishMsg(&nats.Msg{Subject: m.Subject, Data: m.Data, Header: nats.Header{"Copy": {"1"}}}); err != nil {
				w.note("a copy is not sent: %v", err)
			}
		})
	}
	for i := range w.spec.Shards {
		for _, subject := range []string{names.EventsSubject(i), names.PagesSubject(i)} {
			if _, err := w.q.NC.Subscribe(subject, again); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// restartBroker restarts the NATS server, with the files of a directory unless that is "": what was
// acknowledged after they were copied is lost, as after a power cut. All connections are cut
// before, because the server sleeps with a lock held while it shuts down: a request at that time
// would block and keep virtual time from advancing.
func (w *world) restartBroker(dir string, copied time.Time) {
	w.faults.happened()
	w.note("the broker restarts; what it acknowledged last is lost: %v", dir != "")
	lines := []*broker.Line{w.line}
	for _, s := range w.all {
		if s.life != nil {
			lines = append(lines, s.life.line)
		}
	}
	for _, l := range lines {
		l.Cut(true)
	}
	synctest.Wait()
	if dir == "" {
		if err := w.srv.Restart(); err != nil {
			w.t.Errorf("restart the broker: %v", err)
		}
	} else {
		w.srv.Shutdown()
		if err := errors.Join(os.RemoveAll(w.natsDir), copyDir(dir, w.natsDir)); err != nil {
			w.t.Error(err)
		}
		w.srv = broker.StartIn(w.t, w.natsDir)
		for _, l := range lines {
			l.Move(w.srv)
		}
		w.faults.mu.Lock()
		w.faults.outages = append(w.faults.outages, outage{from: copied, to: time.Now()})
		w.faults.mu.Unlock()
		w.faults.rollbacks++
	}
	w.line.Cut(false)
	for _, s := range w.all {
		if s.life != nil {
			s.life.connect() // also one that was cut off
		}
	}
}

// cut cuts a service off from the broker.
func (l *life) cut() {
	l.s.w.faults.off(l)
	l.s.w.faults.happened()
	l.mu.Lock()
	if l.cutSince.IsZero() {
		l.cutSince = time.Now()
	}
	l.mu.Unlock()
	l.line.Cut(true)
}

// connect ends a cut, unless the process is dead.
func (l *life) connect() {
	if !l.isDead() {
		l.mu.Lock()
		l.cutSince = time.Time{}
		l.mu.Unlock()
		l.line.Cut(false)
		l.s.w.faults.on(l)
		l.s.w.faults.happened()
	}
}

// times returns at which time of a point something goes wrong: usually an early one, because a
// crawl may be short.
func times(r *rand.Rand) int {
	if r.IntN(4) == 0 {
		return 1 + r.IntN(150)
	}
	return 1 + r.IntN(30)
}

// loseDisk makes the next life of a service begin without files.
func (s *service) loseDisk() {
	s.lost++
	s.rename()
	if s.role == "frontier" {
		s.w.faults.disks++
	}
}

// pause returns how long a service is cut off.
func pause(r *rand.Rand) time.Duration {
	switch r.IntN(3) {
	case 0:
		return time.Duration(r.IntN(1500)) * ms
	case 1:
		return time.Duration(1500+r.IntN(12000)) * ms
	}
	return time.Duration(12+r.IntN(30)) * time.Second
}

// away returns how long a killed process stays down. A frontier is often back while earlier leases
// still last: in its own directory it does not have to wait for anybody.
func away(r *rand.Rand, s *service) time.Duration {
	if s.role == "frontier" && r.IntN(2) == 0 {
		return time.Duration(r.IntN(2500)) * ms
	}
	return pause(r)
}

// at is called at each point of a life, from any goroutine.
func (f *faults) at(l *life, point string) error {
	f.mu.Lock()
	var hit *pointFault
	for _, p := range f.points {
		if !f.ended && p.n > 0 && p.role == l.s.role && p.service == l.s.n && matches(point, p.point) {
			if p.n--; p.n == 0 && hit == nil {
				hit = p
			}
		}
	}
	f.mu.Unlock()
	if hit == nil {
		return nil
	}
	switch hit.what {
	case "kill":
		f.w.note("%s is killed at %q", l, point)
		if l.kill() {
			f.mu.Lock()
			f.dead = append(f.dead, death{l: l, after: hit.restart, loses: hit.loses})
			f.mu.Unlock()
		}
		return errKilled
	case "cut":
		f.w.note("%s is cut off at %q", l, point)
		l.cut()
		f.w.laterFrom(hit.restart, func() {
			if !hit.dies {
				l.connect()
			} else if l.s.life == l && l.kill() {
				f.w.note("%s is killed while it is cut off", l)
				l.s.over()
				f.w.later(hit.restart, l.s.start)
			}
		})
		return nil
	}
	f.happened()
	f.w.note("%s has an error at %q", l, point)
	if strings.HasPrefix(point, "commit ") {
		return fmt.Errorf("simulated: %w", syscall.ENOSPC)
	}
	return errors.New("simulated: not known whether it was done")
}

func matches(point, pattern string) bool {
	return point == pattern || strings.HasSuffix(pattern, "-") && strings.HasPrefix(point, pattern)
}

// later makes the goroutine of the test do something later.
func (w *world) later(after time.Duration, do func()) { w.laterFrom(after, do) }

// laterFrom is later for any goroutine.
func (w *world) laterFrom(after time.Duration, do func()) {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	w.agenda = append(w.agenda, event{time.Now().Add(after), do})
}

// step does what is due, and returns how long nothing is due, at most a second.
func (w *world) step() time.Duration {
	f := w.faults
	for {
		f.mu.Lock()
		dead := f.dead
		f.dead = nil
		f.mu.Unlock()
		for _, d := range dead {
			if d.l.s.life == d.l {
				d.l.s.over()
				if d.loses {
					d.l.s.loseDisk()
				}
				w.later(d.after, d.l.s.start)
			}
		}
		f.mu.Lock()
		now := time.Now()
		next, wait := -1, time.Second
		for i, e := range w.agenda {
			if d := e.at.Sub(now); d < wait {
				next, wait = i, d
			}
		}
		if next < 0 || wait > 0 {
			f.mu.Unlock()
			return wait
		}
		do := w.agenda[next].do
		w.agenda = append(w.agenda[:next], w.agenda[next+1:]...)
		f.mu.Unlock()
		do()
	}
}

// quiet reports whether no more faults are planned and all services run.
func (w *world) quiet() bool {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	return w.copies.Load() == 0 && len(w.agenda) == 0 && len(w.faults.dead) == 0
}
