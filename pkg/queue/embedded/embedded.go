// Package embedded runs a NATS server with JetStream inside the process. Its file store is below a
// directory.
//
//	s, err := embedded.Start(embedded.Options{Dir: "data/nats", Log: log})
//	…
//	defer s.Shutdown()
//	o := queue.Options{InProcess: s.InProcess(), User: s.User(), Password: s.Password()}
//	q, err := queue.Dial(ctx, o, log)
//
// Only one process at a time may open a directory; a second one gets ErrLocked. The server installs
// no signal handlers and writes no log file: its messages go to Options.Log. Streams reserve their
// capacity when they are created (Options.MaxStore, Budget), so that a full disk leads to a refusal
// and not to a broken stream.
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
	// ErrLocked means that another process has opened the directory.
	ErrLocked = errors.New("another process uses it")
	// ErrCorrupt means that a stream in the directory could not be read.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrNoSpace means that the file system has less free space than the server needs (MinStore).
	ErrNoSpace = errors.New("not enough free space")
)

// readyWithin limits how long Start waits. Replaying a large store takes seconds, not minutes.
const readyWithin = 2 * time.Minute

// Options says where the server keeps its files and whether it listens. Dir is required.
type Options struct {
	Dir string // created if it does not exist; contains the store, a lock file and a marker
	// host:port of a TCP listener, port 0 for any free port; empty: only connections inside the
	// process
	Listen string
	// required from every client if set; random if it is empty and Listen is set
	User     string
	Password string // like User
	// SyncInterval is how long writes may stay unsynced. A power cut can destroy the writes of this
	// time, because a message may be acknowledged before it is synced. 0 means 1 s.
	SyncInterval time.Duration
	// MaxStore is how many bytes all streams together may reserve. 0 means the free space of the
	// file system minus a reserve of max(1 GiB, 5 %); on a small disk, half of the free space.
	MaxStore int64
	// MaxConns is how many clients may be connected at the same time, those in this process
	// included. Each client at the listener costs the process a file; one that presents no password
	// is disconnected after two seconds. 0 means 65,536.
	MaxConns int
	Log      *slog.Logger // nil: slog.Default()
}

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	opts   Options
	lock   *os.File
	bootID string
	clean  bool
	broken chan string // see heal; capacity 1
	quit   context.CancelFunc
	healer sync.WaitGroup
	url    string // of the listener; empty if there is none

	busy    chan struct{} // a semaphore with one slot: taken while a restart or the shutdown runs
	stopped bool          // guarded by busy

	mu sync.Mutex     // guards the fields below; locked only for short times
	ns *server.Server // replaced by Restart; nil while no server runs
	// pipes contains the clients' ends of the connections inside this process.
	pipes map[*pipe]struct{}
}

// Start opens the store (about 30 ms if it is small) and returns when clients may connect. Its
// error may wrap ErrLocked, ErrNoSpace or ErrCorrupt; it names the directory and what the user can
// do.
func Start(o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("embedded NATS: Options.Dir is empty")
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.SyncInterval = cmp.Or(o.SyncInterval, time.Second)
	if o.Listen != "" && o.User == "" && o.Password == "" {
		// nuid is not secret: whoever has seen one value can guess the next.
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
	s := &Server{opts: o, lock: lock, broken: make(chan string, 1), busy: make(chan struct{}, 1), pipes: make(map[*pipe]struct{})}
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
		s.opts.Listen = a.String() // a restart uses the same port
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
		MaxConn:            o.MaxConns,
		Username:           o.User,
		Password:           o.Password,
		JetStream:          true,
		StoreDir:           o.Dir,
		JetStreamMaxStore:  o.MaxStore,
		JetStreamMaxMemory: 64 << 20, // for consumers that are cheap to create again
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

// InProcess returns the value for queue.Options.InProcess. Such a connection needs User and
// Password too. It finds the server again after Restart.
func (s *Server) InProcess() nats.InProcessConnProvider { return inProcess{s} }

type inProcess struct{ s *Server }

// InProcessConn opens a connection to the running server. It fails at once while no server runs,
// for example during a restart.
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

// current returns the running server. It is nil during a restart, after a failed restart and after
// Shutdown.
func (s *Server) current() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ns
}

// User returns the name that clients must present; empty if they need none.
func (s *Server) User() string { return s.opts.User }

// Password returns the password of User.
func (s *Server) Password() string { return s.opts.Password }

// ClientURL returns the address of the listener without the credentials; empty if there is no
// listener.
func (s *Server) ClientURL() string { return s.url }

// MaxStore returns how many bytes all streams together may reserve. Pass it to Budget.
func (s *Server) MaxStore() int64 { return s.opts.MaxStore }

// BootID identifies this run of the server. Every run has another one.
func (s *Server) BootID() string { return s.bootID }

// WasClean reports whether the previous run ended with Shutdown, or there was none. After any other
// end the acknowledged messages of the last SyncInterval may be missing.
func (s *Server) WasClean() bool { return s.clean }

// Shutdown stops the server, waits until its files are closed and unlocks the directory. Further
// calls do nothing.
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

// stop ends the running server, and reports whether there was one.
func (s *Server) stop() bool {
	s.mu.Lock()
	ns, pipes := s.ns, s.pipes
	s.ns, s.pipes = nil, make(map[*pipe]struct{})
	s.mu.Unlock()
	if ns == nil {
		return false
	}
	// First close the connections of the clients in this process. Otherwise these clients would
	// answer the server's last messages with new requests, while the server waits, holding its
	// locks, until those messages are sent.
	for p := range pipes {
		_ = p.Conn.Close()
	}
	// Clients that closed their connections themselves may have sent a request just before.
	// Answering it takes the same locks, so wait for that too.
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

// dropWithin limits how long to wait until the server notices that its clients are gone.
const dropWithin = 50 * time.Millisecond

// Restart stops the server and starts it again with the same directory and port. Clients reconnect
// by themselves. After an error the caller may try Restart again. The server calls Restart itself
// when a full disk has ended a stream and there is free space again.
func (s *Server) Restart() error {
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	if s.stopped {
		return errors.New("embedded NATS: restart after Shutdown")
	}
	s.stop()
	select {
	case <-s.broken: // reported by the server that was stopped
	default:
	}
	ns, err := s.run()
	if err != nil {
		return fmt.Errorf("restart embedded NATS in %s: %w", s.opts.Dir, err)
	}
	s.set(ns)
	return nil
}
