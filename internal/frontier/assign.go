package frontier

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/pkg/queue"
)

// claims is the set of shards that should be ours. The goroutine of each shard follows it: it
// acquires the shard, or hands it over.
type claims struct {
	mu      sync.Mutex // guards the rest
	ours    map[int]bool
	changed chan struct{} // closed when ours is replaced
}

func newClaims() *claims { return &claims{changed: make(chan struct{})} }

func (c *claims) set(shards []int) {
	ours := map[int]bool{}
	for _, id := range shards {
		ours[id] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ours = ours
	close(c.changed)
	c.changed = make(chan struct{})
}

// await blocks until the shard should be ours, or (want false) should not be. If ctx ends before,
// it returns its error.
func (c *claims) await(ctx context.Context, id int, want bool) error {
	for {
		c.mu.Lock()
		is, changed := c.ours[id], c.changed
		c.mu.Unlock()
		if is == want {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (c *claims) has(id int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ours[id]
}

// followMembers updates claims when frontiers start or end; this one is a member until ctx ends. It
// decides which frontier should own which shard. The ownership record guarantees that no frontier
// acts for a shard that it does not own.
func (f *Frontier) followMembers(ctx context.Context) error {
	kv, err := f.q.OpenMembers(ctx, f.names.Members(), 0)
	if err != nil {
		return err
	}
	var (
		mu      sync.Mutex // guards the next two
		mine    []int
		begun   bool
		waiting sync.WaitGroup
		wait    = cmp.Or(f.opt.Term, 10*time.Second) / 10
	)
	defer waiting.Wait()
	begin := sync.OnceFunc(func() {
		waiting.Go(func() {
			select { // frontiers that start together share: none acquires all shards first
			case <-ctx.Done():
			case <-time.After(wait):
			}
			mu.Lock()
			defer mu.Unlock()
			begun = true
			f.claims.set(mine)
		})
	})
	o := queue.MemberOptions{Kind: "frontier", Instance: f.opt.Instance, Term: f.opt.Term, Log: f.log}
	return queue.Members(ctx, kv, o, func(members []string) {
		mu.Lock()
		defer mu.Unlock()
		mine = nil
		for id, name := range queue.Assign(f.spec().Shards, members) {
			if name == f.opt.Instance {
				mine = append(mine, id)
			}
		}
		f.log.Info("frontiers of the crawl", "members", members, "ours", mine)
		begin()
		if begun {
			f.claims.set(mine)
		}
	})
}

// allShards are the shards of a frontier that shares with no other.
func (f *Frontier) allShards() []int {
	if f.opt.Shards != nil {
		return slices.Clone(f.opt.Shards)
	}
	all := make([]int, f.spec().Shards)
	for i := range all {
		all[i] = i
	}
	return all
}
