package site

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowReader is the connection of a client that does not read: beyond what the kernel buffers,
// Write blocks until the client has gone.
type slowReader struct {
	*httptest.ResponseRecorder
	gone <-chan struct{}
}

func (w slowReader) Write(b []byte) (int, error) {
	if len(b) > unsentFree {
		<-w.gone
		return 0, http.ErrHandlerTimeout
	}
	return w.ResponseRecorder.Write(b)
}

// Clients that do not read their answers do not keep others from being answered, and no more than
// maxUnsent bytes of such answers wait in memory.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const long = 8 << 20
		report := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", long)) }
		info := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "info") }
		client := func(r *http.Request) netip.Addr { return netip.MustParseAddr(r.RemoteAddr) }
		h := handler(http.HandlerFunc(report), info, &url.URL{Path: "/rup"}, nil, client, func(int) {})
		ask := func(i int, path string, w http.ResponseWriter) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.RemoteAddr = fmt.Sprintf("198.51.100.%d", i)
			h.ServeHTTP(w, r)
		}
		gone := make(chan struct{})
		var all sync.WaitGroup
		for i := range maxRequests {
			all.Go(func() { ask(i, "/rup", slowReader{httptest.NewRecorder(), gone}) })
		}
		synctest.Wait()
		began := time.Now()
		w := httptest.NewRecorder()
		if ask(100, "/rupinfo.txt", w); w.Code != http.StatusOK || w.Body.String() != "info" || time.Since(began) > 0 {
			t.Errorf("a short answer: %d %s after %v", w.Code, w.Body, time.Since(began))
		}
		w = httptest.NewRecorder()
		if ask(101, "/rup", w); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one long answer more than memory may have: %d %.100s", w.Code, w.Body)
		}
		close(gone)
		all.Wait()
		w = httptest.NewRecorder()
		if ask(102, "/rup", w); w.Code != http.StatusOK || w.Body.Len() != long {
			t.Errorf("when the clients have gone: %d, %d bytes", w.Code, w.Body.Len())
		}
	})
}

// A regression: a client that had gone before its request was answered counted as answered.
func TestGoneClientsAreNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		wait := func(http.ResponseWriter, *http.Request) { <-release }
		client := func(r *http.Request) netip.Addr { return netip.MustParseAddr(r.RemoteAddr) }
		var mu sync.Mutex
		var counted []int
		h := handler(http.HandlerFunc(wait), wait, &url.URL{Path: "/rup"}, nil, client, func(status int) {
			mu.Lock()
			defer mu.Unlock()
			counted = append(counted, status)
		})
		var all sync.WaitGroup
		ask := func(ctx context.Context, i int) {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/rup", nil)
			r.RemoteAddr = fmt.Sprintf("198.51.100.%d", i)
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		for i := range maxRequests {
			all.Go(func() { ask(t.Context(), i) })
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if ask(ctx, 100); len(counted) != 0 {
			t.Errorf("counted as %d", counted)
		}
		close(release)
		all.Wait()
		if len(counted) != maxRequests {
			t.Errorf("%d requests counted, want %d", len(counted), maxRequests)
		}
	})
}

// Programs that check mails request the links in them with HEAD too.
func TestButtonByHead(t *testing.T) {
	t.Parallel()
	p := page{ask: "Stop?", do: func(string) (bool, error) { t.Error("HEAD does something"); return true, nil }}
	w := httptest.NewRecorder()
	button(w, httptest.NewRequest(http.MethodHead, "/rup/leave?token=a", nil), p)
	if w.Code != http.StatusOK {
		t.Errorf("HEAD: %d", w.Code)
	}
	w = httptest.NewRecorder()
	button(w, httptest.NewRequest(http.MethodPut, "/rup/leave?token=a", nil), p)
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("PUT: %d, Allow: %s", w.Code, w.Header().Get("Allow"))
	}
}
