// Package webhooktest is a stand-in for a server of the webhook feed in tests. It is in memory and
// follows the documentation of package webhook: a page whose version is not higher than the stored
// one changes nothing, a deleted page keeps its version, and a request with "sweep" deletes what
// the shard has of earlier generations.
package webhooktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/feed/webhook"
)

// Config is what a server is like.
type Config struct {
	Secret string // requests must be signed with it; empty: signatures are not checked
	// Request, if not nil, is called for each request, counted from 1.
	Request func(n int) Fault
	// Refuse, if not nil, returns why a row is refused for good, "" if it is not. Deletions are
	// never refused.
	Refuse func(id string, row []byte) string
}

// Fault is what goes wrong with a request. The zero value is nothing.
type Fault struct {
	Status     int    // the answer; nothing is stored
	RetryAfter string // the header with it
	// Part, if not 0, is how many changes are stored before the connection is reset, without an
	// answer.
	Part int
	// After is the answer after everything was stored; 0: 200.
	After int
}

// Server is a stand-in. Its methods may be called concurrently.
type Server struct {
	Addr string // IP and port, if it was started with Start

	config   Config
	mu       sync.Mutex // guards what is below
	requests int
	pages    map[string]page
	errors   []error
}

// page is what is stored of a page.
type page struct {
	version, generation int64
	crawl               string
	shard               int
	removed             bool
	row                 json.RawMessage
}

// New makes a server that does not listen.
func New(c Config) *Server { return &Server{config: c, pages: map[string]page{}} }

// Start runs a server until the test ends. Listen is that of a simnet. Requests that are not as
// documented fail the test.
func Start(t testing.TB, listen func(network, address string) (net.Listener, error), c Config) *Server {
	t.Helper()
	l, err := listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(c)
	s.Addr = l.Addr().String()
	h := &http.Server{Handler: s}
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Serve(l) }()
	t.Cleanup(func() {
		_ = h.Close()
		<-done
		for _, err := range s.Errors() {
			t.Error(err)
		}
	})
	return s
}

// Errors are what was wrong with requests.
func (s *Server) Errors() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errors
}

// Requests is how many requests came.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Pages are the lines of the pages that are stored and not deleted, by their IDs.
func (s *Server) Pages() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]json.RawMessage{}
	for id, p := range s.pages {
		if !p.removed {
			all[id] = p.row
		}
	}
	return all
}

// request is a request in either format.
type request struct {
	Crawl      string
	Shard      int
	Generation int64
	Sweep      bool
	Changes    []json.RawMessage
}

// read reads a request in either format.
func read(h http.Header, body []byte) (q request, err error) {
	if h.Get("Content-Type") != "application/x-ndjson" {
		err = json.Unmarshal(body, &q)
		return q, err
	}
	q.Crawl = h.Get("Curtsy-Crawl")
	var bad error
	q.Shard, err = strconv.Atoi(h.Get("Curtsy-Shard"))
	q.Generation, bad = strconv.ParseInt(h.Get("Curtsy-Generation"), 10, 64)
	for line := range bytes.Lines(body) {
		q.Changes = append(q.Changes, bytes.TrimSuffix(line, []byte("\n")))
	}
	if err == nil {
		err = bad
	}
	return q, err
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	var fault Fault
	if s.config.Request != nil {
		fault = s.config.Request(s.requests)
	}
	if fault.Status != 0 {
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		w.WriteHeader(fault.Status)
		return
	}
	q, err := read(r.Header, body)
	if err == nil {
		err = s.signed(r.Header.Get("Curtsy-Signature"), body)
	}
	if err != nil {
		s.errors = append(s.errors, fmt.Errorf("webhook: %w: %.200s", err, body))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	refused := []map[string]string{}
	for i, row := range q.Changes {
		if fault.Part > 0 && i >= fault.Part {
			break
		}
		if id, reason := s.change(&q, row); reason != "" {
			refused = append(refused, map[string]string{"id": id, "reason": reason})
		}
	}
	if fault.Part > 0 {
		panic(http.ErrAbortHandler)
	}
	for id, p := range s.pages {
		if q.Sweep && p.crawl == q.Crawl && p.shard == q.Shard && p.generation < q.Generation {
			delete(s.pages, id)
		}
	}
	if fault.After != 0 {
		w.WriteHeader(fault.After)
		return
	}
	// An error means that nobody waits for the answer.
	_ = json.NewEncoder(w).Encode(map[string]any{"refused": refused})
}

// signed checks the signature of a request.
func (s *Server) signed(signature string, body []byte) error {
	if s.config.Secret == "" {
		return nil
	}
	var at int64
	if _, err := fmt.Sscanf(signature, "t=%d,", &at); err != nil || signature != webhook.Sign(s.config.Secret, time.Unix(at, 0), body) {
		return fmt.Errorf("the signature %q is not valid", signature)
	}
	return nil
}

// change stores a change, unless it is refused. The caller has locked mu.
func (s *Server) change(q *request, row json.RawMessage) (id, refused string) {
	var c struct {
		ID, Removed string
		Version     int64
	}
	if err := json.Unmarshal(row, &c); err != nil || c.ID == "" || c.Version == 0 {
		s.errors = append(s.errors, fmt.Errorf("webhook: a change is not valid: %v: %.200s", err, row))
		return "", ""
	}
	if s.config.Refuse != nil && c.Removed == "" {
		if reason := s.config.Refuse(c.ID, row); reason != "" {
			return c.ID, reason
		}
	}
	if c.Version > s.pages[c.ID].version {
		s.pages[c.ID] = page{c.Version, q.Generation, q.Crawl, q.Shard, c.Removed != "", row}
	}
	return c.ID, ""
}
