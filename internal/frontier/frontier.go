package frontier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Options says how a frontier runs. The zero value of a field means what its comment says.
type Options struct {
	Dir      string                // where the shards' files are; required
	Instance string                // this frontier's name: unique to Dir, a NATS subject token; required
	Log      *slog.Logger          // nil: none
	Registry prometheus.Registerer // nil: no metrics
	Embedded bool                  // the only frontier and, with its fetchers, one process: no lease need be waited for
	CrawlLog io.Writer             // one JSON line per URL fetched or refused; must be safe for concurrent use; nil: none
	Shards   []int                 // which to own; nil: all
	Term     time.Duration         // of shard ownership (T of design §3.1); 0: 10 s
	// StopGrace is how long a shard goes on applying its log after Run is told to stop, so that the outcomes of visits that
	// end now are committed instead of replayed; 0: 6 s, a second more than fetchers take.
	StopGrace time.Duration
}

// Frontier is the service. Make it with New; Run it once.
type Frontier struct {
	q     *queue.Conn
	opt   Options
	names crawl.Names
	log   *slog.Logger
	met   *metrics

	takes chan takeRequest
	wake  chan struct{}
	since time.Time

	saving sync.Mutex // held while the copy of the spec is written
	mu     sync.Mutex // guards j and shards
	j      judge
	shards map[int]*shard
	served map[int]bool // shards this process has had open before

	logs   []*queue.Log
	budget *budget
}

// New checks the spec and the options. It touches neither disk nor network.
func New(q *queue.Conn, spec crawl.Spec, o Options) (*Frontier, error) {
	if o.Dir == "" || o.Instance == "" {
		return nil, errors.New("frontier: Options.Dir and Options.Instance are required")
	}
	if spec.Shards < 1 || spec.Shards > crawl.MaxShards {
		return nil, fmt.Errorf("frontier: %d shards: use 1 to %d", spec.Shards, crawl.MaxShards)
	}
	j, err := newJudge(spec)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Shards == nil {
		for i := range spec.Shards {
			o.Shards = append(o.Shards, i)
		}
	}
	if o.StopGrace == 0 {
		o.StopGrace = 6 * time.Second
	}
	f := &Frontier{
		q: q, opt: o, names: crawl.Names(spec.Name), log: o.Log, j: j, shards: map[int]*shard{}, served: map[int]bool{}, since: time.Now(),
		takes: make(chan takeRequest), wake: make(chan struct{}, 1),
	}
	f.budget = &budget{log: f.log.Error, limit: spec.MaxPages, maxBytes: spec.MaxBytes}
	f.met = newMetrics(o.Registry, f)
	return f, nil
}

// Run owns the shards and serves them until ctx ends; then it commits, releases them and returns nil. It blocks while
// the broker is away. It fails only on what waiting cannot mend.
func (f *Frontier) Run(ctx context.Context) error {
	if err := os.MkdirAll(f.opt.Dir, 0o700); err != nil {
		return err
	}
	if err := f.saveSpec(); err != nil {
		return err
	}
	spec := f.spec()
	for i := range spec.Shards {
		l, err := f.q.OpenLog(ctx, queue.LogConfig{Stream: f.names.EventsStream(i), Subject: f.names.EventsSubject(i)})
		if err != nil {
			return fmt.Errorf("frontier: event log %d: %w", i, err)
		}
		f.logs = append(f.logs, l)
	}
	kv, err := f.q.OpenBucket(ctx, f.names.Bucket(), 0)
	if err != nil {
		return fmt.Errorf("frontier: %w", err)
	}
	f.budget.open(ctx, kv)

	// Granting ends with ctx; the shards go on for a little so that the last outcomes are applied and committed.
	g, gctx := errgroup.WithContext(ctx)
	stop, err := f.serveQuestions(gctx)
	if err != nil {
		return err
	}
	defer stop()
	g.Go(func() error { return f.match(gctx) })
	for _, id := range f.opt.Shards {
		g.Go(func() error { return f.runShard(gctx, id, kv) })
	}
	return g.Wait()
}

