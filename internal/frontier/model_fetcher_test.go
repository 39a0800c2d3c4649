package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// modelFetcher carries out visits like internal/fetcher does (take.go, lease.go, renew.go,
// gate.go), which cannot be imported here: services do not import each other.
type modelFetcher struct {
	node
	// The gate: when the last request to a host ended, by the clock of the fetcher
	ends   map[int]time.Duration
	visits map[*modelVisit]bool
}

// modelVisit is a visit that is carried out.
type modelVisit struct {
	f        *modelFetcher
	id       crawl.VisitID
	host     int
	delay    time.Duration
	until    time.Duration // the lease, by the clock of the fetcher
	over     bool          // no more requests
	left     int           // requests to send
	requests int
	lastEnd  time.Duration
	open     *request
	reported bool // the outcome is in the log
}

func (f *modelFetcher) boot() {
	f.ends, f.visits = map[int]time.Duration{}, map[*modelVisit]bool{}
	for range modelSlots {
		f.take()
	}
}

// die closes the connections, like the kernel does.
func (f *modelFetcher) die() {
	for v := range f.visits {
		if v.open != nil {
			f.m.end(v.open)
		}
	}
}

// excuse excuses requests whose lease ended while their fetcher was unable to act.
func (f *modelFetcher) excuse() {
	for v := range f.visits {
		if v.open != nil {
			f.m.excuse(v.open)
		}
	}
}

// take requests work from an owner with one free slot; often from the owner in the record,
// sometimes from a former one.
func (f *modelFetcher) take() {
	m := f.m
	o := m.owners[m.rng.IntN(len(m.owners))]
	for _, x := range m.owners {
		if x.name == m.record.Owner && m.rng.IntN(3) > 0 {
			o = x
		}
	}
	sent := f.clock()
	callNodes(&f.node, m.weather.patience, []*node{&o.node}, func(_ int, reply func([]crawl.Visit)) { o.take(0, reply) }, func(visits []crawl.Visit, ok bool) {
		if len(visits) == 0 {
			f.after(m.between(5*time.Millisecond, 500*time.Millisecond), f.take)
			return
		}
		job := &visits[0]
		v := &modelVisit{f: f, id: job.ID, delay: job.Delay, until: sent + job.Lease, left: 1 + m.rng.IntN(6)}
		if m.rules.leaseFromReceipt {
			v.until = f.clock() + job.Lease
		}
		for i, h := range m.hosts {
			if h.name == string(job.Host) {
				v.host = i
			}
		}
		f.visits[v] = true
		f.after(job.Lease/3, v.renew)
		v.watch()
		v.next()
	})
}

// alive does what lease.alive does.
func (v *modelVisit) alive() bool { return !v.over && v.f.clock() < v.until }

// leaseOver returns when, in true time, the lease ended.
func (v *modelVisit) leaseOver() time.Duration {
	return v.f.m.now - time.Duration(float64(v.f.clock()-v.until)/v.f.rate)
}

// watch does what lease.look does: it aborts a request in progress when the lease ends.
func (v *modelVisit) watch() {
	v.f.after(v.until-v.f.clock(), func() {
		switch {
		case v.over || v.reported:
		case v.alive():
			v.watch()
		case !v.f.m.rules.requestsOutliveLease:
			v.cut()
		}
	})
}

// cut ends the visit, and its request in progress.
func (v *modelVisit) cut() {
	if v.over {
		return
	}
	v.over = true
	if v.open != nil {
		v.f.m.end(v.open)
		v.ended()
	}
}

// next waits at the gate and sends the next request, or ends the visit.
func (v *modelVisit) next() {
	if v.left == 0 || !v.alive() {
		v.finish()
		return
	}
	wait := time.Duration(0)
	if end, ok := v.f.ends[v.host]; ok {
		wait = end + v.delay - v.f.clock()
	}
	v.f.after(wait, func() {
		if !v.alive() && !v.f.m.rules.leaseNotLookedAt {
			v.finish()
			return
		}
		v.request()
	})
}

func (v *modelVisit) request() {
	m := v.f.m
	r := m.begin(v)
	v.open = r
	v.left--
	v.requests++
	var d time.Duration
	switch k := m.rng.IntN(20); {
	case k < 12:
		d = m.between(10*time.Millisecond, 200*time.Millisecond)
	case k < 17:
		d = m.between(0, 2*time.Second)
	case k < 19:
		d = m.between(0, 8*time.Second)
	default:
		d = m.between(0, 30*time.Second)
	}
	life := v.f.life
	m.in(d, func() {
		m.end(r) // the server has finished, whether or not the connection is open
		v.f.do(life, func() {
			if v.open == r {
				v.ended()
			}
		})
	})
}

// ended records that no request is in progress any more.
func (v *modelVisit) ended() {
	v.open = nil
	v.lastEnd = v.f.clock()
	v.f.ends[v.host] = v.lastEnd
	switch v.f.m.rng.IntN(3) {
	case 0: // pages come fast
		v.next()
	// The visit waits until the report is published; the next request may be in progress meanwhile
	case 1:
		v.tell(true, func() {})
		v.next()
	default:
		v.tell(true, v.next)
	}
}

// finish publishes the end until the log has it.
func (v *modelVisit) finish() {
	v.over = true
	v.tell(false, func() {
		v.reported = true
		delete(v.f.visits, v)
		v.f.take()
	})
}

// tell publishes the progress of the visit, or its end, until the log has it.
func (v *modelVisit) tell(partial bool, then func()) {
	m, h := v.f.m, v.f.m.hosts[v.host]
	e := logged{v.id, crawl.Outcome{Host: canon.Host(h.name), Delay: v.delay, Requests: v.requests, Private: true, Partial: partial}}
	if v.requests > 0 {
		e.outcome.SinceEnd = v.f.clock() - v.lastEnd
	}
	var publish func()
	publish = func() {
		call(&v.f.node, 3*time.Second, func() bool { m.append(e); return true }, func(_, ok bool) {
			if !ok {
				publish() // the first may have arrived nevertheless
				return
			}
			then()
		})
	}
	publish()
}

// renew renews the lease, also while the outcome is being published.
func (v *modelVisit) renew() {
	if v.reported {
		return
	}
	m, sent := v.f.m, v.f.clock()
	var owners []*node
	for _, o := range m.owners {
		owners = append(owners, &o.node)
	}
	callNodes(&v.f.node, m.weather.patience, owners, func(i int, reply func(crawl.Renewed)) { m.owners[i].renew(v.id, reply) }, func(r crawl.Renewed, ok bool) {
		switch {
		case v.reported:
		case !ok:
			v.f.after(times.Lease/12, v.renew)
		case len(r.Lost) > 0:
			v.cut()
		default:
			if m.rules.leaseFromReceipt {
				sent = v.f.clock()
			}
			if v.alive() {
				v.until = max(v.until, sent+r.Lease)
			}
			v.f.after(r.Lease/3, v.renew)
		}
	})
}
