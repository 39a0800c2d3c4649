// Package elastictest is a stand-in for Elasticsearch and OpenSearch in tests of the feed. It is in
// memory, and checks what it is sent as the two servers do by their documentation:
//
//   - The bodies of _bulk are lines of JSON, each ended by a line feed, with the type
//     application/x-ndjson. An action of index has a document in the next line, one of delete has
//     not. Each item has an answer of its own, in the same order. (Elasticsearch reference "Bulk
//     API", 8.17; OpenSearch "Bulk API", 3.0: an _id has 512 bytes at most.)
//   - With the version type external_gte, a version that is lower than that of the document is
//     a conflict, 409. A deleted document keeps its version for index.gc_deletes, 60 seconds, also
//     if there was no document. (Reference "Index API" and "Delete API", Versioning.)
//   - A request that is longer than http.max_content_length is answered with 413, one for which
//     there is no memory with 429 and es_rejected_execution_exception; an item has the same error
//     if its shard is busy (elastic/elasticsearch#42584, Smile-SA/elasticsuite#2174).
//   - A value that does not fit the type of its field is an error of the item, 400:
//     document_parsing_exception in Elasticsearch 8.8 and later, mapper_parsing_exception before
//     and in OpenSearch.
//   - With require_alias=true a name that is no alias is not made an index by a write, but answered
//     with index_not_found_exception. Otherwise a missing index is made, with a dynamic mapping.
//   - _delete_by_query sees what was there at the last refresh, once a second or by request. A
//     document that has changed since is a version conflict, which conflicts=proceed counts.
//     (Reference "Delete by query API".)
package elastictest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The products.
const (
	Elasticsearch = "elasticsearch"
	OpenSearch    = "opensearch"
)

// Config is what a server is like. The zero value is an Elasticsearch without security.
type Config struct {
	Product          string // empty: Elasticsearch
	MaxContentLength int64  // http.max_content_length in bytes; 0: 100 MB
	// Authorization is the only value of this header that is accepted; empty: any, and none.
	Authorization string
	// Forbidden are prefixes of "METHOD /path" that the account has no privilege for.
	Forbidden []string
	// Bulk, if not nil, is called for each request of _bulk, counted from 1.
	Bulk func(n int) Fault
}

// Fault is what goes wrong with a request of _bulk. The zero value is nothing.
type Fault struct {
	Status     int    // an answer for the whole request, such as 429; nothing is stored
	RetryAfter string // the header with it
	// Die resets the connection when Items items were stored, without an answer.
	Die   bool
	Items int
	// Item is the status for an item, such as 429; 0: no fault.
	Item func(id string) int
}

// Server is a stand-in. Its methods may be called concurrently.
type Server struct {
	Addr string // IP and port

	config Config
	mu     sync.Mutex // guards what is below
	bulks  int
	// Largest is the length of the longest body of _bulk.
	largest   int64
	requests  []string // "METHOD /path?query"
	indices   map[string]*index
	aliases   map[string]map[string]bool // by alias and index: it is the write index
	templates map[string]indexTemplate
}

// Start runs a server until the test ends. Listen is that of a simnet.
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
		// After an answer of 413 a connection stays open for a moment.
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = h.Shutdown(ctx)
		_ = h.Close()
		<-done
	})
	return s
}

// New makes a server that does not listen.
func New(c Config) *Server {
	if c.MaxContentLength == 0 {
		c.MaxContentLength = 100 << 20
	}
	return &Server{config: c, indices: map[string]*index{}, aliases: map[string]map[string]bool{}, templates: map[string]indexTemplate{}}
}

// Requests are the methods and paths of all requests, in their order.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Largest is the length of the longest body of _bulk that was accepted.
func (s *Server) Largest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.largest
}

// failure is an error in the form of both servers.
type failure struct {
	status       int
	kind, reason string
	cause        *failure
	retryAfter   string
}

func (f *failure) Error() string { return f.kind + ": " + f.reason }

func (f *failure) json() object {
	o := object{"type": f.kind, "reason": f.reason}
	if f.cause != nil {
		o["caused_by"] = f.cause.json()
	}
	return o
}

type object = map[string]any

