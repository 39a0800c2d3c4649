package agentserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/atp"
)

// Server is a simulated server for mobile robots. Its methods may be called concurrently.
type Server struct {
	opt Options

	mu      sync.Mutex // guards the fields below
	random  *rand.Rand
	runs    map[string]*run
	running int
	nonces  map[string]bool
	modules map[string]bool // by their digests
	conns   map[net.Conn]struct{}
	counts  Counts
	closed  bool

	busy, cuts, forgets int // how many of these faults remain

	work sync.WaitGroup // the robots
}

// Counts are what a server did so far.
type Counts struct {
	Exchanges int // requests of all methods
	Runs      int // robots that were accepted
	Modules   int // modules that were received
	Refused   int // requests that were answered with 400 or more
	Documents int // that were sent
	Unchanged int // that were not sent, because the crawl has them
}

// New makes a server. Close ends it.
func New(o Options) *Server {
	o.Behavior = o.withDefaults()
	s := &Server{opt: o, random: rand.New(rand.NewPCG(uint64(o.Seed), 30)), conns: map[net.Conn]struct{}{}, busy: o.Busy, cuts: o.Cuts, forgets: o.Forgets}
	s.forget()
	return s
}

// forget drops all files. The caller has locked mu, except in New.
func (s *Server) forget() {
	s.runs, s.nonces, s.modules = map[string]*run{}, map[string]bool{}, map[string]bool{}
}

// Address is where the server is.
func (s *Server) Address() atp.Address { return s.opt.Address }

// Counts returns what the server did so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Restart resets all connections and ends all robots, as when the machine restarts. Without its
// files the server also forgets all runs, tickets and modules.
func (s *Server) Restart(forget bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.runs {
		r.cancel(errInterrupted)
	}
	for c := range s.conns {
		reset(c)
	}
	if forget {
		s.forget()
	}
}

// Close ends all robots and waits for them. Connections are closed by whoever serves them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for _, r := range s.runs {
		r.cancel(errInterrupted)
	}
	s.mu.Unlock()
	s.work.Wait()
}

// reset closes a connection so that the other end notices that this is not the end of the response.
func reset(c net.Conn) {
	if tcp, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0) // then it is closed without a reset
	}
	_ = c.Close() // it may be closed already
}

// Serve answers the one request of a connection. find returns the server for the address that the
// request names, or nil. It is called once. What was already read of the connection is in read.
func Serve(ctx context.Context, conn net.Conn, read *bufio.Reader, find func(atp.Address) *Server) {
	l := &single{conn: &buffered{Conn: conn, read: read}, done: make(chan struct{})}
	l.conn.closed = l.done
	server := atp.Server{MaxBody: mobile.MaxBody, Receive: 5 * time.Minute, Log: slog.New(slog.DiscardHandler), Handler: atp.HandlerFunc(func(ctx context.Context, w *atp.ResponseWriter, r *atp.Request) error {
		a, err := atp.ParseAddress(r.URI)
		if err != nil {
			return refuse(400, "the URI is not the address of this server")
		}
		s := find(a)
		if s == nil {
			return refuse(404, "there is no server for robots here")
		}
		return s.exchange(ctx, w, r, l.conn)
	})}
	_ = server.Serve(ctx, l) // when the connection is closed
}

// single is a listener with one connection.
type single struct {
	conn  *buffered
	given bool
	done  chan struct{} // closed with the connection
}

func (l *single) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *single) Close() error   { return l.conn.Close() }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }

// buffered is a connection of which something was read already.
type buffered struct {
	net.Conn
	read   *bufio.Reader
	once   sync.Once
	closed chan struct{}
}

func (c *buffered) Read(p []byte) (int, error) { return c.read.Read(p) }

func (c *buffered) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}

// CloseWrite ends the direction to the client.
func (c *buffered) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// exchange is one request as the log sees it.
type exchange struct {
	status int
	asks   time.Duration
	sent   int64
	end    time.Time // zero: when the handler returns
	gone   bool      // the client left
	cut    bool      // the server cut the connection
}

// exchange answers a request and logs it.
func (s *Server) exchange(ctx context.Context, w *atp.ResponseWriter, r *atp.Request, conn *buffered) error {
	entry := requestlog.Entry{}
	if s.opt.Log != nil {
		entry = s.opt.Log.Begin(s.facts(r))
	}
	s.mu.Lock()
	s.counts.Exchanges++
	if s.closed {
		s.mu.Unlock()
		return refuse(503, "the server stops")
	}
	s.conns[conn.Conn] = struct{}{}
	s.mu.Unlock()
	x := &exchange{status: 200}
	err := s.answer(ctx, w, r, conn, x)
	var refusal *atp.StatusError
	if errors.As(err, &refusal) {
		x.status, x.asks = refusal.Status, refusal.RetryAfter
	}
	s.mu.Lock()
	delete(s.conns, conn.Conn)
	if x.status >= 400 {
		s.counts.Refused++
	}
	s.mu.Unlock()
	if x.end.IsZero() {
		x.end = time.Now()
	}
	if s.opt.Log != nil {
		s.opt.Log.End(&entry, x.end, x.status, x.asks, x.sent, x.gone && !x.cut)
	}
	return err
}

// facts makes the log record of a request that begins.
func (s *Server) facts(r *atp.Request) requestlog.Request {
	q := requestlog.Request{
		Start: time.Now(), Host: s.opt.Address.Host, Origin: s.opt.Address.HostPort(), Method: string(r.Method), Path: "/", Range: r.Header.Get(atp.Range),
		UserAgent: r.Header.Get(atp.UserAgent), Peer: r.Remote.Addr().String(), Agent: true,
	}
	if s.opt.CrawlDelay != nil {
		q.CrawlDelay = s.opt.CrawlDelay(requestlog.ProductToken(q.UserAgent))
	}
	return q
}

