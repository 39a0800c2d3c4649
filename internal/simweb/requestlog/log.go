// Package requestlog is the log of a simulated web: its requests, in memory and in a file of JSON
// lines, and the check that a crawler kept its promises ([Check], [CheckFile]).
//
// Start is the time when a request's head has been read. End is the time just before the last piece
// of the answer is passed to the kernel. The client cannot have had the whole answer earlier, so a
// gap that is too short in this log is too short by any clock, and a busy machine cannot make a
// polite crawler look impolite. If the client closes the connection while the answer is being
// written (or waited for), End is the moment when this was noticed and Aborted is set. A busy
// machine may notice it late, which is the purpose of [CheckOptions].AbortTolerance. An answer that
// fits the kernel's buffers is never Aborted. All times of one process follow the monotonic clock,
// also in the file.
package requestlog

import (
	"sync"
	"time"
)

// Request is one line of the log: a request as the origin saw it, and facts about it that follow
// from how the web was made.
type Request struct {
	// End is zero until the answer is complete; the package comment defines both
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
	Agent      bool          // an exchange with a server for mobile robots, which has no robots.txt
	CrawlDelay time.Duration // from the robots.txt of the host, for this product token
	RetryAfter time.Duration // from this answer
}

// Log keeps the requests in memory, and writes them to a file when it has one. Its methods may be
// called concurrently.
type Log struct {
	mu      sync.Mutex // guards all fields below
	on      bool
	limit   int
	kept    []Request
	dropped int64
	round   int // counts resets: an answer that began before a reset is not logged after it
	file    *logFile
	toFile  bool // there is a file; set before the first request is served
}

// New returns a log that keeps as many requests as limit says, and none if that is 0.
func New(limit int) *Log { return &Log{limit: limit, on: limit > 0} }

// Entry is a request whose answer is not complete yet. It belongs to the goroutine that answers.
type Entry struct {
	r       Request
	index   int // in kept, or -1
	round   int
	settled bool
}

// Begin logs a request that begins.
func (l *Log) Begin(r Request) Entry {
	e := Entry{r: r, index: -1}
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

// Settle logs an answer as complete before it is written, which one write does: so a client that
// has received the answer finds it in the log.
func (l *Log) Settle(e *Entry, status int, asks time.Duration, size int) {
	e.settled = true
	e.r.End, e.r.Status, e.r.RetryAfter, e.r.Bytes = time.Now(), status, asks, int64(size)
	l.keep(e)
}

func (l *Log) keep(e *Entry) {
	if e.index < 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.round == l.round {
		l.kept[e.index] = e.r
	}
}

// End logs how the answer ended. After Settle it only does so if the client closed the connection
// in between.
func (l *Log) End(e *Entry, end time.Time, status int, asks time.Duration, sent int64, gone bool) {
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

// Requests returns a copy of the requests that are kept in memory, in the order in which they
// began. An answer of more than one write may still be logged as incomplete just after its client
// has received the end of it.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Request(nil), l.kept...)
}

// Dropped returns how many requests came after the log was full. A log that dropped requests is
// still usable: it is the first part of the complete log.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Reset forgets the requests in memory, also those whose answer is not complete. The file does not
// change.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.dropped = nil, 0
	l.round++
}

// Enable switches the log in memory on or off.
func (l *Log) Enable(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = on && l.limit > 0
}

// ProductToken returns the letters, hyphens and underscores at the start of a User-Agent.
func ProductToken(agent string) string {
	i := 0
	for i < len(agent) && (agent[i]|0x20 >= 'a' && agent[i]|0x20 <= 'z' || agent[i] == '-' || agent[i] == '_') {
		i++
	}
	return agent[:i]
}
