package simulation

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/siterules"
)

// follower is a sink, over all lives of its feeder.
type follower struct {
	w    *world
	s    *service // its feeder
	kind string
	// open opens the sink for a life of the feeder.
	open func(l *life) (feed.Sink, error)
	// contents reads what the sink has, by ID.
	contents func() map[string]map[string]any
	// keys are the fields of a row that the sink has; nil: all.
	keys []string
	// cut separates the sink from all feeders, or connects it again.
	cut func(down bool)
	// refuses reports that the server itself refuses rows.
	refuses bool

	o feed.Options // for the next life

	mu      sync.Mutex // guards what is below
	r       *rand.Rand
	offered map[string]offer // the last one, by ID
	refused map[string]int64 // the versions that were refused last, by ID
	writes, deletes, failures, kills, sweeps,
	refusals int
}

// offer is a change that was given to the sink.
type offer struct {
	version int64
	sum     [sha256.Size]byte // of its row without the date
	removed bool
}

func (fl *follower) String() string {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return fmt.Sprintf("%s: %d batches, %d deletions, %d failures, %d kills of the feeder, %d sweeps, %d refused, %d lives", fl.kind, fl.writes, fl.deletes,
		fl.failures, fl.kills, fl.sweeps, fl.refusals, fl.s.lives)
}

// start makes the sinks and starts their feeders.
func (f *feeds) start() {
	w := f.w
	kinds := sinkKinds()
	for i := range 1 + f.r.IntN(2) {
		fl := &follower{w: w, r: rand.New(rand.NewPCG(w.seed, uint64(100+i))), offered: map[string]offer{}, refused: map[string]int64{}}
		kind := kinds[(int(w.seed)+3*i)%len(kinds)]
		fl.kind = kind.name
		kind.make(fl)
		fl.o = feed.Options{Name: fmt.Sprintf("sink-%d", i), Every: time.Duration(1+f.r.IntN(4)) * time.Second}
		fl.drawOptions(f.r)
		s := newService(w, "feeder", i)
		s.feed, fl.s = fl, s
		f.followers = append(f.followers, fl)
		w.note("%s writes to %s: content %q, fields %q, for %q", s.name, fl.kind, fl.o.Content, fl.o.Fields, fl.o.For)
		w.add(s)
	}
}

// drawOptions chooses what is sent.
func (fl *follower) drawOptions(r *rand.Rand) {
	fl.o.Content = []string{"text", "text", "markdown", "html", "none"}[r.IntN(5)]
	fl.o.Fields = [][]string{nil, nil, nil, {"url", "title", "sha256", "text", "fields"}}[r.IntN(4)]
	fl.o.For = [][]string{nil, nil, {"search"}, {"ai-train"}}[r.IntN(4)]
}

// changeOptions starts the feeder again with other options: then everything is sent again.
func (fl *follower) changeOptions() {
	if fl.s.life == nil || fl.s.life.isDead() {
		return
	}
	fl.s.stop()
	fl.drawOptions(fl.w.feeds.r)
	fl.w.note("%s begins again: content %q, fields %q, for %q", fl.s.name, fl.o.Content, fl.o.Fields, fl.o.For)
	fl.s.start()
}

// breakConnections separates the sink from its feeder for a while.
func (fl *follower) breakConnections() {
	fl.w.note("%s is cut off", fl.kind)
	fl.cut(true)
	fl.w.later(pause(fl.w.feeds.r), func() { fl.cut(false) })
}

// makeFeeder makes a feeder, with the file of refused changes in the directory of the life.
func (l *life) makeFeeder(log *slog.Logger) (run func(context.Context) error, err error) {
	w, fl := l.s.w, l.s.feed
	kv, err := l.q.JS.KeyValue(w.t.Context(), crawl.Names(w.spec.Name).Bucket())
	if err != nil {
		return nil, err
	}
	sink, err := fl.open(l)
	if err != nil {
		return nil, err
	}
	o := fl.o
	o.Dead, o.Fault, o.Log = feed.DeadFile(l.dir, o.Name), l.fault, log
	f, err := feed.New(asker.Running(l.q, kv, w.spec), w.spec, &faultySink{Sink: sink, l: l, fl: fl}, o)
	if err != nil {
		return nil, err
	}
	l.feeder, l.setSpec = f, f.SetSpec
	return func(ctx context.Context) error { return errors.Join(f.Run(ctx), sink.Close()) }, nil
}

// die kills a process at a point that is not one of its own, from any goroutine.
func (l *life) die(back time.Duration) {
	f := l.s.w.faults
	if !l.kill() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = append(f.dead, death{l: l, after: back})
}

// faultySink is a sink that fails now and then, and checks what it is given.
type faultySink struct {
	feed.Sink
	l  *life
	fl *follower
}

// fate is what happens to a batch.
type fate struct {
	wait, late time.Duration // before and after it is stored
	err        error         // instead of storing it
	part       bool          // only a part of it is stored, and then it fails
	lost       bool          // the answer is lost
	kills      bool          // the feeder is killed instead of getting an answer
	back       time.Duration // then it starts again after so long
}

var errSimulated = errors.New("simulated: the sink fails")

