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
	// term is how long a claim lasts after it was last written, like leases and ownerships. All
	// fetchers of a cluster use the same term.
	term = 10 * time.Second
	// longestWait is how long a visit waits for its host. Then it is returned.
	longestWait = 2 * time.Minute
	// AskLater is for how long a frontier does not grant a host that was waited for in vain.
	AskLater = 5 * time.Second
	// The pauses between two reads of a record that another crawl has.
	leastLook = 50 * time.Millisecond
	mostLook  = time.Second
	// maxSeen is how many records are remembered. A record that was forgotten is read, and waited
	// for, again.
	maxSeen = 16 << 10
)

// Options say whose claims they are. Crawl and Process are required.
type Options struct {
	Crawl crawl.Names
	// Process is unique, and differs from that of the process before. The crawls of a process have
	// the same; they wait for each other by other means.
	Process string
	Waiting int          // how many visits may wait without a slot; 0: 64
	Log     *slog.Logger // nil: slog.Default()
}

// Claims makes a crawl's claims on hosts. It may be used concurrently.
type Claims struct {
	terms
	store store
	now   wire.Clock
	log   *slog.Logger

	mu       sync.Mutex // guards the fields below
	seen     map[string]sighting
	number   uint64
	waiting  int // visits
	most     int
	troubled bool          // the last write or read failed, and that was reported
	swept    time.Duration // when sweep began last
	edition  string        // of the records that sights is about
	sights   []sighted     // the oldest first
}

// Open opens the bucket of a cluster. It is made if it is missing.
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

// Take waits until no other crawl has the host, and claims it. The claim is used with Hold and
// ended with Release. delay is the least delay between requests that is known. If the visit is
// better returned, there is no claim, and notBefore is for how long the host is better left alone.
// free is called before the first wait, unless many visits wait already. Then the visit keeps its
// slot, so that no more visits are granted that would wait, too.
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

// wait counts a visit that waits, until the function that it returns is called.
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

// known returns a record that we wrote last, as far as we know. It need not be read again: the next
// write shows whether another crawl wrote it.
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
	// The time is counted from after the read. Its writer counts the term from before.
	s := sighting{rec: r, revision: revision, since: c.now()}
	if was, ok := c.seen[key]; ok && was.revision == revision {
		s.since = was.since
	}
	c.remember(key, s)
	return s, nil
}

// remember is called with mu locked.
func (c *Claims) remember(key string, s sighting) {
	if _, ok := c.seen[key]; !ok && len(c.seen) >= maxSeen {
		clear(c.seen)
	}
	c.seen[key] = s
}

// wrote records that a record was written. since is from when that counts.
func (c *Claims) wrote(key string, r record, revision uint64, since time.Duration) sighting {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := sighting{rec: r, revision: revision, since: since, ours: true}
	c.remember(key, s)
	c.troubled = false
	return s
}

// unsure forgets that a record is ours, because a write of it failed, or came too late.
func (c *Claims) unsure(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.seen[key]; ok {
		s.ours = false
		c.seen[key] = s
	}
}

// trouble reports once that records can be neither read nor written.
func (c *Claims) trouble(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() == nil && !c.troubled {
		c.troubled = true
		c.log.Warn("hosts cannot be claimed from the other crawls of this NATS server, so they wait", "bucket", crawl.HostsBucket, "err", err)
	}
}

// mark adds our crawl to those that wait for the host, unless it is among them.
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
	if r.Held { // the holder wrote nothing meanwhile
		since = s.since
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s = sighting{rec: r, revision: revision, since: since}
	c.remember(key, s)
	return s, nil
}

// claim writes that the host is ours, unless another crawl wrote its record meanwhile.
func (c *Claims) claim(ctx context.Context, host canon.Host, key string, s sighting, delay time.Duration) (*Claim, error) {
	// A write that is cut off may have been done, and would make others wait for a term.
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
