package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

// Rig starts what an attack needs, and ends all of it with the attack.
type Rig struct {
	Bin    string        // curtsy
	Dir    string        // of this attack, empty at first
	Window time.Duration // how long a crawl is attacked

	shared *shared
}

// shared is what attacks have in common.
type shared struct {
	root  string
	keep  bool
	alone map[string]float64 // pages a second of good sites without an attack, by the arguments
}

func newRig(ctx context.Context, s settings) (*Rig, error) {
	root, err := s.keep, error(nil)
	if root == "" {
		root, err = os.MkdirTemp("", "curtsy-attack-")
	} else {
		err = os.Mkdir(root, 0o755)
	}
	if err != nil {
		return nil, err
	}
	r := &Rig{Bin: s.bin, Dir: root, Window: s.window, shared: &shared{root: root, keep: s.keep != "", alone: map[string]float64{}}}
	if r.Bin == "" {
		r.Bin = filepath.Join(root, "bin", "curtsy")
		if err := command.Build(ctx, filepath.Dir(r.Bin), "./cmd/curtsy"); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}

// of is the rig of one attack.
func (r *Rig) of(attack string) *Rig {
	return &Rig{Bin: r.Bin, Dir: filepath.Join(r.shared.root, attack), Window: r.Window, shared: r.shared}
}

// close removes all files, unless they are kept.
func (r *Rig) close() error {
	if r.shared.keep {
		return nil
	}
	return os.RemoveAll(r.shared.root)
}

// File is a path in the directory of the attack, which it makes.
func (r *Rig) File(name string) string {
	_ = os.MkdirAll(r.Dir, 0o755) // whoever writes the file has the error
	return filepath.Join(r.Dir, name)
}

// Origin is a server of the attacker, or of a good site.
type Origin struct {
	Addr        string // host:port
	Connections atomic.Int64
	Bytes       atomic.Int64 // sent

	server *http.Server
	mu     sync.Mutex
	hosts  map[string]int // requests
}

// Serve starts a server on a free port of a loopback address, for example 127.0.0.2.
func (r *Rig) Serve(address string, h http.Handler) (*Origin, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	o := &Origin{Addr: l.Addr().String(), hosts: map[string]int{}}
	o.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		o.mu.Lock()
		o.hosts[q.Host]++
		o.mu.Unlock()
		h.ServeHTTP(w, q)
	})}
	go func() { _ = o.server.Serve(counted{l, o}) }()
	return o, nil
}

// Close ends the server and its connections.
func (o *Origin) Close() { _ = o.server.Close() }

// Port is the port of the server.
func (o *Origin) Port() string {
	_, port, _ := net.SplitHostPort(o.Addr)
	return port
}

// Requests is how many requests came for a host, given as in the header Host.
func (o *Origin) Requests(host string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hosts[host]
}

// counted counts connections, and what is written to them.
type counted struct {
	net.Listener
	o *Origin
}

// Accept implements [net.Listener].
func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.o.Connections.Add(1)
		c = countedConn{c, l.o}
	}
	return c, err
}

type countedConn struct {
	net.Conn
	o *Origin
}

// Write implements [net.Conn].
func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.o.Bytes.Add(int64(n))
	return n, err
}

// Process is a running curtsy.
type Process struct {
	cmd    *exec.Cmd
	output string
	done   chan struct{}
	err    error
	began  time.Time

	mu   sync.Mutex
	took Took
}

// Start starts curtsy with its output in a file of the attack, and watches what it uses.
func (r *Rig) Start(ctx context.Context, name string, args ...string) (*Process, error) {
	return r.StartWith(ctx, name, nil, r.Bin, args...)
}

// StartWith starts a program, for example a shell that sets a limit and becomes curtsy, with
// variables of the environment added.
func (r *Rig) StartWith(ctx context.Context, name string, env []string, program string, args ...string) (*Process, error) {
	out, err := os.Create(r.File(name + ".out"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &Process{cmd: exec.CommandContext(ctx, program, args...), output: out.Name(), done: make(chan struct{}), began: time.Now()}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = out, out, append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	go p.watch()
	return p, nil
}

// watch notes the most that the process used.
func (p *Process) watch() {
	for tick := time.Tick(100 * time.Millisecond); ; {
		m := command.MemoryOf(p.cmd.Process.Pid)
		files, _ := os.ReadDir("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/fd")
		p.mu.Lock()
		p.took.RSS = max(p.took.RSS, m.Anonymous+m.Files)
		p.took.Files = max(p.took.Files, len(files))
		p.mu.Unlock()
		select {
		case <-p.done:
			return
		case <-tick:
		}
	}
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output is what the process has printed so far.
func (p *Process) Output() string {
	text, _ := os.ReadFile(p.output)
	return string(text)
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait waits for the end of the process and returns its exit code. It kills the process, and
// returns -1, if that takes longer than d or the context ends.
func (p *Process) Wait(ctx context.Context, d time.Duration) int {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-ctx.Done():
	case <-time.After(d):
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	return -1
}

// Stop interrupts the process, waits for its end, and returns what it used.
func (p *Process) Stop() Took {
	if !p.Ended() {
		_ = p.cmd.Process.Signal(syscall.SIGINT)
	}
	p.Wait(context.Background(), 10*time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.took
	t.CPU = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	return t
}

// Printed waits until the process has printed a text.
func (p *Process) Printed(ctx context.Context, text string) error {
	return until(ctx, 30*time.Second, func() (bool, error) {
		if bytes.Contains([]byte(p.Output()), []byte(text)) {
			return true, nil
		}
		if p.Ended() {
			return false, fmt.Errorf("curtsy ended: %s", p.Output())
		}
		return false, nil
	})
}

// Answers waits until a URL of the process is answered with 200.
func (p *Process) Answers(ctx context.Context, url string) error {
	return until(ctx, 30*time.Second, func() (bool, error) {
		if p.Ended() {
			return false, fmt.Errorf("curtsy ended: %s", p.Output())
		}
		resp, err := http.Get(url)
		if err != nil {
			return false, nil
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
}

// until asks again and again until it is so.
func until(ctx context.Context, d time.Duration, is func() (bool, error)) error {
	for end := time.Now().Add(d); ; {
		switch yes, err := is(); {
		case err != nil || yes:
			return err
		case time.Now().After(end):
			return errors.New("it did not happen in " + d.String())
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// freePort is an address on which nothing listens at the moment.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
