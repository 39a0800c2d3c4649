package site

import (
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/pkg/rup"
)

// The limits for requests, which anyone may send. A report is made in memory. A request whose body
// does not arrive occupies only its connection.
const (
	maxRequests = 8 // answered at the same time
	// Requests of one client that are being answered, read or waiting. A client is an address, or a
	// /64 for IPv6.
	maxPerPeer = 4
	bodyWithin = 10 * time.Second // for receiving a body
	waitAtMost = 5 * time.Second  // for waiting until fewer than maxRequests are answered
	maxBody    = 1 << 20          // bytes of a body; more than rup reads
	// Bytes of answers that wait for their clients to read them: eight of the longest.
	maxUnsent = 64 << 20
	// An answer of so many bytes does not count, because the kernel takes it at once.
	unsentFree = 16 << 10
)

// handler serves /rupinfo.txt, the CGI URL, and the pages below it.
func handler(s http.Handler, info http.HandlerFunc, cgi *url.URL, pages map[string]http.Handler, client func(*http.Request) netip.Addr, count func(status int)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+rup.InfoPath, info)
	mux.Handle(cgi.Path, s)
	for name, page := range pages {
		mux.Handle(pagePath(cgi, name), page)
	}
	slots, peers := make(chan struct{}, maxRequests), newPeers(maxPerPeer)
	unsent := semaphore.NewWeighted(maxUnsent)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		gone := false // before it was answered
		defer func() {
			if !gone {
				count(counted.status)
			}
		}()
		peer := client(r)
		if !peers.enter(peer) {
			busy(counted, "too many requests at the same time from your address; please try again later")
			return
		}
		defer peers.leave(peer)
		if !readBody(counted, r) {
			return
		}
		select {
		case slots <- struct{}{}:
			answer := &made{header: w.Header(), status: http.StatusOK}
			func() {
				defer func() { <-slots }()
				mux.ServeHTTP(answer, r)
			}()
			if n := int64(answer.body.Len()); n > unsentFree {
				if !unsent.TryAcquire(n) {
					clear(answer.header)
					busy(counted, "too many clients have not read their answers yet; please try again later")
					return
				}
				defer unsent.Release(n)
			}
			counted.WriteHeader(answer.status)
			_, _ = counted.Write(answer.body.Bytes()) // the client may have gone
		case <-time.After(waitAtMost):
			busy(counted, "too many requests at the same time; please try again later")
		case <-r.Context().Done():
			gone = true
		}
	})
}

// made is an answer in memory. It is sent when it is complete, so that a client that reads slowly
// does not occupy one of the maxRequests.
type made struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (m *made) Header() http.Header         { return m.header }
func (m *made) WriteHeader(status int)      { m.status = status }
func (m *made) Write(b []byte) (int, error) { return m.body.Write(b) }

func busy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "60")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// readBody reads a request's body before the request counts as being answered. If the body does not
// arrive, readBody has sent the error.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	// A test's recorder does not support deadlines, but already has its body.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin))
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		w.Header().Set("Connection", "close")
		http.Error(w, "the request did not arrive", http.StatusRequestTimeout)
		return false
	case len(body) > maxBody:
		w.Header().Set("Connection", "close")
		http.Error(w, "the request is too long", http.StatusRequestEntityTooLarge)
		return false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

// pagePath returns the path of a page below the CGI URL.
func pagePath(cgi *url.URL, name string) string {
	return strings.TrimSuffix(cgi.Path, "/") + "/" + name
}

// peers counts the current requests of each client.
type peers struct {
	most int
	mu   sync.Mutex // guards n
	n    map[netip.Prefix]int
}

func newPeers(most int) *peers { return &peers{most: most, n: map[netip.Prefix]int{}} }

// peerOf returns what counts as one client.
func peerOf(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // the zero Prefix for the zero Addr
	return p
}

func (p *peers) enter(a netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := peerOf(a)
	if p.n[k] >= p.most {
		return false
	}
	p.n[k]++
	return true
}

func (p *peers) leave(a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := peerOf(a)
	if p.n[k]--; p.n[k] == 0 {
		delete(p.n, k)
	}
}

// statusWriter records the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// clientOf returns a function that finds the client's address, also behind one of the proxies.
func clientOf(proxies []netip.Prefix) func(*http.Request) netip.Addr {
	return func(r *http.Request) netip.Addr {
		return fair.Client(proxies, r.RemoteAddr, r.Header.Values("X-Forwarded-For"))
	}
}

func portOf(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
