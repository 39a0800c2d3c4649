package fetcher

import (
	"context"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
)

const (
	// stallTime is how long a visit's pages wait before the page queue of their shard counts as
	// stalled.
	stallTime = time.Second
	// maxReturning bounds the visits that are kept for a while before they are returned.
	maxReturning = 1024
)

// backpressure keeps a shard whose pages are not accepted (its indexer is away, or slower than the
// fetcher) from occupying all slots while the pages of other shards would be accepted. Frontiers
// continue to grant visits to its hosts, so
//
//   - a visit whose pages have waited for stallTime yields its slot: the next visit uses another
//     scratch, with buffers of its own. The visit that yielded sends no more requests. It keeps
//     its host and renews its lease until its pages are safe;
//   - meanwhile new visits of that shard are returned before anything was requested of their
//     hosts: when the stall is over, or when half their lease has passed. Until then their hosts
//     are not granted again and again.
//
// At most as many visits have yielded as there are slots, so memory stays bounded. Further visits
// keep their slots.
type backpressure struct {
	mu        sync.Mutex // guards the fields below
	shards    map[int]*stall
	yielded   int // visits that gave up their slot
	returning int // visits that will be returned
}

// stall is a shard whose page queue is full.
type stall struct {
	waiting int // visits whose pages have waited for long
	over    chan struct{}
}

func (j *backpressure) stalled(shard int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.shards[shard] != nil
}

// guard calls send, which hands pages of a visit to a shard, and deals with the stall if it takes
// long.
func (j *backpressure) guard(s *task, shard int, send func() error) (long bool, err error) {
	var over bool // guarded by j.mu, like long
	timer := time.AfterFunc(stallTime, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if over {
			return
		}
		long = true
		if j.shards == nil {
			j.shards = make(map[int]*stall)
		}
		if j.shards[shard] == nil {
			j.shards[shard] = &stall{over: make(chan struct{})}
		}
		j.shards[shard].waiting++
		if !s.yielded && j.yielded < s.f.opt.Slots {
			s.yielded = true
			j.yielded++
			s.f.slots.put(new(visit.Scratch))
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

// waitOut waits until a shard's stall is over, but no longer than d. It does not wait if many wait
// already.
func (j *backpressure) waitOut(ctx context.Context, shard int, d time.Duration) {
	j.mu.Lock()
	m := j.shards[shard]
	if m == nil || j.returning >= maxReturning {
		j.mu.Unlock()
		return
	}
	j.returning++
	j.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-m.over:
	case <-t.C:
	case <-ctx.Done():
	}
	j.mu.Lock()
	j.returning--
	j.mu.Unlock()
}

// returnVisit returns a visit that requested nothing of its host. Its URLs stay queued.
func (r *runner) returnVisit(job *crawl.Visit) {
	f := r.f
	f.metrics.Returned.Inc()
	ctx, cancel := context.WithTimeout(r.publishing, job.Lease)
	defer cancel()
	f.backpressure.waitOut(r.ctx, job.Shard, job.Lease/2)
	f.giveUp(ctx, job, 0)
}

// giveUp reports to a visit's shard that nothing was requested of its host, and for how long the
// host is better not visited.
func (f *Fetcher) giveUp(ctx context.Context, job *crawl.Visit, notBefore time.Duration) {
	ev := crawl.Event{Visit: job.ID, Fetcher: f.opt.Name, Outcome: &crawl.Outcome{Host: job.Host, Delay: job.Delay, NotBefore: notBefore}}
	if err := f.appendEvent(ctx, job.Shard, crawl.AppendEvent(nil, &ev)); err != nil {
		f.log.Debug("a visit could not be returned; it ends with its lease", "visit", job.ID, "host", string(job.Host), "err", err)
	}
}
