package fetcher

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// desk is a small frontier: it grants the visits that a test puts on it, and keeps what comes back.
type desk struct {
	t    testing.TB
	q    *queue.Conn
	kv   jetstream.KeyValue
	name crawl.Names

	mu       sync.Mutex
	pending  []crawl.Visit
	n        uint64
	events   []crawl.Event
	shards   []int    // of events
	read     []uint64 // up to where each shard's log was read
	pages    []crawl.Page
	renews   int
	lose     bool                            // answer renewals with Lost
	losing   func()                          // called before such an answer
	renewing []*nats.Subscription            // by shard
	deaf     bool                            // answer no renewals
	slow     time.Duration                   // wait before granting
	idle     time.Duration                   // between two requests for visits; 0: 20 ms
	generous bool                            // grant all visits, even if fewer were requested
	bodies   map[string][]byte               // robots.txt by digest
	seen     func(shard int, e *crawl.Event) // called with each event, in the reading goroutine
	takes    int
	stalled  string          // subject whose pages are not accepted
	stuck    []jetstream.Msg // of stalled
	paged    time.Time       // when the first pages were stored
	handing  atomic.Bool     // visits are being sent
	forgets  bool            // of events only outcomes and answers are kept
	// Whether a visit is granted that somebody asks for by the name of its host; nil: such a
	// request gets the next visit like any other.
	onDemand func(crawl.VisitRequest) bool
}

const deskOwner = "desk"

// virtual runs a test in a bubble of virtual time, with the network simnet.Of(t). Its clock begins
// at noon of 20 November 2026, because some directives have dates.
func virtual(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	simnet.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		f(t)
	})
}

// named is a test for one of many cases in a bubble: its reports begin with the case's name.
type named struct {
	testing.TB
	name string
}