func (s *Server) answer(ctx context.Context, w *atp.ResponseWriter, r *atp.Request, conn *buffered, x *exchange) error {
	switch r.Method {
	case atp.Dispatch:
		x.status = 202
		return s.dispatch(w, r)
	case atp.Fetch, atp.Message, atp.Retract:
	default:
		return refuse(501, "the methods here are DISPATCH, FETCH, MESSAGE and RETRACT")
	}
	id := r.Header.Get(atp.AgentID)
	if id == "" {
		return refuse(400, "the header Agent-Id is missing")
	}
	run := s.find(id, r.Method == atp.Fetch)
	if run == nil {
		return refuse(404, "there is no such run")
	}
	ctx, stop := watch(ctx, conn)
	defer func() { x.gone = stop() || x.gone }()
	switch r.Method {
	case atp.Fetch:
		return s.fetch(ctx, w, r, run, conn, x)
	case atp.Retract:
		run.cancel(errRetracted)
		select {
		case <-run.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	body, err := json.Marshal(run.state())
	if err != nil {
		return err
	}
	w.Header().Set(atp.ContentType, "application/json")
	if err := w.Start(200, "OK", int64(len(body))); err != nil {
		return err
	}
	x.sent = int64(len(body))
	_, err = w.Write(body)
	return err
}

// find returns a run. It is where a server forgets its runs.
func (s *Server) find(id string, fetch bool) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil || !fetch {
		return r
	}
	if r.fetched++; r.fetched > 1 && s.forgets > 0 {
		s.forgets--
		for _, r := range s.runs {
			r.cancel(errInterrupted)
		}
		s.forget()
		return nil
	}
	return r
}

// watch ends a context when the client leaves. Nobody else reads from the connection until stop was
// called, which reports whether the client has left.
func watch(ctx context.Context, conn *buffered) (_ context.Context, stop func() (gone bool)) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan bool, 1)
	_ = conn.SetReadDeadline(time.Time{}) // if it is closed, Peek notices this too
	go func() {
		_, err := conn.read.Peek(1)
		var timeout net.Error
		left := err != nil && !(errors.As(err, &timeout) && timeout.Timeout())
		if left {
			cancel()
		}
		over <- left
	}()
	return ctx, func() bool {
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // likewise
		left := <-over
		cancel()
		return left
	}
}

// fetchWait is how long a FETCH waits for more octets, as at a real host.
const fetchWait = 30 * time.Second

// fetch sends results from an octet on.
func (s *Server) fetch(ctx context.Context, w *atp.ResponseWriter, r *atp.Request, run *run, conn *buffered, x *exchange) error {
	var from int64
	size, ended, _ := run.progress()
	if value := r.Header.Get(atp.Range); value != "" {
		if n, err := fmt.Sscanf(value, "octets=%d-", &from); n != 1 || err != nil || from < 0 {
			return refuse(400, "a Range is octets=N-, where N is the first octet")
		}
		x.status = 206
	}
	if from > size {
		return refuse(416, fmt.Sprintf("there are %d octets", size))
	}
	length, total := int64(-1), "*"
	if ended {
		length, total = size-from, fmt.Sprint(size)
	}
	if x.status == 206 && length != 0 {
		w.Header().Set(atp.ContentRange, fmt.Sprintf("octets %d-/%s", from, total))
	}
	if s.opt.Hostile == WrongRange && from > 0 {
		from, length = 0, -1
	}
	w.Header().Set(atp.ContentType, mobile.ResultType)
	if err := w.Start(x.status, "here it is", length); err != nil {
		return err
	}
	x.end = time.Now()
	if err := w.Flush(); err != nil {
		x.gone = true
		return err
	}
	out := &pipe{w: w, x: x, left: -1, rate: s.opt.Rate, ctx: ctx, cut: func() { x.cut = true; reset(conn.Conn) }}
	s.mu.Lock()
	if s.cuts > 0 && (size > 0 || !ended) {
		s.cuts--
		out.left = s.random.Int64N(max(size-from, 2048))
	}
	s.mu.Unlock()
	err := run.send(ctx, from, out)
	x.gone = ctx.Err() != nil || err != nil && !x.cut
	if x.gone || length < 0 { // the end of the connection is the end of the response
		x.end = time.Now()
	}
	return err
}

// pipe is the way of results to the client.
type pipe struct {
	w    *atp.ResponseWriter
	x    *exchange
	left int64 // octets until the connection is cut; negative: it is not
	rate int
	ctx  context.Context
	cut  func()
}

var errCut = errors.New("the connection was cut")

func (p *pipe) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		piece := b[:min(len(b), 8<<10)]
		if p.left >= 0 {
			piece = piece[:min(int64(len(piece)), p.left)]
		}
		if p.rate > 0 {
			select {
			case <-time.After(time.Duration(len(piece)) * time.Second / time.Duration(p.rate)):
			case <-p.ctx.Done():
				return n, p.ctx.Err()
			}
		}
		p.x.end = time.Now()
		k, err := p.w.Write(piece)
		n, p.x.sent, b = n+k, p.x.sent+int64(k), b[k:]
		if err == nil {
			err = p.w.Flush()
		}
		if err != nil {
			return n, err
		}
		if p.left >= 0 {
			if p.left -= int64(k); p.left <= 0 {
				p.cut()
				return n, errCut
			}
		}
	}
	return n, nil
}

var _ io.Writer = (*pipe)(nil)

func refuse(status int, reason string) error {
	return &atp.StatusError{Status: status, Reason: reason}
}
