package claims

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

const (
	// term is how long a claim lasts after its last writing, as leases and ownerships do.
	// All fetchers of a cluster use the same.
	term = 10 * time.Second
	// longestWait is how long a visit waits for its host. Then it is given back.
	longestWait = 2 * time.Minute
	// AskLater is for how long a frontier does not grant a host that was waited for in vain.
	AskLater = 5 * time.Second
	// The pauses between looks at a record that somebody else has.
	leastLook = 50 * time.Millisecond
	mostLook  = time.Second
	// maxSeen is how many records are remembered; forgotten ones are read, and waited for, anew.
	maxSeen = 16 << 10
)

// Options say whose claims they are. Crawl and Process are required.
type Options struct {
	Crawl crawl.Names
	// Process is no other process's name, nor that of the one before. The crawls of a process,
	// which wait for one another by other means, have the same.
	Process string
	Waiting int          // how many visits may wait without what they need to work; 0: 64
	Log     *slog.Logger // nil: slog.Default()
}

// Claims are a crawl's claims on hosts. Safe for concurrent use.
type Claims struct {
	terms
	store store
	now   wire.Clock
	log   *slog.Logger

	mu       sync.Mutex // guards what follows
	seen     map[string]sighting
	number   uint64
	waiting  int // visits
	most     int
	troubled bool          // the last writing or reading failed, and it was said
	swept    time.Duration // when sweep began last
	edition  string        // of the records that sights is of
	sights   []sighted     // the oldest first
}

// Open opens the bucket of a cluster, which is made when it is missing.
func Open(ctx context.Context, q *queue.Conn, o Options) (*Claims, error) {
	if o.Crawl == "" || o.Process == "" {
		return nil, errors.New("claims: Options.Crawl and Process are required")
	}
	s, err := openBucket(ctx, q)
	if err != nil {
		return nil, err
	}
	return newClaims(s, boottime.Now, o), nil
}

func newClaims(s store, now wire.Clock, o Options) *Claims {
	return &Claims{
		terms: terms{o.Crawl, o.Process},
		store: s, now: now, log: cmp.Or(o.Log, slog.Default()), most: cmp.Or(o.Waiting, 64), seen: map[string]sighting{},
		swept: now() - sweepEvery,
	}
}

// Take waits until the host is nobody's, and claims it; the claim is held with Hold and given up
// with Release. owed is the least delay between requests that is known. If the visit had better
// be given back, there is no claim, and notBefore is for how long the host is better left alone.
// free is called before the first waiting, unless many wait already: then the visit keeps what it
// has, so that no more are taken that would wait, too.
func (c *Claims) Take(ctx context.Context, host canon.Host, delay time.Duration, free func()) (k *Claim, notBefore time.Duration) {
	c.sweep(ctx)
	key, began := keyOf(host), c.now()
	delay = min(max(delay, wire.PoliteDelay), MaxPause)
	look := backoff.Delay{Least: leastLook, Most: mostLook}
	s, known := c.known(key)
	for waits := false; ctx.Err() == nil; {
		var err error
		if !known {
			s, err = c.look(ctx, key)
		}
		known = false
		now := c.now()
		left := s.left(&c.terms, delay, now)
		switch {
		case err == nil && left == 0:
			if k, err = c.claim(ctx, host, key, s, delay); err == nil {
				return k, 0
			}
		case err == nil && !s.rec.Held && left > longestWait:
			return nil, left
		case err == nil:
			s, err = c.mark(ctx, key, s)
		}
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			c.trouble(ctx, err)
			left = mostLook
		}
		if now-began > longestWait {
			break
		}
		if !waits {
			waits = true
			defer c.wait(free)()
		}
		if backoff.Sleep(ctx, min(max(left, time.Millisecond), look.Next())) != nil {
			break
		}
	}
	return nil, AskLater
}

// wait counts a visit that waits, until the function it returns is called.
func (c *Claims) wait(free func()) (done func()) {
	c.mu.Lock()
	frees := c.waiting < c.most
	if frees {
		c.waiting++
	}
	c.mu.Unlock()
	if !frees {
		return func() {}
	}
	free()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
	}
}

// known is a record that we wrote last, as far as we know. Reading it can be spared: the next
// writing shows whether somebody came after us.
func (c *Claims) known(key string) (sighting, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seen[key]
	return s, s.ours
}

// look reads a host's record.
func (c *Claims) look(ctx context.Context, key string) (sighting, error) {
	ctx, cancel := context.WithTimeout(ctx, term/3)
	defer cancel()
	r, revision, err := c.store.read(ctx, key)
	if err != nil {
		return sighting{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Counted after the reading: whoever wrote it counts its term from before.
	s := sighting{rec: r, revision: revision, since: c.now()}
	if was, ok := c.seen[key]; ok && was.revision == revision {
		s.since = was.since
	}
	c.remember(key, s)
	return s, nil
}

// remember is called with mu held.
func (c *Claims) remember(key string, s sighting) {
	if _, ok := c.seen[key]; !ok && len(c.seen) >= maxSeen {
		clear(c.seen)
	}
	c.seen[key] = s
}

// wrote takes in that a record was written; since is from when it counts.
func (c *Claims) wrote(key string, r record, revision uint64, since time.Duration) sighting {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := sighting{rec: r, revision: revision, since: since, ours: true}
	c.remember(key, s)
	c.troubled = false
	return s
}

// unsure forgets that a record is ours: a writing of it failed, or came too late.
func (c *Claims) unsure(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.seen[key]; ok {
		s.ours = false
		c.seen[key] = s
	}
}

// trouble tells, once, that records can be neither read nor written.
func (c *Claims) trouble(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil && !c.troubled {
		c.troubled = true
		c.log.Warn("hosts cannot be claimed from the other crawls of this NATS server, so they wait", "bucket", crawl.HostsBucket, "err", err)
	}
}

// mark puts our crawl among those who wait for the host, unless it is there.
func (c *Claims) mark(ctx context.Context, key string, s sighting) (sighting, error) {
	now := c.now()
	r, ok := s.marked(&c.terms, now)
	if !ok {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, term/3)
	defer cancel()
	revision, err := c.store.write(ctx, key, r, s.revision)
	if err != nil {
		return s, err
	}
	since := now
	if r.Held { // the holder said nothing meanwhile
		since = s.since
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s = sighting{rec: r, revision: revision, since: since}
	c.remember(key, s)
	return s, nil
}

// claim writes that the host is ours, if nobody wrote its record meanwhile.
func (c *Claims) claim(ctx context.Context, host canon.Host, key string, s sighting, delay time.Duration) (*Claim, error) {
	// A writing that is cut off may have been done, and would keep others waiting for a term.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), term/3)
	defer cancel()
	c.mu.Lock()
	c.number++
	number := c.number
	c.mu.Unlock()
	r := record{Crawl: c.crawl, Process: c.process, Number: number, Held: true, Pause: max(delay, s.rec.Pause), Want: s.wanting(&c.terms)}
	sent := c.now()
	revision, err := c.store.write(ctx, key, r, s.revision)
	if err != nil {
		c.unsure(key)
		return nil, err
	}
	c.wrote(key, r, revision, sent)
	k := &Claim{c: c, host: host, key: key, rec: r, revision: revision, sent: sent, delay: r.Pause, write: make(chan struct{}, 1)}
	if s.revision != 0 {
		k.before = s.rec.Pause
	}
	return k, nil
}
