package simulation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/queue"
)

// service is a frontier, a fetcher, an indexer or a feeder, over all its lives. Only the goroutine
// of the test uses it, except for current.
type service struct {
	w    *world
	role string
	n    int
	name string
	dir  string // of the current life, and of the next
	lost int    // how often its disk was lost

	lives int
	life  *life     // nil: it does not run
	dirs  []string  // of all lives so far
	feed  *follower // of a feeder: the sink that it writes to
}

// life is a service from its start to its end.
type life struct {
	s      *service
	n      int
	name   string
	dir    string
	next   string // where a kill puts the copy of dir
	line   *broker.Line
	q      *queue.Conn
	cancel context.CancelFunc
	done   chan error

	fetcher *fetcher.Fetcher
	feeder  *feed.Feeder
	setSpec func(crawl.Spec) error // applies a changed spec
	// The number of the last change of site rules that it follows; guarded by ruleWorld.mu.
	followed int

	commits sync.RWMutex // held for reading during a commit, for writing by a kill

	mu         sync.Mutex // guards the fields below
	dead       bool
	conns      map[net.Conn]struct{}
	cutSince   time.Time       // zero: it is connected
	committing map[string]bool // files
	cuts       []func()        // cut other connections when the process is killed
}

func newService(w *world, role string, i int) *service {
	s := &service{w: w, role: role, n: i}
	s.rename()
	return s
}

func (s *service) rename() {
	s.name = fmt.Sprintf("%s-%d", s.role, s.n)
	if s.lost > 0 {
		s.name += strings.Repeat("x", s.lost)
	}
	s.dir = filepath.Join(s.w.dir, s.name)
}

// start begins a life.
func (s *service) start() {
	w, t := s.w, s.w.t
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.lives++
	l := &life{s: s, n: s.lives, name: s.name, dir: s.dir, next: filepath.Join(w.dir, fmt.Sprintf("%s.%d", s.name, s.lives)), line: broker.NewLine(w.srv),
		done: make(chan error, 1), conns: map[net.Conn]struct{}{}, committing: map[string]bool{}}
	l.q = l.line.Dial(t, w.srv)
	run, err := l.make()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	s.life = l
	s.dirs = append(s.dirs, l.dir)
	w.faults.happened()
	w.note("%s starts", l)
	go func() {
		err := run(ctx)
		if err != nil && ctx.Err() == nil {
			w.note("%s fails: %v", l, err)
			if l.gaveUp() {
				err = nil
			}
		}
		l.done <- err
	}()
}

func (l *life) String() string { return fmt.Sprintf("%s (life %d)", l.name, l.n) }

// make makes the service.
func (l *life) make() (run func(context.Context) error, err error) {
	w := l.s.w
	log := w.log.With("service", l.String())
	if w.rules != nil {
		l.followed = len(w.rules.used)
	}
	switch l.s.role {
	case "frontier":
		lines, err := os.OpenFile(filepath.Join(l.dir, "crawl.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		w.t.Cleanup(func() { lines.Close() })
		f, err := frontier.New(l.q, w.spec, frontier.Options{Dir: l.dir, Instance: l.name, Log: log, CrawlLog: lines, Checkpoint: w.checkpoint, Fault: l.fault})
		if err != nil {
			return nil, err
		}
		l.setSpec = f.SetSpec
		return f.Run, nil
	case "crawl":
		return l.makeCrawl(log)
	case "feeder":
		return l.makeFeeder(log)
	case "fetcher":
		f, err := fetcher.New(l.q, w.spec, fetcher.Options{Name: fmt.Sprintf("%s-%d", l.name, l.n), Log: log, Slots: 8, Dial: l.dial, Fault: l.fault, Alone: w.alone, Robot: w.robot(), Renderer: l.renderer(), Renders: 3})
		if err != nil {
			return nil, err
		}
		l.fetcher, l.setSpec = f, f.SetSpec
		return f.Run, nil
	}
	x, err := indexer.New(l.q, w.spec, indexer.Options{Dir: l.dir, Instance: l.name, Search: true, Log: log, RebuildAfter: 30 * time.Second, Fault: l.fault})
	if err != nil {
		return nil, err
	}
	l.setSpec = x.SetSpec
	return x.Run, nil
}

// dial opens a connection to the web, which a kill resets.
func (l *life) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := l.s.w.net.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		c.Close()
		return nil, errKilled
	}
	watched := &watchedConn{Conn: c, l: l}
	l.conns[watched] = struct{}{}
	return watched, nil
}

