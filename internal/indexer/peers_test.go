package indexer

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/pkg/queue"
)

const peerTerm = 600 * time.Millisecond

var errKilled = errors.New("killed by the test")

// peer is an indexer with its own directory and connection, as if in its own process.
type peer struct {
	*Indexer
	w      *world
	dir    string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run; to be read after done
	killed chan struct{}
}

// peer runs an indexer on dir, "" for a new one. If at is not nil, it is called at each step of a
// move or rebuild, and kills the indexer there by an error. before gets the indexer before it runs.
func (w *world) peer(name, dir string, o Options, at func(step string) error, before ...func(*Indexer)) *peer {
	w.t.Helper()
	if dir == "" {
		dir = w.t.TempDir()
	}
	q, err := queue.Dial(w.t.Context(), queue.Options{InProcess: w.srv.InProcess(), User: w.srv.User(), Password: w.srv.Password()},
		slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	o.Dir, o.Instance, o.Term, o.Pace = dir, name, peerTerm, 5*time.Millisecond
	o.Log = testLog().With("peer", name)
	x, err := New(q, w.spec, o)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &peer{Indexer: x, w: w, dir: dir, cancel: cancel, done: make(chan struct{}), killed: make(chan struct{})}
	var once sync.Once
	if at != nil {
		x.step = func(step string) error {
			err := at(step)
			if err != nil {
				once.Do(func() {
					q.Close() // whatever it tries now reaches nobody
					cancel()
					close(p.killed)
				})
			}
			return err
		}
	}
	for _, f := range before {
		f(x)
	}
	go func() {
		defer close(p.done)
		p.err = x.Run(ctx)
		q.Close()
	}()
	w.t.Cleanup(p.kill)
	return p
}

// stop ends the indexer in the normal way.
func (p *peer) stop() {
	p.w.t.Helper()
	p.cancel()
	p.ended()
	if p.err != nil {
		p.w.t.Errorf("%s: Run = %v", p.o.Instance, p.err)
	}
}

// kill ends it as a power cut would, as far as others can see.
func (p *peer) kill() {
	p.q.Close()
	p.cancel()
	p.ended()
}

func (p *peer) ended() {
	p.w.t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		p.w.t.Errorf("%s: Run does not end", p.o.Instance)
	}
}

// once returns a hook that kills at the first time of a step.
func once(step string) func(string) error {
	done := false
	return func(s string) error {
		if s != step || done {
			return nil
		}
		done = true
		return errKilled
	}
}

// feeder publishes pages without end, each URL again and again, and remembers what it published
// last.
type feeder struct {
	w    *world
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	last map[string]string // URL → digest
}

// feed publishes versions of pages on hosts of all shards until end is called.
func (w *world) feed() *feeder {
	ctx, cancel := context.WithCancel(context.Background())
	f := &feeder{w: w, stop: cancel, last: map[string]string{}}
	f.wg.Go(func() {
		for n := uint64(1); ctx.Err() == nil; n++ {
			for host := range 3 * w.spec.Shards {
				f.hand(fmt.Sprintf("https://h%d.example/%d", host, n%7), n)
			}
			sleep(ctx, 10*time.Millisecond)
		}
	})
	w.t.Cleanup(f.end)
	return f
}

func (f *feeder) hand(u string, visit uint64) {
	p := page(u, visit, fmt.Sprintf("<p>aardvark version%d", visit))
	err := f.w.work.Send(context.Background(), crawl.Names("test").PagesSubject(crawl.ShardOf(p.URL.Host(), f.w.spec.Shards)), crawl.AppendPages(nil, []crawl.Page{p}))
	if err != nil {
		f.w.t.Error(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last[u] = hex.EncodeToString(p.SHA256[:])
}

// end stops publishing.
func (f *feeder) end() {
	f.stop()
	f.wg.Wait()
}

// idle waits until the queue is empty.
func (w *world) idle() {
	w.t.Helper()
	eventually(w.t, "all pages stored", func() bool {
		for i := range w.spec.Shards {
			if n, err := w.work.Pending(w.t.Context(), crawl.Names("test").PagesSubject(i)); err != nil || n > 0 {
				return false
			}
		}
		if w.taker != nil {
			for _, s := range w.taker.ownShards() {
				if s.intake.Pending() > 0 {
					return false
				}
			}
		}
		return true
	})
}

// holders waits until every shard is owned by exactly one of the peers, and each peer owns at least
// least.
func (w *world) holders(least int, peers ...*peer) {
	w.t.Helper()
	eventually(w.t, "every shard held, and shared", func() bool {
		var all []int
		for _, p := range peers {
			ids := p.ids()
			if len(ids) < least {
				return false
			}
			all = append(all, ids...)
		}
		slices.Sort(all)
		return len(all) == w.spec.Shards && len(slices.Compact(all)) == w.spec.Shards
	})
}

// complete checks that each page is stored once, in its newest version, and that no file or bucket
// is left over.
func (w *world) complete(f *feeder, peers ...*peer) {
	w.t.Helper()
	f.end()
	w.holders(0, peers...)
	w.idle()
	got := map[string]string{}
	for _, info := range asked[crawl.PageInfo](w, "pages", nil) {
		if got[info.URL] != "" {
			w.t.Errorf("%s is stored twice", info.URL)
		}
		got[info.URL] = info.SHA256
	}
	for u, sum := range f.last {
		if got[u] != sum {
			w.t.Errorf("%s: stored %.8q, handed over last %.8q", u, got[u], sum)
		}
	}
	if len(got) != len(f.last) {
		w.t.Errorf("%d pages stored, %d handed over", len(got), len(f.last))
	}
	eventually(w.t, "files of one home only", func() bool { return w.leftovers(peers) == "" })
	if left := w.leftovers(peers); left != "" {
		w.t.Error(left)
	}
}

// leftovers names files of shards that are owned elsewhere, and buckets of moves.
func (w *world) leftovers(peers []*peer) string {
	for _, p := range peers {
		files, _ := filepath.Glob(filepath.Join(p.dir, "pages-*.db*"))
		for _, f := range files {
			ours := slices.ContainsFunc(p.ids(), func(i int) bool { return strings.HasPrefix(f, assignment.PagesFile(p.dir, i)) })
			if !ours || strings.HasSuffix(f, ".new") {
				return f
			}
		}
	}
	for i := range w.spec.Shards {
		_, err := w.q.JS.ObjectStore(w.t.Context(), crawl.Names("test").Move(i))
		if !errors.Is(err, jetstream.ErrBucketNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Sprintf("bucket %s is left: %v", crawl.Names("test").Move(i), err)
		}
	}
	return ""
}

// events collects something of all events in the log of a shard.
func (w *world) events(shard int, of func(*crawl.Event) []string) (all []string) {
	w.t.Helper()
	last, err := w.logs[shard].Last(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if last == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	err = w.logs[shard].Follow(ctx, queue.Position{}, func(batch []queue.Entry) error {
		for _, e := range batch {
			ev, err := crawl.DecodeEvent(e.Data)
			if err != nil {
				return err
			}
			all = append(all, of(&ev)...)
			if e.Seq == last {
				cancel()
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// lost returns the identities of StoreLost events in the log of a shard.
func (w *world) lost(shard int) []string {
	w.t.Helper()
	return w.events(shard, func(ev *crawl.Event) []string {
		if ev.StoreLost == "" {
			return nil
		}
		return []string{ev.StoreLost}
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func assign(shards int, members ...string) []string { return queue.Assign(shards, members) }