// fate draws what happens to a batch.
func (fl *follower) fate() (x fate) {
	fl.w.faults.mu.Lock()
	ended := fl.w.faults.ended
	fl.w.faults.mu.Unlock()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.writes++
	if ended {
		return x
	}
	r := fl.r
	x.back = pause(r)
	switch r.IntN(40) {
	case 0, 1:
		x.wait = time.Duration(r.Int64N(int64(40 * time.Second)))
	case 2:
		x.late = time.Duration(r.Int64N(int64(40 * time.Second)))
	case 3, 4:
		x.err = errSimulated
	case 5, 6:
		x.err = &feed.Later{Err: errSimulated, After: time.Duration(r.IntN(20)) * time.Second}
	case 7:
		x.err = &feed.Permanent{Err: errSimulated}
	case 8, 9, 10:
		x.part = true
	case 11, 12, 13:
		x.part, x.kills = true, true
	case 14, 15:
		x.lost = true
	case 16, 17:
		x.kills = true
	}
	if x.err != nil || x.part || x.lost {
		fl.failures++
	}
	if x.kills {
		fl.kills++
	}
	return x
}

// someOf keeps some of the changes of a batch, in their order.
func (fl *follower) someOf(all []feed.Change) (some []feed.Change) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for _, c := range all {
		if fl.r.IntN(2) == 0 {
			some = append(some, c)
		}
	}
	return some
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Write stores a batch, or does what its fate is.
func (s *faultySink) Write(ctx context.Context, b feed.Batch) (refused []feed.Refused, err error) {
	if err := errors.Join(s.l.fault("take"), s.fl.offer(s.l, &b)); err != nil {
		return nil, err
	}
	x := s.fl.fate()
	if err := sleep(ctx, x.wait); err != nil {
		return nil, err
	}
	if x.err != nil {
		return nil, x.err
	}
	if x.part {
		b.Changes = s.fl.someOf(b.Changes)
	}
	if !s.fl.refuses {
		b.Changes, refused = s.fl.refuse(b.Changes)
	}
	if len(b.Changes) > 0 {
		more, err := s.Sink.Write(ctx, b)
		if err != nil {
			return nil, err
		}
		refused = append(refused, more...)
	}
	if err := sleep(ctx, x.late); err != nil {
		return nil, err
	}
	switch {
	case x.kills:
		s.l.s.w.note("%s is killed when its sink has a part of a batch: %v", s.l, x.part)
		s.l.die(x.back)
		return nil, errKilled
	case x.part || x.lost:
		return nil, errSimulated
	}
	s.fl.taken(&b, refused)
	return refused, nil
}

// Sweep is that of the sink, and may fail before and afterwards.
func (s *faultySink) Sweep(ctx context.Context, crawlName string, shard int, generation int64) error {
	x := s.fl.fate()
	if x.err != nil {
		return x.err
	}
	err := s.Sink.Sweep(ctx, crawlName, shard, generation)
	if x.kills {
		s.l.die(x.back)
		return errKilled
	}
	if err == nil && (x.part || x.lost) {
		err = errSimulated
	}
	s.fl.mu.Lock()
	defer s.fl.mu.Unlock()
	s.fl.sweeps++
	return err
}

// Prepare is that of the sink, and may fail.
func (s *faultySink) Prepare(ctx context.Context, fields []siterules.FieldInfo) error {
	if x := s.fl.fate(); x.err != nil {
		return x.err
	}
	return s.Sink.Prepare(ctx, fields)
}

// refusal is why a sink refuses a row for good, "" if it does not. It refuses one content of a page
// and takes another one.
func (w *world) refusal(id, sha256sum string) string {
	sum := sha256.Sum256(fmt.Append(nil, w.seed, id, sha256sum))
	if sum[0] >= 20 {
		return ""
	}
	return fmt.Sprintf("simulated: the content %.8s is refused", sha256sum)
}

func (fl *follower) refuse(all []feed.Change) (kept []feed.Change, refused []feed.Refused) {
	for i := range all {
		if why := fl.w.refusal(all[i].ID, all[i].Row.SHA256); why != "" && all[i].Row.Removed == "" {
			refused = append(refused, feed.Refused{Change: &all[i], Reason: why})
		} else {
			kept = append(kept, all[i])
		}
	}
	return kept, refused
}

// offer checks the order of what a sink is given: versions of a page never go backwards, and a
// version that comes again has the same content. Only why a page is deleted may have changed. A
// page that says until when it is there is deleted from that time on, and has a new version when
// its indexer has noticed.
func (fl *follower) offer(l *life, b *feed.Batch) error {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if l.isDead() {
		return errKilled
	}
	before := int64(0)
	for i := range b.Changes {
		c := b.Changes[i]
		c.Row.FetchedAt = time.Time{}
		text, err := c.JSON()
		if err != nil {
			return err
		}
		is, was := offer{c.Version, sha256.Sum256(text), c.Row.Removed != ""}, fl.offered[c.ID]
		if c.Version <= before || c.Version>>32 != b.Generation {
			fl.w.fail("feed-order", "%s: version %d of generation %d comes after %d", fl.kind, c.Version, b.Generation, before)
		}
		if is.version < was.version {
			fl.w.fail("feed-order", "%s: version %d of %s comes after %d", fl.kind, is.version, c.Row.URL, was.version)
		}
		if is.version == was.version && is.sum != was.sum && !is.removed {
			fl.w.fail("feed-same", "%s: version %d comes again with another content: %s", fl.kind, is.version, text)
		}
		before, fl.offered[c.ID] = c.Version, is
	}
	return nil
}

// taken records a batch that was confirmed.
func (fl *follower) taken(b *feed.Batch, refused []feed.Refused) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for i := range b.Changes {
		if b.Changes[i].Row.Removed != "" {
			fl.deletes++
		}
		delete(fl.refused, b.Changes[i].ID)
	}
	for _, r := range refused {
		fl.refused[r.Change.ID] = r.Change.Version
	}
	fl.refusals += len(refused)
}
