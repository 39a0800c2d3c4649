package simulation

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/requestlog"
	"github.com/curtsy/curtsy/pkg/atp"
)

// exchange is a request as a fetcher saw it. The web has the server's view of it in its own log.
type exchange struct {
	l *life
	// With a server for robots, path is "/", as in the log of the web.
	host, path string
	wrote      time.Time
	answered   bool // some bytes of the answer were read
	// The time at which the head of an answer with a Retry-After had been read, or zero.
	asked time.Time
	// The time at which the connection was closed before another request was sent, or zero.
	closed time.Time
}

// exchanges has the exchanges of all fetchers.
type exchanges struct {
	mu  sync.Mutex // guards all, and what its elements point to
	all []*exchange
}

// watchedConn is a connection to the web whose exchanges are recorded.
type watchedConn struct {
	net.Conn
	l *life

	// guarded by exchanges.mu
	last *exchange
	head []byte // of the answer
}

func (c *watchedConn) Write(b []byte) (int, error) {
	if line, rest, ok := bytes.Cut(b, []byte("\r\n")); ok {
		if f := strings.Fields(string(line)); len(f) == 3 && (strings.HasPrefix(f[2], "HTTP/") || strings.HasPrefix(f[2], "ATP/")) {
			x := &exchange{l: c.l, host: hostOf(rest), path: f[1], wrote: time.Now()}
			if a, err := atp.ParseAddress(f[1]); err == nil {
				x.host, x.path = a.Host, "/"
			}
			all := &c.l.s.w.exchanges
			all.mu.Lock()
			all.all = append(all.all, x)
			c.last, c.head = x, nil
			all.mu.Unlock()
		}
	}
	return c.Conn.Write(b)
}

// hostOf returns the host in the head of a request.
func hostOf(head []byte) string {
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && http.CanonicalHeaderKey(name) == "Host" {
			host, _, _ := strings.Cut(strings.TrimSpace(value), ":")
			return strings.ToLower(host)
		}
	}
	return ""
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	all := &c.l.s.w.exchanges
	all.mu.Lock()
	defer all.mu.Unlock()
	if x := c.last; x != nil && n > 0 {
		x.answered = true
		if len(c.head) < 64<<10 {
			c.head = append(c.head, b[:n]...)
			head, _, whole := bytes.Cut(c.head, []byte("\r\n\r\n"))
			if whole && x.asked.IsZero() && bytes.Contains(bytes.ToLower(head), []byte("\r\nretry-after:")) {
				x.asked = time.Now()
			}
		}
	}
	return n, err
}

func (c *watchedConn) Close() error {
	all := &c.l.s.w.exchanges
	all.mu.Lock()
	if c.last != nil && c.last.closed.IsZero() {
		c.last.closed = time.Now()
	}
	all.mu.Unlock()
	return c.Conn.Close()
}

// abandoned reports whether a request reached the web after its fetcher had closed the connection
// without having read anything: it was in transit while the web was cut off. No crawler can take
// such a request back.
func (a *exchanges) abandoned(r requestlog.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.all {
		if x.host == r.Host && x.path == r.Path && !x.answered && !x.wrote.After(r.Start) && !x.closed.IsZero() && x.closed.Before(r.Start) {
			return true
		}
	}
	return false
}

// unheard reports whether a request is excused that came before the end of a pause which an earlier
// answer had asked for. Either no fetcher had read the head of that answer; or the fetcher that had
// read it was dead or cut off from the broker at that time, and still when the request came: then
// no other fetcher could know.
func (w *world) unheard(v requestlog.Violation) bool {
	w.exchanges.mu.Lock()
	defer w.exchanges.mu.Unlock()
	for _, x := range w.exchanges.all {
		if x.host != v.Previous.Host || x.path != v.Previous.Path || x.asked.IsZero() || x.wrote.After(v.Previous.End) || x.asked.Before(v.Previous.End.Add(-ms)) || x.asked.After(v.Request.Start) {
			continue
		}
		if !w.faults.silent(x.l, x.asked, v.Request.Start) {
			return false
		}
	}
	return true
}