func (f *Frontier) spec() crawl.Spec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.j.spec
}

// saveSpec keeps a copy beside the files, for reading them while nothing runs.
func (f *Frontier) saveSpec() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	b, err := json.MarshalIndent(f.spec(), "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(f.opt.Dir, specFile)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// SetSpec replaces the crawl's spec while it runs: scope, limits and pause take effect at once. Safe for concurrent use.
func (f *Frontier) SetSpec(spec crawl.Spec) error {
	j, err := newJudge(spec)
	if err != nil {
		return err
	}
	f.mu.Lock()
	if spec.Shards != f.j.spec.Shards {
		f.mu.Unlock()
		return fmt.Errorf("frontier: the number of shards of crawl %q is fixed at %d", spec.Name, f.j.spec.Shards)
	}
	f.j = j
	shards := make([]*shard, 0, len(f.shards))
	for _, s := range f.shards {
		shards = append(shards, s)
	}
	f.mu.Unlock()
	f.budget.setLimit(spec.MaxPages, spec.MaxBytes)
	for _, s := range shards {
		s.mu.Lock()
		s.judgeBy(j)
		s.mu.Unlock()
	}
	signal(f.wake)
	return f.saveSpec()
}

// runShard owns one shard for as long as it can, again and again: when the file or the log fails it opens both anew,
// and whatever was applied but not committed comes from the log once more.
func (f *Frontier) runShard(ctx context.Context, id int, kv jetstream.KeyValue) error {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		if err := f.awaitTurn(ctx, id, kv); err != nil {
			return nil // ctx ended
		}
		own, err := queue.Own(ctx, kv, fmt.Sprintf("frontier.%d", id), queue.OwnOptions{
			Owner: f.opt.Instance, Term: f.opt.Term, SameDir: true, Log: f.log,
		})
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			began := time.Now()
			err = f.serveShard(ctx, id, own)
			if ctx.Err() != nil {
				return err
			}
			if time.Since(began) > time.Minute {
				wait = time.Second
			}
		}
		if errors.Is(err, crawl.ErrVersion) || errors.Is(err, ErrFormat) {
			return err
		}
		f.log.Error("shard stopped; trying again", "shard", id, "error", err, "wait", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// awaitTurn waits while the shard's state lies in another frontier's directory. Until checkpoints travel between machines,
// taking such a shard would mean to begin it from the little that is left in its log.
func (f *Frontier) awaitTurn(ctx context.Context, id int, kv jetstream.KeyValue) error {
	for said := false; ; {
		if _, err := os.Stat(filepath.Join(f.opt.Dir, fileName(id))); err == nil {
			return nil
		}
		e, err := kv.Get(ctx, fmt.Sprintf("frontier.%d", id))
		var rec queue.Record
		if err == nil {
			err = json.Unmarshal(e.Value(), &rec)
		}
		if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && rec.Owner == f.opt.Instance {
			return nil
		}
		if !said && err == nil {
			f.log.Info("shard is another frontier's, with its state; waiting", "shard", id, "owner", rec.Owner)
			said = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// serveShard opens a shard's file and follows its log until ctx ends or something fails.
func (f *Frontier) serveShard(ctx context.Context, id int, own *queue.Ownership) error {
	f.mu.Lock()
	j := f.j
	f.mu.Unlock()
	s, err := openShard(f.opt.Dir, id, f.names, j, own.Epoch(), f.opt.Instance, own.Valid, f.log)
	if err != nil {
		return err
	}
	s.out, s.budget, s.met, s.notify = f.opt.CrawlLog, f.budget, f.met, f.wake
	start := f.startOf(s, own)

	// run outlives ctx: after it ends the log is still applied until no visit is outstanding, or the grace is over.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	g, gctx := errgroup.WithContext(run)
	g.Go(func() error { return own.Run(gctx) })
	g.Go(func() error { return s.keepCommitted(gctx) })
	g.Go(func() error { return s.sendOutbox(gctx, f.appendTo) })
	g.Go(func() error { return f.purge(gctx, s) })
	g.Go(func() error { return f.follow(gctx, s, start) })
	subs, err := f.serveLeases(s)
	if err != nil {
		cancel()
		return errors.Join(err, g.Wait(), s.close())
	}
	f.mu.Lock()
	f.shards[id], f.served[id] = s, true
	j = f.j
	f.mu.Unlock()
	s.mu.Lock()
	s.judgeBy(j) // the spec may have changed while the file was opened
	s.mu.Unlock()

	select {
	case <-gctx.Done():
	case <-ctx.Done():
		s.drain(gctx, f.opt.StopGrace)
	}
	f.mu.Lock()
	delete(f.shards, id)
	f.mu.Unlock()
	cancel()
	err = g.Wait()
	for _, sub := range subs {
		sub.Unsubscribe()
	}
	s.mu.Lock()
	idle := len(s.visits) == 0
	s.mu.Unlock()
	err = errors.Join(err, s.close())
	if err == nil && idle {
		rctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		if err := own.Release(rctx, ""); err != nil {
			f.log.Warn("shard not released; its next owner will wait a lease", "shard", id, "error", err)
		}
	}
	return err
}

// drain waits until no visit is outstanding, for at most d.
func (s *shard) drain(ctx context.Context, d time.Duration) {
	end := time.After(d)
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for {
		s.mu.Lock()
		n := len(s.visits)
		s.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-t.C:
		}
	}
}

// follow replays the log from where the file stands and goes on with what arrives. Once everything that was in the
// log at the start is applied, the shard may grant.
func (f *Frontier) follow(ctx context.Context, s *shard, start start) error {
	l := f.logs[s.id]
	last, err := l.Last(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	from := s.position()
	s.mu.Unlock()
	if from.Seq >= last {
		s.catchUp(start)
	}
	apply := func(batch []queue.Entry) error {
		if err := s.apply(batch); err != nil {
			return err
		}
		if batch[len(batch)-1].Seq >= last {
			s.catchUp(start)
		}
		return nil
	}
	for {
		err := l.Follow(ctx, from, apply)
		if !errors.Is(err, queue.ErrAnchor) {
			return err
		}
		// The broker lost messages we had applied, or that we never saw. What it still has is applied again, which is
		// harmless; pages fetched lately may be among the lost and are fetched again.
		f.log.Error("the event log does not continue what was applied: applying it again from its beginning", "shard", s.id, "error", err)
		if from, err = l.Rewind(ctx); err != nil {
			return err
		}
		if last, err = l.Last(ctx); err != nil {
			return err
		}
		if err := s.rewind(from); err != nil {
			return err
		}
		start = startLease
		if last <= from.Seq {
			s.catchUp(start)
		}
	}
}

// rewind sets the shard back to a position of the log and stops granting until it has caught up again.
func (s *shard) rewind(to queue.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil || s.tx == nil {
		return cmp.Or(s.broken, errClosed)
	}
	s.caughtUp = false
	applied := s.m.SeqTime
	s.m.Seq, s.m.SeqTime = to.Seq, to.Time.UnixNano()
	if to.Time.IsZero() {
		s.m.SeqTime = 0
	}
	s.recent = recent{}
	s.changes++
	if applied == 0 {
		return nil // rewound before, and nothing applied since
	}
	if err := s.requeueSince(time.Unix(0, applied).Add(-2 * time.Minute)); err != nil {
		return s.fail(err)
	}
	return nil
}

// start says what a shard must reckon with when it begins.
type start int

const (
	// startClean: its last owner was this directory's, stopped with nothing outstanding.
	startClean start = iota
	// startDelay: visits may have been under way, and their fetchers are dead: one delay is owed to every host.
	startDelay
	// startLease: visits may be under way still: a lease must pass, then one delay.
	startLease
)

// startOf compares what the file says of its last owner with what the ownership record says of the shard's last owner.
func (f *Frontier) startOf(s *shard, own *queue.Ownership) start {
	f.mu.Lock()
	again := f.served[s.id] // fetchers of this process are alive
	f.mu.Unlock()
	before := own.Predecessor()
	switch {
	case before == (queue.Record{}) && s.was.Epoch == 0:
		return startClean // a new crawl
	case own.Clean() && s.was.Clean && s.was.Epoch == before.Epoch && s.was.Owner == before.Owner:
		return startClean
	case f.opt.Embedded && !again:
		return startDelay
	}
	return startLease
}

// catchUp lets the shard grant, at once or when its start allows.
func (s *shard) catchUp(start start) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.caughtUp {
		return
	}
	now := time.Now()
	switch start {
	case startDelay:
		s.justVisited(now, now)
	case startLease:
		s.quiet = now.Add(leaseOwner)
		s.justVisited(s.quiet, now)
	}
	s.tellBudget(now)
	s.caughtUp = true
	s.log.Info("shard ready", "hosts", len(s.hosts), "queued", s.m.Counts.Queued, "applied", s.m.Seq, "epoch", s.epoch, "clean", start == startClean)
	signal(s.notify)
}

func (f *Frontier) appendTo(ctx context.Context, shard int, data []byte) error {
	_, err := f.logs[shard].Append(ctx, data)
	return err
}

// purgeLag is how long an applied and committed event stays in the log all the same.
const purgeLag = 30 * time.Second

// purge drops from the log what has been applied and committed for a while.
func (f *Frontier) purge(ctx context.Context, s *shard) error {
	t := time.NewTicker(purgeLag / 2)
	defer t.Stop()
	var old, older uint64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		s.mu.Lock()
		err := s.commit(true)
		seq := s.m.Seq
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if seq < old {
			old, older = 0, 0 // the log began anew: what these numbers meant is gone
		}
		if older > 0 {
			if err := f.logs[s.id].Purge(ctx, older); err != nil && ctx.Err() == nil {
				s.log.Warn("purge", "error", err)
			}
		}
		old, older = seq, old
	}
}

// takeRequest is one fetcher's wish for visits, parked until there are some or its time is up.
type takeRequest struct {
	take  crawl.Take
	until time.Time
	msg   *nats.Msg
}

// park is how long a take waits for something to fall due. The lease of what it gets runs from when it was sent.
const park = 500 * time.Millisecond

// match brings takes and due hosts together, one goroutine for all shards.
func (f *Frontier) match(ctx context.Context) error {
	sub, err := f.q.NC.Subscribe(f.names.Take(f.opt.Instance), func(m *nats.Msg) {
		t, err := crawl.DecodeTake(m.Data)
		if err != nil || t.Max < 1 {
			m.Respond(crawl.AppendGrants(nil, crawl.Grants{Wait: time.Second}))
			return
		}
		select {
		case f.takes <- takeRequest{t, time.Now().Add(park), m}:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return fmt.Errorf("frontier: subscribe: %w", err)
	}
	defer sub.Unsubscribe()
	var parked []takeRequest
	timer := time.NewTimer(park)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, t := range parked {
				t.msg.Respond(crawl.AppendGrants(nil, crawl.Grants{Wait: time.Second}))
			}
			return nil
		case t := <-f.takes:
			parked = append(parked, t)
		case <-f.wake:
		case <-timer.C:
		}
		now := time.Now()
		keep, again := parked[:0], false
		for _, t := range parked {
			visits, busy := f.grant(t.take.Max, now)
			again = again || busy
			if len(visits) == 0 && now.Before(t.until) {
				keep = append(keep, t)
				continue
			}
			if err := t.msg.Respond(crawl.AppendGrants(nil, crawl.Grants{Visits: visits})); err != nil {
				f.log.Warn("visits could not be handed over; they end with their leases", "fetcher", t.take.Fetcher, "error", err)
			}
		}
		parked = keep
		next := park
		for _, t := range parked {
			next = min(next, t.until.Sub(now))
		}
		if len(parked) > 0 {
			due, busy := f.nextDue()
			if !due.IsZero() {
				next = min(next, due.Sub(now))
			}
			if again || busy {
				next = min(next, time.Millisecond)
			}
		}
		timer.Reset(max(next, 200*time.Microsecond))
	}
}

// open returns the shards held, in no order.
func (f *Frontier) open() []*shard {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.shards)) // Go's map order is random: fair enough
}

// grant collects up to n visits from the shards, beginning with another one each time. A shard that is busy, waiting for
// its disk most likely, is passed over: others need not wait for that.
func (f *Frontier) grant(n int, now time.Time) (out []crawl.Visit, busy bool) {
	f.met.takes.Inc()
	room := maxGrantBytes
	for _, s := range f.open() {
		if len(out) >= n || room <= 0 {
			break
		}
		if !s.mu.TryLock() {
			busy = true
			continue
		}
		visits, size, err := s.grant(n-len(out), room, now)
		room -= size
		s.mu.Unlock()
		if err != nil {
			continue // keepCommitted ends the shard with the same error
		}
		out = append(out, visits...)
	}
	return out, busy
}

func (f *Frontier) nextDue() (t time.Time, busy bool) {
	for _, s := range f.open() {
		if !s.mu.TryLock() {
			busy = true
			continue
		}
		if s.caughtUp {
			if d := s.nextDue(); !d.IsZero() && (t.IsZero() || d.Before(t)) {
				t = d
			}
		}
		s.mu.Unlock()
	}
	return t, busy
}

// serveLeases answers the fetchers' requests about one shard: renewals, and robots.txt bodies by digest.
func (f *Frontier) serveLeases(s *shard) ([]*nats.Subscription, error) {
	renew, err := f.q.NC.Subscribe(f.names.Renew(s.id), func(m *nats.Msg) {
		r, err := crawl.DecodeRenew(m.Data)
		if err != nil {
			return
		}
		s.mu.Lock()
		ans := s.renew(r.Visits, time.Now())
		s.mu.Unlock()
		m.Respond(crawl.AppendRenewed(nil, ans))
	})
	if err != nil {
		return nil, err
	}
	bodies, err := f.q.NC.Subscribe(f.names.Robots(s.id), func(m *nats.Msg) {
		s.mu.Lock()
		var body []byte
		if ref, ok := s.digests[string(m.Data)]; ok && s.tx != nil {
			body = append(body, s.tx.Bucket(bucketRobots).Get(robotsKey(ref.id, ref.origin))...)
		}
		s.mu.Unlock()
		m.Respond(body)
	})
	if err != nil {
		renew.Unsubscribe()
		return nil, err
	}
	return []*nats.Subscription{renew, bodies}, nil
}

// serveQuestions answers status, hosts and explain for the shards held.
func (f *Frontier) serveQuestions(ctx context.Context) (stop func(), err error) {
	svc, err := ask.NewService(f.q.NC, f.names, "frontier", f.opt.Instance, "1.0.0")
	if err != nil {
		return nil, err
	}
	held := func() []int {
		f.mu.Lock()
		defer f.mu.Unlock()
		ids := make([]int, 0, len(f.shards))
		for id := range f.shards {
			ids = append(ids, id)
		}
		return ids
	}
	err = errors.Join(
		svc.Handle("status", held, func(_ context.Context, _ []byte, send func(any) error) error {
			var parts []crawl.Status
			now := time.Now()
			f.each(func(s *shard) error { parts = append(parts, s.status(now, f.since)); return nil })
			for _, p := range parts {
				if err := send(p); err != nil {
					return err
				}
			}
			return nil
		}),
		svc.Handle("hosts", held, func(_ context.Context, _ []byte, send func(any) error) error {
			return f.answerHosts(send)
		}),
		svc.Handle("explain", held, func(_ context.Context, req []byte, send func(any) error) error {
			return f.answerExplain(req, send)
		}),
	)
	if err != nil {
		svc.Stop()
		return nil, err
	}
	return func() { svc.Stop() }, nil
}

// each calls do for every open shard under its lock.
func (f *Frontier) each(do func(*shard) error) error {
	for _, s := range f.open() {
		s.mu.Lock()
		var err error
		if s.tx != nil {
			err = do(s)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
