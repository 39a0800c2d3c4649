// Package embedded runs a NATS server with JetStream inside the process, its file
// store under a directory.
//
//	s, err := embedded.Start(embedded.Options{Dir: "data/nats", Log: log})
//	…
//	defer s.Shutdown()
//	o := queue.Options{InProcess: s.InProcess(), User: s.User(), Password: s.Password()}
//	q, err := queue.Dial(ctx, o, log)
//
// One process at a time may have a directory open; a second one gets ErrLocked. The server installs
// no signal handlers and writes no log file: its messages go to Options.Log. Room for streams is
// counted when they are created (Options.MaxStore, Budget), so that a full disk shows as a refusal
// and not as a broken stream.
package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

var (
	// ErrLocked says that another process has the directory open.
	ErrLocked = errors.New("another process uses it")
	// ErrCorrupt says that a stream in the directory could not be read back.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrNoSpace says that the file system has less room than the server needs at
	// the least (MinStore).
	ErrNoSpace = errors.New("not enough free space")
)

// readyWithin bounds how long Start waits; replaying a large store takes seconds, not minutes.
const readyWithin = 2 * time.Minute

// Options says where the server keeps its files and whether it listens. Dir is required.
type Options struct {
	Dir string // created when missing; holds the store, a lock file and a marker
	// host:port of a TCP listener, port 0 for any; empty: in-process connections only
	Listen string
	// required from every client when set; a random one when empty and Listen is set
	User     string
	Password string // as User
	// SyncInterval is how much of the latest writes a power cut may take. 0: 1 s. A message may be
	// acknowledged before it is synced.
	SyncInterval time.Duration
	// MaxStore is how many bytes all streams together may reserve. 0: what the file system has
	// free, less a floor of max(1 GiB, 5 %); on a small disk, half of what is free.
	MaxStore int64
	Log      *slog.Logger // nil: slog.Default()
}

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	opts   Options
	lock   *os.File
	bootID string
	clean  bool
	broken chan struct{} // see heal; holds one
	quit   context.CancelFunc
	healer sync.WaitGroup
	url    string // of the listener; empty without one

	busy    chan struct{} // a semaphore: holds one while a restart or the shutdown runs
	stopped bool          // guarded by busy

	mu sync.Mutex     // guards what is below; never held for long
	ns *server.Server // replaced by Restart; nil while none runs
	// pipes are the clients' ends of the connections in this process.
	pipes map[*pipe]struct{}
}

// Start opens the store (about 30 ms when it is small) and returns when clients may
// connect. Its error may be ErrLocked, ErrNoSpace or ErrCorrupt, wrapped with the directory
// and with what can be done.
func Start(o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("embedded NATS: Options.Dir is empty")
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.SyncInterval = cmp.Or(o.SyncInterval, time.Second)
	if o.Listen != "" && o.User == "" && o.Password == "" {
		// nuid is no secret: somebody who has seen one value can guess the next
		o.User, o.Password = "curtsy-"+nuid.Next()[:8], rand.Text()
	}
	if _, _, err := splitListen(o.Listen); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded NATS: %w", err)
	}
	lock, err := lockFile(filepath.Join(o.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("embedded NATS in %s: %w: stop it first, or use another data directory", o.Dir, err)
	}
	s := &Server{opts: o, lock: lock, broken: make(chan struct{}, 1), busy: make(chan struct{}, 1), pipes: make(map[*pipe]struct{})}
	if s.opts.MaxStore == 0 {
		s.opts.MaxStore, err = roomFor(o.Dir)
	}
	if err == nil {
		s.bootID, s.clean, err = markRunning(o.Dir)
	}
	if err == nil {
		s.ns, err = s.run()
	}
	if err != nil {
		if s.clean { // nothing was written before, so nothing can be missing
			_ = markStopped(o.Dir)
		}
		lock.Close()
		return nil, fmt.Errorf("embedded NATS in %s: %w", o.Dir, err)
	}
	if a, ok := s.ns.Addr().(*net.TCPAddr); ok && o.Listen != "" {
		s.opts.Listen = a.String() // a restart keeps the port that was found
		s.url = s.ns.ClientURL()
	}
	ctx, quit := context.WithCancel(context.Background())
	s.quit = quit
	s.healer.Go(func() { s.heal(ctx) })
	return s, nil
}

// run starts a server and waits until it is ready.
func (s *Server) run() (*server.Server, error) {
	o := &s.opts
	host, port, err := splitListen(o.Listen)
	if err != nil {
		return nil, err
	}
	ns, err := server.NewServer(&server.Options{
		ServerName:         "curtsy-embedded",
		Host:               host,
		Port:               port,
		DontListen:         o.Listen == "",
		Username:           o.User,
		Password:           o.Password,
		JetStream:          true,
		StoreDir:           o.Dir,
		JetStreamMaxStore:  o.MaxStore,
		JetStreamMaxMemory: 64 << 20, // for consumers that are cheap to make again
		SyncInterval:       o.SyncInterval,
		NoSigs:             true,
		NoLog:              true,
	})
	if err != nil {
		return nil, err
	}
	out := &logger{log: o.Log.With("part", "nats"), fatal: make(chan string, 1), broken: s.broken}
	ns.SetLoggerV2(out, o.Log.Enabled(context.Background(), slog.LevelDebug), false, false)
	started := make(chan struct{})
	go func() {
		ns.Start() // returns when the store is open, or after a fatal error
		close(started)
	}()
	if err = waitReady(ns, out.fatal); err == nil {
		err = checkStore(o.Dir, ns, out)
	}
	out.settled()
	if err != nil {
		ns.Shutdown()
		ns.WaitForShutdown()
		<-started
		return nil, err
	}
	return ns, nil
}

