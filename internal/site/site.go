package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/pkg/rup"
	bolt "go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/fair"
)

// purgeEvery is how often log lines are deleted that can no longer be requested.
const purgeEvery = time.Hour

// Site is a web site's end of RUP. Make one with New, then call Run, and Close at the end.
type Site struct {
	p        *plan
	db       *boltfile.File
	watcher  *watcher
	listener net.Listener
	http     http.Handler
	follower *follower
	mailer   *mailer
	wake     chan struct{}
}

// New opens the Site's file and its port.
func New(o Options) (*Site, error) {
	p, err := o.check()
	if err != nil {
		return nil, err
	}
	s := &Site{p: p, wake: make(chan struct{}, 1)}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Site) open() (err error) {
	if err := os.MkdirAll(s.p.Dir, 0o700); err != nil {
		return err
	}
	if s.db, err = openDB(filepath.Join(s.p.Dir, "rupd.db")); err != nil {
		return err
	}
	if s.watcher, err = newWatcher(s.p.names, s.p.Log); err != nil {
		return fmt.Errorf("inotify: %w", err)
	}
	if s.listener, err = net.Listen("tcp", s.p.Serve); err != nil {
		return fmt.Errorf("serve: %w; use another address, for example 127.0.0.1:7870", err)
	}
	s.listener = fair.Listener(s.listener, fair.ListenerOptions{Log: s.p.Log})
	return s.assemble()
}

// assemble makes the parts and connects them.
func (s *Site) assemble() error {
	p, m := s.p, newMetrics(s.p.Registry, s.db, s.watcher)
	s.follower = &follower{
		watcher: s.watcher, settle: p.Settle, every: p.ScanEvery, log: p.Log,
		failed: func(error) { m.failures.Inc() },
		scanned: func(took time.Duration) {
			m.scanned(took)
			s.poke() // after the first scan, reports can be written
		},
	}
	s.follower.tree = &tree{
		root: p.Root, names: p.names, db: s.db, log: p.Log, watch: s.watcher.watch, count: m.change,
		later: func(rel string) { s.follower.again = append(s.follower.again, rel) },
	}
	reports := &reports{db: s.db, names: p.names, base: p.base, robots: p.robots, most: maxPaths}
	s.mailer = &mailer{db: s.db, reports: reports, send: p.relay.send, log: p.Log, count: m.mail, wake: s.wake, pause: relayPause}
	opt := rup.ServerOptions{
		Info: &p.Info, Base: p.base.String(), Store: &registry{db: s.db, changed: s.poke},
		PerDomain: p.PerDomain, MaxRegistrations: p.MaxRegistrations, RegisterPerHour: p.RegisterPerHour, IndexPerHour: p.IndexPerHour,
		ConfirmWithin: confirmWithin, Client: clientOf(p.Proxies), Log: p.Log,
	}
	if p.Info.MaxQuerySpan != (rup.Span{}) {
		opt.Index = reports
	}
	c := &confirmations{db: s.db, site: p.base.String(), link: p.page("confirm"), wake: s.poke, log: p.Log}
	if !p.Unasked {
		opt.Confirm = c.ask
	}
	server, err := rup.NewServer(opt)
	if err != nil {
		return err
	}
	s.http = handler(server, server.ServeInfo, p.cgi, map[string]http.Handler{"confirm": c, "leave": &leaving{db: s.db, site: p.base.String()}}, opt.Client, m.request)
	return nil
}

// Addr is the address of the HTTP server for robots.
func (s *Site) Addr() net.Addr { return s.listener.Addr() }

// Ready returns an error if the Site cannot answer yet.
func (s *Site) Ready(context.Context) error {
	return s.db.View(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta).Get(metaBaseline) == nil {
			return errors.New("reading the document root for the first time")
		}
		return nil
	})
}

// Run watches, answers and mails until ctx ends. Then it completes the answers and the mail that
// are in progress.
func (s *Site) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.follower.run(ctx) })
	g.Go(func() error { return s.mailer.run(ctx) })
	g.Go(func() error { return s.purge(ctx) })
	g.Go(func() error { return s.serve(ctx) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return nil
		case <-s.db.Damaged():
			return s.db.Damage() // no request could be answered any more
		}
	})
	return g.Wait()
}

// Close closes the file and the port. It must not be called while Run is running.
func (s *Site) Close() (err error) {
	if s.listener != nil {
		if e := s.listener.Close(); !errors.Is(e, net.ErrClosed) {
			err = e
		}
	}
	if s.watcher != nil {
		err = errors.Join(err, s.watcher.fs.Close())
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return err
}

// poke wakes the mailer, because there may be work.
func (s *Site) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Site) serve(ctx context.Context) error {
	srv := &http.Server{
		Handler: s.http, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute,
		IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(s.p.Log.Handler(), slog.LevelDebug),
	}
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err := srv.Shutdown(grace)
		if err != nil {
			err = srv.Close() // a client that reads so slowly must ask again
		}
		done <- err
	})
	err := srv.Serve(s.listener)
	if stop() {
		return fmt.Errorf("serve %s: %w", s.Addr(), err)
	}
	return <-done
}

// purge deletes log lines that nobody can request any more.
func (s *Site) purge(ctx context.Context) error {
	for {
		for more := true; more && ctx.Err() == nil; {
			err := s.db.Update(func(tx *bolt.Tx) error {
				from, err := keepFrom(tx, time.Now(), s.p.Info.MaxQuerySpan.Duration())
				if err != nil {
					return err
				}
				if first, _ := tx.Bucket(bucketLog).Cursor().First(); first == nil || bytes.Compare(first, from) >= 0 {
					more = false
					return nil
				}
				more, err = purge(tx, from)
				return err
			})
			if err != nil {
				s.p.Log.Error("the log was not purged; trying again", "err", err)
				break
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(purgeEvery):
		}
	}
}
