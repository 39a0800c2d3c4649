package simweb

import (
	"net"
	"sync"
	"time"
)

// Request is one line of the log: a request as the origin saw it, and facts about it that follow
// from how the web was made.
type Request struct {
	// End is zero until the answer is complete; the package comment defines both times
	Start, End time.Time
	Host       string // name in lower case, without a port
	Origin     string // host, and port unless it is 80; over TLS too
	Method     string
	Path       string // with the query
	Range      string // the header
	Status     int    // 0 if no answer was given
	Bytes      int64  // sent, head included; under ServeHTTP without it
	Aborted    bool   // the client closed before the answer was complete
	UserAgent  string
	Peer       string // address the client came from, without its port
	Signer     string // who signed the request (Web Bot Auth), as the request itself states it

	Forbidden  bool          // robots.txt of the host forbids it to the User-Agent's product token
	Hidden     bool          // only nofollow links lead here
	Robots     bool          // a robots.txt, or a hop of a redirected one
	CrawlDelay time.Duration // from the robots.txt of the host, for this product token
	RetryAfter time.Duration // from this answer
}

// logbook keeps the requests, and writes them to a file when it has one.
type logbook struct {
	mu      sync.Mutex // guards all fields below
	on      bool
	limit   int
	kept    []Request
	dropped int64
	round   int // counts resets: an answer that began before a reset is not logged after it
	file    *logFile
	toFile  bool // there is a file; set before the first request is served
}

// entry is a request whose answer is not complete yet.
type entry struct {
	r       Request
	index   int // in kept, or -1
	round   int
	settled bool
}

func (l *logbook) begin(r Request) entry {
	e := entry{r: r, index: -1}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on {
		return e
	}
	if len(l.kept) >= l.limit {
		l.dropped++
		return e
	}
	e.index, e.round = len(l.kept), l.round
	l.kept = append(l.kept, r)
	return e
}

// settle logs an answer as complete before it is written, which one write does: so a client that
// has received the answer finds it in the log.
func (l *logbook) settle(e *entry, status int, asks time.Duration, size int) {
	e.settled = true
	e.r.End, e.r.Status, e.r.RetryAfter, e.r.Bytes = time.Now(), status, asks, int64(size)
	l.keep(e)
}

func (l *logbook) keep(e *entry) {
	if e.index < 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.round == l.round {
		l.kept[e.index] = e.r
	}
}

// end logs how the answer ended. After settle it only does so if the client closed the connection
// in between.
func (l *logbook) end(e *entry, end time.Time, status int, asks time.Duration, sent int64, gone bool) {
	if !e.settled || gone {
		e.r.End, e.r.Status, e.r.RetryAfter, e.r.Bytes, e.r.Aborted = end, status, asks, sent, gone
		l.keep(e)
	}
	if l.toFile {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.file != nil {
			l.file.add(&e.r)
		}
	}
}

// Log returns a copy of the requests that are kept in memory, in the order in which they began. An
// answer of more than one write may still be logged as incomplete just after its client has
// received the end of it.
func (w *Web) Log() []Request {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return append([]Request(nil), w.log.kept...)
}

// LogDropped returns how many requests came after the log was full. A log that dropped requests is
// still usable: it is the first part of the complete log.
func (w *Web) LogDropped() int64 {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.dropped
}

// ResetLog forgets the requests in memory, also those whose answer is not complete. The file does
// not change.
func (w *Web) ResetLog() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.kept, w.log.dropped = nil, 0
	w.log.round++
}

// SetLog switches the log in memory on or off.
func (w *Web) SetLog(on bool) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.on = on && w.log.limit > 0
}

// facts makes the log record of a request that begins.
func (w *Web) facts(s *site, q *request, start time.Time) Request {
	r := Request{Start: start, Method: q.method, Path: q.path, Range: q.byteRange, UserAgent: q.agent, Peer: q.peer, Signer: q.signer, Robots: q.path == "/robots.txt"}
	if s == nil {
		r.Host, r.Origin = normalHost(q.host), normalOrigin(q.host)
		return r
	}
	r.Host, r.Origin = s.name, s.name
	if len(q.host) != len(s.name) {
		r.Origin = normalOrigin(q.host)
	} else if q.secure {
		r.Origin += ":443"
	}
	token := productToken(q.agent)
	r.CrawlDelay = s.crawlDelay(token)
	if r.Robots {
		return r
	}
	r.Forbidden = s.forbidden(q.path, token)
	if res := s.special[q.path]; res != nil {
		r.Hidden, r.Robots = res.hidden, res.robots
	}
	return r
}

// normalOrigin returns a Host header in lower case, without the port if that is 80.
func normalOrigin(h string) string {
	name := normalHost(h)
	if len(h) > len(name) {
		for i := len(h) - 1; i >= 0; i-- {
			if h[i] == ':' {
				if port := h[i:]; port != ":80" {
					return name + port
				}
				break
			}
		}
	}
	return name
}

// productToken returns the letters, hyphens and underscores at the start of a User-Agent.
func productToken(agent string) string {
	i := 0
	for i < len(agent) && (agent[i]|0x20 >= 'a' && agent[i]|0x20 <= 'z' || agent[i] == '-' || agent[i] == '_') {
		i++
	}
	return agent[:i]
}

// addressOf returns an address without its port, or "" if it has none, as in a request that a test
// made up.
func addressOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return ""
	}
	return host
}