var errKilled = errors.New("the process was killed")

// fault is what the service calls at its points. A process that was killed commits nothing more.
func (l *life) fault(point string) error {
	what, file, _ := strings.Cut(point, " ")
	switch what {
	case "commit":
		if err := l.at(point); err != nil {
			return err
		}
		l.commits.RLock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dead {
			l.commits.RUnlock()
			return errKilled
		}
		l.committing[file] = true
		return nil
	case "committed":
		l.mu.Lock()
		was := l.committing[file]
		delete(l.committing, file)
		l.mu.Unlock()
		if !was {
			return nil
		}
		l.commits.RUnlock()
	}
	return l.at(point)
}

// at is a point at which a fault may be planned.
func (l *life) at(point string) error {
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		return errKilled
	}
	return l.s.w.faults.at(l, point)
}

// kill ends the service like kill -9: from this moment on it has no effect on others, and its files
// do not change. It may be called from any goroutine. It returns false if the service was dead.
func (l *life) kill() bool {
	w := l.s.w
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return false
	}
	l.dead = true
	conns, cuts := l.conns, l.cuts
	l.conns = nil
	l.mu.Unlock()
	w.faults.off(l)
	w.faults.happened()
	l.line.Cut(true)
	for c := range conns {
		c.Close()
	}
	for _, cut := range cuts {
		cut()
	}
	l.commits.Lock()
	err := copyDir(l.dir, l.next)
	l.commits.Unlock()
	if err != nil {
		w.t.Errorf("copy the files of %s: %v", l, err)
	}
	l.cancel()
	w.dying.Go(func() {
		l.q.NC.Close()
		<-l.done
		l.q.Close()
	})
	return true
}

// giveUp is the minimum time for which a service that starts waits for the broker.
const giveUp = 14 * time.Second

// gaveUp reports whether a service that failed was cut off for so long that it was allowed to give
// up. It is started again, like its supervisor does.
func (l *life) gaveUp() bool {
	l.mu.Lock()
	cut := l.cutSince
	l.mu.Unlock()
	if cut.IsZero() || time.Since(cut) < giveUp {
		return false
	}
	l.s.w.dying.Go(func() { l.q.Close() })
	f := l.s.w.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = append(f.dead, death{l: l, after: time.Second})
	return true
}

// stop ends a life in order.
func (s *service) stop() {
	l := s.life
	if l == nil {
		return
	}
	began := time.Now()
	s.w.note("%s is stopped", l)
	if s.role == "indexer" && !s.w.faults.over() {
		s.w.faults.indexersAway()
	}
	s.w.faults.happened()
	l.cancel()
	err := <-l.done
	s.w.faults.happened()
	l.mu.Lock()
	dead := l.dead
	l.mu.Unlock()
	if dead {
		l.done <- nil // for the kill that came in between
	} else {
		if err != nil {
			s.w.fail("stops", "%s: %v", l, err)
		}
		s.w.note("%s has ended after %v", l, time.Since(began))
		l.q.Close()
	}
	s.over()
}

// over records that a life has ended.
func (s *service) over() {
	l := s.life
	if l.fetcher != nil {
		if n := l.fetcher.Violations(); n != 0 {
			s.w.fail("last-moment", "%s stopped %d requests at the last moment", l, n)
		}
	}
	if l.isDead() {
		s.dir = l.next
	}
	s.life = nil
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}
