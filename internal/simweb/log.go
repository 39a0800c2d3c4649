package simweb

import (
	"net"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// Log returns a copy of the requests that are kept in memory, in the order in which they began. An
// answer of more than one write may still be logged as incomplete just after its client has
// received the end of it.
func (w *Web) Log() []requestlog.Request { return w.log.Requests() }

// LogDropped returns how many requests came after the log was full. A log that dropped requests is
// still usable: it is the first part of the complete log.
func (w *Web) LogDropped() int64 { return w.log.Dropped() }

// ResetLog forgets the requests in memory, also those whose answer is not complete. The file does
// not change.
func (w *Web) ResetLog() { w.log.Reset() }

// SetLog switches the log in memory on or off.
func (w *Web) SetLog(on bool) { w.log.Enable(on) }

// FlushLog writes the buffered lines to the log file. Without it, a line is in the file within
// 100 ms of its answer.
func (w *Web) FlushLog() error { return w.log.Flush() }

// facts makes the log record of a request that begins.
func (w *Web) facts(s *site, q *request, start time.Time) requestlog.Request {
	r := requestlog.Request{Start: start, Method: q.method, Path: q.path, Range: q.byteRange, UserAgent: q.agent, Peer: q.peer, Signer: q.signer, Robots: q.path == "/robots.txt"}
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
	token := requestlog.ProductToken(q.agent)
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

// addressOf returns an address without its port, or "" if it has none, as in a request that a test
// made up.
func addressOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return ""
	}
	return host
}

// Sent is an answer as it went over the wire.
type Sent struct {
	URL     string
	Bytes   []byte
	Aborted bool // the client did not take all of it
}

// sentLog records answers, if Config.KeepSent is set.
type sentLog struct {
	mu  sync.Mutex // guards all
	all []Sent
}

// Sent returns the answers so far, in the order in which they ended. With Config.KeepSent only.
func (w *Web) Sent() []Sent {
	w.sent.mu.Lock()
	defer w.sent.mu.Unlock()
	return append([]Sent(nil), w.sent.all...)
}

func (l *sentLog) add(s Sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}
