package simweb

import (
	"net"
	"sync"
	"time"
)

// Request is one line of the log: a request as the origin saw it, with what the web knows about
// it by construction.
type Request struct {
	// End is zero while the answer is under way; see the package comment for what both mean
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
	Signer     string // in whose name it is signed (Web Bot Auth), as it says itself

	Forbidden  bool          // the host's robots.txt keeps this User-Agent's product token away
	Hidden     bool          // only nofollow links lead here
	Robots     bool          // a robots.txt, or a hop of a redirected one
	CrawlDelay time.Duration // what the host's robots.txt asks of this product token
	RetryAfter time.Duration // what this answer asked for
}

// logbook keeps the requests, and writes them to a file when it has one.
type logbook struct {
	mu      sync.Mutex // guards all below
	on      bool
	limit   int
	kept    []Request
	dropped int64
	round   int // counts resets, so that answers under way then are not mixed up
	file    *logFile
	toFile  bool // there is a file; set before anything is served
}

// entry is a request under way.
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

// settle logs an answer that is about to be written in one go as complete, so that a client that
// has it finds it logged.
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

// end logs what became of the answer; after settle that is news only if the client left meanwhile.
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

// Log is a copy of the requests kept in memory, in the order they began. An answer that was more
// than one write may still be logged as under way when its client has just had the end of it.
func (w *Web) Log() []Request {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return append([]Request(nil), w.log.kept...)
}

// LogDropped is how many requests came after the log was full. A log that dropped some is still
// sound: it is the first part.
func (w *Web) LogDropped() int64 {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.dropped
}

// ResetLog forgets the requests in memory, those under way too. The file is left alone.
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

// facts is a log record at the start of a request.
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

// normalOrigin is a Host header in lower case, without a port 80.
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

// productToken is the leading run of letters, - and _ of a User-Agent.
func productToken(agent string) string {
	i := 0
	for i < len(agent) && (agent[i]|0x20 >= 'a' && agent[i]|0x20 <= 'z' || agent[i] == '-' || agent[i] == '_') {
		i++
	}
	return agent[:i]
}

// addressOf is an address without its port; "" when there is none, as in a
// request made up by a test.
func addressOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return ""
	}
	return host
}