func waitReady(ns *server.Server, fatal <-chan string) error {
	for end := time.Now().Add(readyWithin); time.Now().Before(end); {
		if ns.ReadyForConnections(time.Millisecond) {
			return nil
		}
		select {
		case what := <-fatal:
			return errors.New(what)
		default:
		}
	}
	return fmt.Errorf("not ready after %v", readyWithin)
}

// InProcess is for queue.Options.InProcess. Such a connection needs User and Password too, and
// finds the server again after Restart.
func (s *Server) InProcess() nats.InProcessConnProvider { return inProcess{s} }

type inProcess struct{ s *Server }

// InProcessConn opens a connection to the server that runs now. While none does, as during a
// restart, it fails at once.
func (p inProcess) InProcessConn() (net.Conn, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.s.ns == nil {
		return nil, errors.New("the embedded NATS server is stopped")
	}
	c, err := p.s.ns.InProcessConn()
	if err != nil {
		return nil, err
	}
	end := &pipe{Conn: c, s: p.s}
	p.s.pipes[end] = struct{}{}
	return end, nil
}

// pipe is the client's end of a connection in this process.
type pipe struct {
	net.Conn
	s *Server
}

// Close closes the connection.
func (p *pipe) Close() error {
	p.s.mu.Lock()
	delete(p.s.pipes, p)
	p.s.mu.Unlock()
	return p.Conn.Close()
}

// current is the server that runs; nil during a restart, after one that failed and after Shutdown.
func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ns
}

// User is what clients must present; empty when they need nothing.
func (s *Server) User() string { return s.opts.User }

// Password belongs to User.
func (s *Server) Password() string { return s.opts.Password }

// ClientURL is where the listener can be reached, without the credentials; empty
// without a listener.
func (s *Server) ClientURL() string { return s.url }

// MaxStore is how many bytes all streams together may reserve. Pass it to Budget.
func (s *Server) MaxStore() int64 { return s.opts.MaxStore }

// BootID names this run of the server; no two runs share one.
func (s *Server) BootID() string { return s.bootID }

// WasClean reports whether the run before this one ended with Shutdown, or there was none. After an
// unclean end the last SyncInterval of acknowledged messages may be missing.
func (s *Server) WasClean() bool { return s.clean }

// Shutdown stops the server, waits until its files are closed and unlocks the directory. Calling it
// again does nothing.
func (s *Server) Shutdown() {
	s.quit()
	s.healer.Wait()
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	if s.stopped {
		return
	}
	s.stopped = true
	if s.stop() {
		if err := markStopped(s.opts.Dir); err != nil {
			s.opts.Log.Warn("the next start will look like one after a crash", "err", err)
		}
	}
	s.lock.Close()
}

// set replaces the server that clients connect to.
func (s *Server) set(ns *server.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ns = ns
}

// stop ends the server that runs, and reports whether one did.
func (s *Server) stop() bool {
	s.mu.Lock()
	ns, pipes := s.ns, s.pipes
	s.ns, s.pipes = nil, make(map[*pipe]struct{})
	s.mu.Unlock()
	if ns == nil {
		return false
	}
	// The clients in this process lose their connections first. Else they would answer the server's
	// farewell to readers with new requests, while it waits, with its locks held, for that farewell
	// to go out.
	for p := range pipes {
		_ = p.Conn.Close()
	}
	// Clients that left by themselves may have asked for something just before. Answering takes the
	// same locks, so that is waited for as well.
	for end := time.Now().Add(dropWithin); ; {
		time.Sleep(time.Millisecond)
		if len(pipes) == 0 || ns.NumClients() == 0 || time.Now().After(end) {
			break
		}
	}
	ns.Shutdown()
	ns.WaitForShutdown()
	return true
}

// dropWithin is how long the server may take to notice that its clients are gone.
const dropWithin = 50 * time.Millisecond

// Restart stops the server and starts it again on the same directory and port. Clients reconnect by
// themselves. After an error Restart may be tried again. The server calls it itself when a full
// disk has ended a stream and there is room again.
func (s *Server) Restart() error {
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	if s.stopped {
		return errors.New("embedded NATS: restart after Shutdown")
	}
	s.stop()
	select {
	case <-s.broken: // reported by the server that is gone
	default:
	}
	ns, err := s.run()
	if err != nil {
		return fmt.Errorf("restart embedded NATS in %s: %w", s.opts.Dir, err)
	}
	s.set(ns)
	return nil
}
