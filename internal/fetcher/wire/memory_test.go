package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Large pages of many hosts share the memory that they are given, and use no more. All of them are
// read.
func TestMemoryOfManyLargePages(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const hosts, size, memory, slack = 24, 10 << 20, 64 << 20, 64 << 20
		defer debug.SetGCPercent(debug.SetGCPercent(10))
		body := bytes.Repeat([]byte("a large page "), size/13+1)[:size]
		packed := wiretest.Encode(t, "br", body)
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			const start = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
			switch {
			case strings.Contains(h.Text, "GET /br "):
				io.WriteString(c, wiretest.PageAnswer("br", packed))
			case strings.Contains(h.Text, "GET /length "):
				io.WriteString(c, start+fmt.Sprintf("Content-Length: %d\r\n\r\n", size))
				c.Write(body)
			default:
				io.WriteString(c, start+"Connection: close\r\n\r\n")
				c.Write(body)
				return false
			}
			return true
		})
		first := newTestSession(t, Options{PageMemory: memory}, w.Addr().String(), "h.test")
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		runtime.GC()
		base := heap()
		var most atomic.Uint64
		look := func() { most.Store(max(most.Load(), heap())) }
		var wg sync.WaitGroup
		for i := range hosts {
			h := sessionOn(t, first.c, first.cfg, fmt.Sprintf("h%d.test", i))
			wg.Go(func() {
				u := urlOf(t, fmt.Sprintf("http://h%d.test/%s", i, []string{"br", "length", "open"}[i%3]))
				a, err := h.Fetch(u, nil, func(int, http.Header) Wanted { return Wanted{Limit: size} })
				if err != nil || !bytes.Equal(a.Body, body) {
					t.Errorf("%s: %d bytes, %v", u, len(a.Body), err)
				}
				look()
				time.Sleep(20 * time.Millisecond) // the work on it
				look()
				h.Release()
			})
		}
		wg.Wait()
		if used := most.Load() - min(base, most.Load()); used > memory+slack {
			t.Errorf("%d MiB in use at most, want %d and a little", used>>20, memory>>20)
		}
		if !first.c.memory.free.TryAcquire(memory) {
			t.Error("some room was not given back")
		}
	})
}

// Memory is given up to the last byte. A later page waits for it, or until its visit ends.
func TestRoomIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newMemoryBudget(100)
		for range 2 {
			if n, err := r.take(t.Context(), 50); n != 50 || err != nil {
				t.Fatal(n, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := r.take(ctx, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("one byte more: %v after %v", err, time.Since(start))
		}
		time.AfterFunc(time.Minute, func() { r.free.Release(100) })
		if n, err := r.take(t.Context(), 1000); n != 100 || err != nil {
			t.Errorf("a page larger than all room: %d, %v", n, err)
		}
	})
}

// Slow large pages that use all memory do not delay ordinary ones, compressed or not.
func TestOrdinaryPagesNeedNoRoom(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		for _, e := range []string{"", "gzip", "br", "zstd"} {
			for size, waits := range map[int]bool{1000: false, KeepBuffer - 1: false, KeepBuffer + 1: true} {
				body := bytes.Repeat([]byte("x"), size)
				w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.PageAnswer(e, wiretest.Encode(t, e, body))))
				h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
				h.c.memory.free.TryAcquire(h.c.memory.size)
				free := time.AfterFunc(50*time.Millisecond, func() {
					if waits {
						h.c.memory.free.Release(h.c.memory.size)
					}
				})
				a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
				if err != nil || !bytes.Equal(a.Body, body) || (h.memory > 0) != waits {
					t.Errorf("%q of %d bytes: %d bytes, %d of room, %v", e, size, len(a.Body), h.memory, err)
				}
				if len(h.c.memory.decoding) != 0 {
					t.Errorf("%q of %d bytes: a decoder was kept", e, size)
				}
				free.Stop()
			}
		}
	})
}
