package simulation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/queue"
)

// service is a frontier, a fetcher or an indexer, over all its lives.
type service struct {
	w    *world
	role string
	name string
	dir  string // of the life under way, and of the next
	life *life  // nil: it does not run
	past []*life
}

// life is a service from its start to its end.
type life struct {
	s      *service
	n      int
	dir    string
	line   *broker.Line
	q      *queue.Conn
	cancel context.CancelFunc
	done   chan error

	fetcher *fetcher.Fetcher
}

func newService(w *world, role string, i int) *service {
	return &service{w: w, role: role, name: fmt.Sprintf("%s-%d", role, i), dir: filepath.Join(w.dir, fmt.Sprintf("%s-%d", role, i))}
}

// start begins a life.
func (s *service) start() {
	w, t := s.w, s.w.t
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := &life{s: s, n: len(s.past) + 1, dir: s.dir, line: broker.NewLine(w.srv), done: make(chan error, 1)}
	l.q = l.line.Dial(t, w.srv)
	run, err := l.make()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	s.life = l
	w.note("%s starts", l)
	go func() { l.done <- run(ctx) }()
}

func (l *life) String() string { return fmt.Sprintf("%s (life %d)", l.s.name, l.n) }

// make makes the service.
func (l *life) make() (run func(context.Context) error, err error) {
	w, s := l.s.w, l.s
	log := w.log.With("service", l.String())
	switch s.role {
	case "frontier":
		lines, err := os.OpenFile(filepath.Join(l.dir, "crawl.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		w.t.Cleanup(func() { lines.Close() })
		f, err := frontier.New(l.q, w.spec, frontier.Options{Dir: l.dir, Instance: s.name, Log: log, CrawlLog: lines, Checkpoint: 16 << 10})
		if err != nil {
			return nil, err
		}
		return f.Run, nil
	case "fetcher":
		f, err := fetcher.New(l.q, w.spec, fetcher.Options{Name: s.name, Log: log, Hands: 8, Dial: w.net.Dial})
		if err != nil {
			return nil, err
		}
		l.fetcher = f
		return f.Run, nil
	}
	x, err := indexer.New(l.q, w.spec, indexer.Options{Dir: l.dir, Instance: s.name, Search: true, Log: log})
	if err != nil {
		return nil, err
	}
	return x.Run, nil
}

// stop ends a life in order.
func (s *service) stop() {
	l := s.life
	if l == nil {
		return
	}
	began := time.Now()
	s.w.note("%s is stopped", l)
	l.cancel()
	if err := <-l.done; err != nil {
		s.w.fail("stops", "%s: %v", l, err)
	}
	s.w.note("%s has ended after %v", l, time.Since(began))
	s.over()
}

// over notes that a life has ended.
func (s *service) over() {
	l := s.life
	if l.fetcher != nil {
		if n := l.fetcher.Violations(); n != 0 {
			s.w.fail("last-moment", "%s stopped %d requests at the last moment", l, n)
		}
	}
	l.q.Close()
	s.past, s.life = append(s.past, l), nil
}
