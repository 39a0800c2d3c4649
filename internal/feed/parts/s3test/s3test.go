// Package s3test is a stand-in for S3 in tests of the feed. It is in memory, has one bucket, and
// knows what the feed uses: HEAD of the bucket, PUT, GET and DELETE of objects, and ListObjectsV2.
// As the reference of the S3 API has it, an object is stored whole or not at all, a body that does
// not have the MD5 of Content-MD5 is refused with BadDigest, and a deletion of what is not there
// succeeds. Requests must be signed (AWS4-HMAC-SHA256) by the right key, the signature is not
// checked.
package s3test

import (
	"crypto/md5" //nolint:gosec // it is what the protocol has
	"encoding/base64"
	"encoding/xml"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Config is what a server is like.
type Config struct {
	Bucket    string
	AccessKey string
	// Put, if not nil, is called for each PUT of an object, counted from 1.
	Put func(n int) Fault
}

// Fault is what goes wrong with a request. The zero value is nothing.
type Fault struct {
	Status int    // the answer; nothing is stored
	Code   string // of the error, such as SlowDown
	// Before and After reset the connection before or after the object was stored.
	Before, After bool
}

// Server is a stand-in. Its methods may be called concurrently.
type Server struct {
	Addr string // IP and port

	config  Config
	mu      sync.Mutex // guards what is below
	puts    int
	objects map[string][]byte
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
	t.Cleanup(func() { _ = h.Close(); <-done })
	return s
}

// New makes a server that does not listen.
func New(c Config) *Server { return &Server{config: c, objects: map[string][]byte{}} }

// Objects are the objects of the bucket by their keys.
func (s *Server) Objects() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.objects)
}

// failure is an error in the form of S3.
type failure struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
	status  int
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	answer, f := s.serve(r, body)
	w.Header().Set("Content-Type", "application/xml")
	switch {
	case f != nil:
		w.WriteHeader(f.status)
		_ = xml.NewEncoder(w).Encode(f)
	case answer != nil:
		_ = xml.NewEncoder(w).Encode(answer)
	case r.Method == http.MethodPut:
		w.Header().Set("ETag", `"0"`)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) serve(r *http.Request, body []byte) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+s.config.AccessKey+"/") {
		return nil, &failure{Code: "InvalidAccessKeyId", Message: "The AWS Access Key Id you provided does not exist in our records.", status: http.StatusForbidden}
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != s.config.Bucket {
		return nil, &failure{Code: "NoSuchBucket", Message: "The specified bucket does not exist", status: http.StatusNotFound}
	}
	switch {
	case r.Method == http.MethodPut && key != "":
		return nil, s.put(key, r.Header.Get("Content-Md5"), body)
	case r.Method == http.MethodDelete && key != "":
		delete(s.objects, key)
		return nil, nil
	case r.Method == http.MethodHead && key == "":
		return nil, nil
	case r.Method == http.MethodGet && key == "" && r.URL.Query().Get("list-type") == "2":
		return s.list(r.URL.Query().Get("prefix"), r.URL.Query().Get("continuation-token")), nil
	}
	return nil, &failure{Code: "NotImplemented", Message: r.Method + " " + r.URL.String(), status: http.StatusNotImplemented}
}

func (s *Server) put(key, digest string, body []byte) *failure {
	s.puts++
	var fault Fault
	if s.config.Put != nil {
		fault = s.config.Put(s.puts)
	}
	switch sum := md5.Sum(body); {
	case fault.Before:
		panic(http.ErrAbortHandler)
	case fault.Status != 0:
		return &failure{Code: fault.Code, Message: "Please reduce your request rate.", status: fault.Status}
	case digest != base64.StdEncoding.EncodeToString(sum[:]):
		return &failure{Code: "BadDigest", Message: "The Content-MD5 you specified did not match what we received.", status: http.StatusBadRequest}
	}
	s.objects[key] = body
	if fault.After {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// page is how many keys a list has; S3 has 1,000.
const page = 10

type listing struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name, Prefix          string
	KeyCount              int
	MaxKeys               int
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
	Contents              []content
}

type content struct {
	Key          string
	LastModified time.Time
	ETag         string
	Size         int
	StorageClass string
}

func (s *Server) list(prefix, after string) *listing {
	l := &listing{Name: s.config.Bucket, Prefix: prefix, MaxKeys: page}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if l.KeyCount == page {
			l.IsTruncated, l.NextContinuationToken = true, l.Contents[page-1].Key
			break
		}
		l.Contents = append(l.Contents, content{Key: key, LastModified: time.Now().UTC(), ETag: `"0"`, Size: len(s.objects[key]), StorageClass: "STANDARD"})
		l.KeyCount++
	}
	return l
}
