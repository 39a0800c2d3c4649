package fetcher

import (
	"context"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
)

const (
	// jamTime is how long a visit's pages wait for room before their shard counts as jammed.
	jamTime = time.Second
	// maxParked bounds the visits that are held for a while before they are given back.
	maxParked = 1024
)

// jams keeps a shard whose pages find no room (its indexer is away, or slower than we are)
// from tying up all hands, while other shards' pages would be taken. Frontiers go on granting
// visits to its hosts, so
//
//   - a visit whose pages have waited for jamTime gives up its place: another hand, with buffers of
//     its own, takes visits instead. It sends no more requests; it holds its host, and renews its
//     lease, until its pages are safe;
//   - meanwhile new visits of that shard are turned away: given back before anything was asked of
//     their hosts, when the jam is over or half their lease has passed. Until then their hosts do
//     not come up again and again.
//
// At most as many visits stand aside as there are hands, so memory stays bounded; those
// beyond keep their hands.
type jams struct {
	mu     sync.Mutex // guards what follows
	shards map[int]*jam
	aside  int // visits that gave up their place
	parked int // visits to be given back
}

// jam is a shard whose pages have no room.
type jam struct {
	waiting int // visits whose pages have waited for long
	over    chan struct{}
}

func (j *jams) jammed(shard int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.shards[shard] != nil
}

// guard runs send, which hands pages of a visit to a shard, and sees to the jam if it takes long.
func (j *jams) guard(s *stay, shard int, send func() error) (long bool, err error) {
	var over bool // guarded by j.mu, as is long
	timer := time.AfterFunc(jamTime, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if over {
			return
		}
		long = true
		if j.shards == nil {
			j.shards = make(map[int]*jam)
		}
		if j.shards[shard] == nil {
			j.shards[shard] = &jam{over: make(chan struct{})}
		}
		j.shards[shard].waiting++
		if !s.aside && j.aside < s.f.opt.Hands {
			s.aside = true
			j.aside++
			s.f.hands.put(new(visit.Hand))
		}
	})
	err = send()
	timer.Stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	over = true
	if long {
		if m := j.shards[shard]; m.waiting > 1 {
			m.waiting--
		} else {
			delete(j.shards, shard)
			close(m.over)
		}
	}
	return long, err
}

// park waits until a shard's jam is over, but no longer than d, nor at all when many wait already.
func (j *jams) park(ctx context.Context, shard int, d time.Duration) {
	j.mu.Lock()
	m := j.shards[shard]
	if m == nil || j.parked >= maxParked {
		j.mu.Unlock()
		return
	}
	j.parked++
	j.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-m.over:
	case <-t.C:
	case <-ctx.Done():
	}
	j.mu.Lock()
	j.parked--
	j.mu.Unlock()
}

// turnAway gives a visit back without having asked anything of its host. Its URLs stay queued.
func (r *runner) turnAway(job *crawl.Visit) {
	f := r.f
	f.met.TurnedAway.Inc()
	ctx, cancel := context.WithTimeout(r.publishing, job.Lease)
	defer cancel()
	f.jams.park(r.ctx, job.Shard, job.Lease/2)
	f.giveUp(ctx, job, 0)
}

// giveUp tells a visit's shard that nothing was asked of its host, nor should be for a while.
func (f *Fetcher) giveUp(ctx context.Context, job *crawl.Visit, notBefore time.Duration) {
	ev := crawl.Event{Visit: job.ID, Fetcher: f.opt.Name, Outcome: &crawl.Outcome{Host: job.Host, Delay: job.Delay, NotBefore: notBefore}}
	if err := f.appendEvent(ctx, job.Shard, crawl.AppendEvent(nil, &ev)); err != nil {
		f.log.Debug("a visit could not be returned; it ends with its lease", "visit", job.ID, "host", string(job.Host), "err", err)
	}
}