func (n named) Errorf(format string, args ...any) {
	n.TB.Helper()
	n.TB.Errorf(n.name+": "+format, args...)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func newDesk(t testing.TB, shards int) *desk {
	t.Helper()
	_, q := broker.Open(t)
	return newDeskOn(t, q, "t", shards)
}

// newFarDesk is newDesk on a server to which each message takes a millisecond. So steps that are
// acknowledged one after the other have different times.
func newFarDesk(t testing.TB, shards int) *desk {
	t.Helper()
	s := broker.Start(t)
	line := farLine{s.InProcess(), simnet.New(simnet.Options{Latency: time.Millisecond, Window: 1 << 30})}
	q, err := queue.Dial(t.Context(), queue.Options{InProcess: line, User: s.User(), Password: s.Password()}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return newDeskOn(t, q, "t", shards)
}

// farLine leads to a NATS server over a network.
type farLine struct {
	to nats.InProcessConnProvider
	on *simnet.Net
}

func (l farLine) InProcessConn() (net.Conn, error) {
	ln, err := l.on.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	near, err := l.on.Dial(context.Background(), "tcp", ln.Addr().String())
	if err != nil {
		return nil, err
	}
	far, err := ln.Accept()
	if err != nil {
		return nil, err
	}
	server, err := l.to.InProcessConn()
	if err != nil {
		return nil, err
	}
	forward := func(to, from net.Conn) {
		io.Copy(to, from)
		to.Close()
	}
	go forward(server, far)
	go forward(far, server)
	return near, nil
}

// newDeskOn is newDesk on a server that others use as well.
func newDeskOn(t testing.TB, q *queue.Conn, name crawl.Names, shards int) *desk {
	t.Helper()
	d := &desk{t: t, q: q, name: name, bodies: make(map[string][]byte), read: make([]uint64, shards)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	var err error
	if d.kv, err = q.OpenBucket(ctx, d.name.Bucket(), 0); err != nil {
		t.Fatal(err)
	}
	for i := range shards {
		l, err := q.OpenLog(ctx, queue.LogConfig{Stream: d.name.EventsStream(i), Subject: d.name.EventsSubject(i), MaxBytes: 32 << 20})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			l.Follow(ctx, queue.Position{}, func(batch []queue.Entry) error {
				for _, e := range batch {
					d.event(i, e.Data)
					d.mu.Lock()
					d.read[i] = e.Seq
					d.mu.Unlock()
				}
				return nil
			})
		})
		d.renewing = append(d.renewing, d.subscribe(d.name.Renew(i), d.renew))
		d.subscribe(d.name.Robots(i), func(m *nats.Msg) {
			d.mu.Lock()
			defer d.mu.Unlock()
			m.Respond(d.bodies[string(m.Data)])
		})
	}
	_, err = q.OpenWork(ctx, queue.WorkConfig{Stream: d.name.PagesStream(), Subjects: []string{string(d.name) + ".pages.*"}, MaxBytes: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := q.JS.CreateConsumer(ctx, d.name.PagesStream(), jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	reading, err := pages.Consume(func(m jetstream.Msg) {
		d.mu.Lock()
		if meta, err := m.Metadata(); err == nil && d.paged.IsZero() {
			d.paged = meta.Timestamp
		}
		stuck := m.Subject() == d.stalled
		if stuck {
			d.stuck = append(d.stuck, m)
		}
		d.mu.Unlock()
		if !stuck {
			d.page(m.Data())
			m.Ack()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reading.Stop(); <-reading.Closed() })
	d.subscribe(d.name.VisitRequest(deskOwner), d.take)
	rec, _ := json.Marshal(queue.Record{Epoch: 1, Owner: deskOwner})
	if _, err := d.kv.Put(ctx, "frontier.0", rec); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) subscribe(subject string, f func(*nats.Msg)) *nats.Subscription {
	s, err := d.q.NC.Subscribe(subject, f)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { s.Unsubscribe() })
	return s
}

func (d *desk) take(m *nats.Msg) {
	t, err := crawl.DecodeVisitRequest(m.Data)
	if err != nil {
		d.t.Error(err)
	}
	d.mu.Lock()
	d.takes++
	var g crawl.Grants
	if t.Downloads && d.onDemand != nil {
		if d.onDemand(t) {
			d.n++
			g.Visits = []crawl.Visit{{ID: crawl.VisitID{Epoch: 1, N: d.n}, Host: t.Origin.Host, Delay: 500 * time.Millisecond, Lease: 10 * time.Second}}
		}
		t.Max = 0
	}
	for len(d.pending) > 0 && (len(g.Visits) < t.Max || d.generous) {
		g.Visits = append(g.Visits, d.pending[0])
		d.pending = d.pending[1:]
	}
	if len(g.Visits) == 0 {
		g.Wait = cmp.Or(d.idle, 20*time.Millisecond)
	}
	slow := d.slow
	d.mu.Unlock()
	if len(g.Visits) > 0 {
		d.handing.Store(true)
		time.Sleep(slow)
	}
	m.Respond(crawl.AppendGrants(nil, g))
}

func (d *desk) renew(m *nats.Msg) {
	r, err := crawl.DecodeRenew(m.Data)
	if err != nil {
		d.t.Error(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renews++
	if d.deaf {
		return
	}
	ans := crawl.Renewed{Lease: 10 * time.Second}
	if d.lose {
		if d.losing != nil {
			d.losing()
		}
		ans.Lost = r.Visits
	}
	m.Respond(crawl.AppendRenewed(nil, ans))
}

func (d *desk) event(shard int, data []byte) {
	e, err := crawl.DecodeEvent(data)
	if err != nil {
		d.t.Error(err)
		return
	}
	if d.seen != nil {
		d.seen(shard, &e)
	}
	if d.forgets {
		e.Links = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events, d.shards = append(d.events, e), append(d.shards, shard)
}

func (d *desk) page(data []byte) {
	pages, err := crawl.DecodePages(data)
	if err != nil {
		d.t.Error(err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range pages {
		p.Body = append([]byte(nil), p.Body...)
		d.pages = append(d.pages, p)
	}
}

// stall stops accepting the pages of a shard: after two messages its queue is full. clear accepts
// them again.
func (d *desk) stall(shard int) (clear func()) {
	d.t.Helper()
	ctx := d.t.Context()
	s, err := d.q.JS.Stream(ctx, d.name.PagesStream())
	if err != nil {
		d.t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.MaxMsgsPerSubject, cfg.DiscardNewPerSubject = 2, true
	if _, err := d.q.JS.UpdateStream(ctx, cfg); err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stalled = d.name.PagesSubject(shard)
	return func() {
		d.mu.Lock()
		stuck := d.stuck
		d.stalled, d.stuck = "", nil
		d.mu.Unlock()
		for _, m := range stuck {
			d.page(m.Data())
			m.Ack()
		}
	}
}

// fill fills a shard's log, so that further events wait. empty removes the events again.
func (d *desk) fill(shard int) (empty func()) {
	d.t.Helper()
	ctx := d.t.Context()
	s, err := d.q.JS.Stream(ctx, d.name.EventsStream(shard))
	if err != nil {
		d.t.Error(err)
		return func() {}
	}
	room := s.CachedInfo().Config
	full := room
	full.MaxMsgs, full.Discard = int64(s.CachedInfo().State.Msgs), jetstream.DiscardNew
	set := func(c jetstream.StreamConfig) {
		if _, err := d.q.JS.UpdateStream(ctx, c); err != nil {
			d.t.Error(err)
		}
	}
	set(full)
	return func() { set(room) }
}

// grant puts a visit on the desk and returns its number.
func (d *desk) grant(v crawl.Visit) crawl.VisitID {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	v.ID = crawl.VisitID{Epoch: 1, N: d.n}
	if v.Lease == 0 {
		v.Lease = 10 * time.Second
	}
	d.pending = append(d.pending, v)
	return v.ID
}

// ample is how much virtual time a test waits for what must come.
const ample = 10 * time.Minute

// leastWait is how much virtual time passes between two looks for an outcome.
const leastWait = 2 * time.Millisecond

// outcome waits for the end of a visit. Its results are those of all parts. What the visit
// published to other shards is known by then, too.
func (d *desk) outcome(id crawl.VisitID) crawl.Outcome {
	d.t.Helper()
	for end := time.Now().Add(ample); time.Now().Before(end); time.Sleep(leastWait) {
		d.mu.Lock()
		var results []crawl.Result
		for _, e := range d.events {
			if e.Visit == id && e.Outcome != nil {
				results = append(results, e.Outcome.Results...)
				if !e.Outcome.Partial {
					out := *e.Outcome
					out.Results = results
					d.mu.Unlock()
					d.catchUp()
					return out
				}
			}
		}
		d.mu.Unlock()
	}
	d.t.Fatalf("no outcome of visit %v", id)
	return crawl.Outcome{}
}

// catchUp waits until all that is in the logs now has been read. Each log is read separately, so
// one may be behind another.
func (d *desk) catchUp() {
	d.t.Helper()
	for i := range d.read {
		s, err := d.q.JS.Stream(context.Background(), d.name.EventsStream(i))
		if err != nil {
			d.t.Fatal(err)
		}
		last := s.CachedInfo().State.LastSeq
		for end := time.Now().Add(ample); ; time.Sleep(time.Millisecond) {
			d.mu.Lock()
			read := d.read[i]
			d.mu.Unlock()
			if read >= last {
				break
			}
			if time.Now().After(end) {
				d.t.Fatalf("the log of shard %d was read up to %d of %d", i, read, last)
			}
		}
	}
}

func (d *desk) facts() (all []crawl.Robots) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		all = append(all, e.Robots...)
	}
	return all
}

func (d *desk) links() map[canon.URL]crawl.Links {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[canon.URL]crawl.Links)
	for _, e := range d.events {
		for _, l := range e.Links {
			for _, u := range l.URLs {
				all[u] = l
			}
		}
	}
	return all
}

// pageOf waits for the page of a URL.
func (d *desk) pageOf(u canon.URL) crawl.Page {
	d.t.Helper()
	for end := time.Now().Add(ample); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		d.mu.Lock()
		for _, p := range d.pages {
			if p.URL == u {
				d.mu.Unlock()
				return p
			}
		}
		d.mu.Unlock()
	}
	d.t.Fatalf("no page of %s", u)
	return crawl.Page{}
}

func unpack(t testing.TB, p crawl.Page) []byte {
	t.Helper()
	if p.Encoding == crawl.EncodingNone {
		return p.Body
	}
	b, err := s2.Decode(nil, p.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testSpec is a crawl of anything at private addresses, where every name leads to addr.
func testSpec(shards int, addr string) crawl.Spec {
	s := crawl.Spec{Name: "t", Shards: shards, Scope: "any", MaxDepth: -1, Agent: "curtsy", AllowPrivate: true}
	if addr != "" {
		s.Resolve = []string{"*=" + addr}
	}
	return s
}

// startFetcher runs a fetcher until the test ends, or stop is called.
func startFetcher(t testing.TB, d *desk, spec crawl.Spec, opt Options) (f *Fetcher, stop func()) {
	t.Helper()
	f = newFetcher(t, d.q, spec, opt)
	return f, runFetcher(t, f)
}

// newFetcher makes a fetcher on the network of the test.
func newFetcher(t testing.TB, q *queue.Conn, spec crawl.Spec, opt Options) *Fetcher {
	t.Helper()
	if opt.Log == nil {
		opt.Log = quiet()
	}
	if opt.Dial == nil {
		opt.Dial = simnet.Of(t).Dial
	}
	f, err := New(q, spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func runFetcher(t testing.TB, f *Fetcher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
			if n := f.Violations(); n != 0 {
				t.Errorf("%d requests had to be stopped at the last moment", n)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func mustURL(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// visitTo is a visit of the given URLs, all of one host.
func visitTo(t testing.TB, urls ...string) crawl.Visit {
	t.Helper()
	var v crawl.Visit
	for _, s := range urls {
		u := mustURL(t, s)
		v.Host = u.Host()
		v.URLs = append(v.URLs, crawl.VisitURL{URL: u})
	}
	return v
}

func hostN(i int) canon.Host { return canon.Host(fmt.Sprintf("h%d.example", i)) }