func bad(format string, a ...any) *failure {
	return &failure{status: http.StatusBadRequest, kind: "illegal_argument_exception", reason: fmt.Sprintf(format, a...)}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := s.answer(r)
	if s.config.Product != OpenSearch {
		w.Header().Set("X-Elastic-Product", "Elasticsearch")
	}
	status := http.StatusOK
	if err != nil {
		var f *failure
		if !errors.As(err, &f) {
			f = bad("%v", err)
		}
		if f.status == 0 {
			panic(http.ErrAbortHandler) // the connection is reset
		}
		if f.retryAfter != "" {
			w.Header().Set("Retry-After", f.retryAfter)
		}
		status = f.status
		e := f.json()
		e["root_cause"] = []object{f.json()}
		answer = object{"error": e, "status": status}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// answer answers a request. The mutex is not locked while bytes are read or written, since that
// takes virtual time.
func (s *Server) answer(r *http.Request) (any, error) {
	body, tooBad := s.body(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	if err := s.allowed(r); err != nil {
		return nil, err
	}
	if tooBad != nil {
		return nil, tooBad
	}
	for _, index := range s.indices {
		index.refreshIfDue(time.Now())
	}
	return s.serve(r, body)
}

// allowed checks the credentials and the privileges of a request.
func (s *Server) allowed(r *http.Request) error {
	if want := s.config.Authorization; want != "" && r.Header.Get("Authorization") != want {
		return &failure{status: http.StatusUnauthorized, kind: "security_exception", reason: "missing authentication credentials for REST request [" + r.URL.Path + "]"}
	}
	for _, prefix := range s.config.Forbidden {
		if strings.HasPrefix(r.Method+" "+r.URL.Path, prefix) {
			return &failure{status: http.StatusForbidden, kind: "security_exception", reason: "action [" + r.URL.Path + "] is unauthorized for user [feed]"}
		}
	}
	return nil
}

func (s *Server) serve(r *http.Request, body []byte) (any, error) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch r.Method + " " + shape(parts) {
	case "GET /":
		return s.info(), nil
	case "PUT /_index_template/*":
		return s.putTemplate(parts[1], body)
	case "POST /_aliases":
		return s.changeAliases(body)
	case "PUT /*":
		return s.create(parts[0], body)
	case "GET /*/_mapping":
		return s.getMapping(parts[0])
	case "PUT /*/_mapping":
		return s.putMapping(parts[0], body)
	case "POST /*/_bulk":
		return s.bulk(parts[0], r.URL.Query(), body)
	case "POST /*/_refresh":
		return s.refresh(parts[0])
	case "POST /*/_delete_by_query":
		return s.deleteByQuery(parts[0], r.URL.Query(), body)
	default:
		return nil, bad("no handler found for uri [%s] and method [%s]", r.URL.Path, r.Method)
	}
}

// shape is a path with a star for each name.
func shape(parts []string) (shape string) {
	for i, p := range parts {
		if !strings.HasPrefix(p, "_") && p != "" || i == 1 && parts[0] == "_index_template" {
			p = "*"
		}
		shape += "/" + p
	}
	return shape
}

// body reads and checks the body of a request.
func (s *Server) body(r *http.Request) ([]byte, error) {
	in := io.Reader(r.Body)
	if r.ContentLength > s.config.MaxContentLength {
		return nil, &failure{status: http.StatusRequestEntityTooLarge, kind: "content_too_long_exception", reason: "entity content is too long"}
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		in = z
	}
	b, err := io.ReadAll(io.LimitReader(in, s.config.MaxContentLength+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > s.config.MaxContentLength {
		return nil, &failure{status: http.StatusRequestEntityTooLarge, kind: "content_too_long_exception", reason: "entity content is too long"}
	}
	if len(b) == 0 {
		return nil, nil
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if bulk := strings.HasSuffix(r.URL.Path, "/_bulk"); kind != "application/json" && (kind != "application/x-ndjson" || !bulk) {
		return nil, &failure{status: http.StatusNotAcceptable, kind: "content_type_header_exception", reason: "Content-Type header [" + kind + "] is not supported"}
	} else if !bulk && !json.Valid(b) {
		return nil, &failure{status: http.StatusBadRequest, kind: "parse_exception", reason: "the body is not JSON"}
	}
	return b, nil
}

func (s *Server) info() object {
	version := object{"number": "9.1.0", "build_flavor": "default"}
	if s.config.Product == OpenSearch {
		version = object{"number": "3.2.0", "distribution": "opensearch"}
	}
	return object{"name": "node-1", "cluster_name": "stand-in", "version": version}
}

// only fails for parameters that the server does not know.
func only(q url.Values, known ...string) error {
	for name := range q {
		if !slices.Contains(known, name) {
			return bad("request contains unrecognized parameter: [%s]", name)
		}
	}
	return nil
}

// decode reads JSON in which numbers stay as they are written.
func decode(b []byte) (o object, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&o)
	if err == nil && d.More() {
		err = errors.New("there is more than one value in the line")
	}
	return o, err
}
