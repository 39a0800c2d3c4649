package simweb

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/agentserver"
	"github.com/curtsy/curtsy/pkg/atp"
)

// Server serves a Web on a listener of its own.
type Server struct {
	*Web
	ln   net.Listener
	cert *tls.Config // nil without Config.TLS
	wg   sync.WaitGroup
	ctx  context.Context // of the agent servers
	stop context.CancelFunc

	mu     sync.Mutex // guards conns, closed
	conns  map[net.Conn]struct{}
	closed bool
}

// Start builds the web, listens on cfg.Addr and serves until Close.
func Start(cfg Config) (*Server, error) {
	w := New(cfg)
	listen := net.Listen
	if cfg.Listen != nil {
		listen = cfg.Listen
	}
	ln, err := listen("tcp", w.cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("simulated web: %w", err)
	}
	if cfg.LogFile != "" {
		if err := w.log.Open(cfg.LogFile); err != nil {
			ln.Close()
			return nil, fmt.Errorf("simulated web: request log: %w", err)
		}
	}
	s := &Server{Web: w, ln: ln, conns: make(map[net.Conn]struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if cfg.TLS {
		if s.cert, err = certificate(w.Hosts()); err != nil {
			ln.Close()
			return nil, fmt.Errorf("simulated web: certificate: %w", err)
		}
	}
	s.wg.Go(s.accept)
	return s, nil
}

// Addr is where the server listens, host:port.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Port is the listener's port.
func (s *Server) Port() int { return s.ln.Addr().(*net.TCPAddr).Port }

// Resolve is the --resolve argument with which every host of the web resolves to this server.
func (s *Server) Resolve() string {
	return "*." + s.cfg.Domain + "=127.0.0.1:" + strconv.Itoa(s.Port())
}

// Close stops listening, closes all connections, waits for running answers, which count as aborted,
// and closes the log file. The log stays readable.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.ln.Close()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.stop()
	for _, a := range s.agents {
		a.Close()
	}
	s.wg.Wait()
	return s.log.Close()
}

func (s *Server) accept() {
	for {
		c, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors: others will be freed
			time.Sleep(5 * time.Millisecond)
			continue
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.conns[c] = struct{}{}
		s.wg.Go(func() { s.serve(c) })
		s.mu.Unlock()
	}
}

// serve answers the requests of one connection, one after the other.
func (s *Server) serve(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	q := request{peer: addressOf(c.RemoteAddr().String())}
	br := bufio.NewReaderSize(c, headLimit)
	conn := c
	if s.cert != nil {
		if first, err := br.Peek(1); err == nil && first[0] == tlsHandshake {
			conn, q.secure = tls.Server(begun{c, br}, s.cert), true
			br = bufio.NewReaderSize(conn, headLimit)
		}
	}
	if s.agents != nil && isATP(br) {
		agentserver.Serve(s.ctx, conn, br, func(a atp.Address) *agentserver.Server { return s.agents[a] })
		return
	}
	head := make([]byte, 0, 512)
	for n := 0; ; n++ {
		if err := readRequest(br, &q); err != nil {
			if errors.Is(err, errHead) {
				io.WriteString(conn, "HTTP/1.1 400 Sorry\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			}
			return
		}
		if readForm(br, &q) != nil {
			return
		}
		q.reused = n > 0
		if !s.exchange(&wire{conn: conn, br: br}, &q, head) {
			return
		}
		if _, err := br.Discard(int(q.length)); err != nil {
			return
		}
	}
}

// exchange answers one request and logs it. It returns whether the connection can be used again.
func (w *Web) exchange(c *wire, q *request, head []byte) bool {
	c.last = time.Now()
	c.keep = w.cfg.KeepSent
	s := w.byName[normalHost(q.host)]
	entry := w.log.Begin(w.facts(s, q, c.last))
	buf := getBuffer()
	r := w.respond(s, q, buf)
	ok := false
	switch {
	case !c.sleep(r.wait):
	case r.script != nil:
		r.script(c)
	default:
		head, body := appendHead(head, &r, q.close), r.body
		if q.method == "HEAD" {
			body = nil
		}
		if len(body) <= chunk {
			w.log.Settle(&entry, r.status, r.asks, len(head)+len(body))
		}
		ok = c.send(head, body) == nil && !q.close
	}
	putBuffer(buf)
	if c.sent == 0 {
		r.status, r.asks = 0, 0
	}
	w.log.End(&entry, c.last, r.status, r.asks, c.sent, c.gone)
	if c.keep {
		w.sent.add(Sent{"http://" + normalOrigin(q.host) + q.path, c.kept, c.gone})
	}
	return ok
}

// respond is answer, with what the host's behaviour adds to every reply.
func (w *Web) respond(s *site, q *request, buf *buffer) reply {
	if s != nil && s.b.DropReused && q.reused && w.first(s, q.path) {
		return reply{script: func(*wire) {}}
	}
	r := w.answer(s, q, buf)
	if s != nil {
		r.wait += s.wait(q.path)
	}
	return r
}

// first reports whether this is the first request for a path on a reused connection.
func (w *Web) first(s *site, path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := "reused " + s.name + path
	w.counts[key]++
	return w.counts[key] == 1
}
