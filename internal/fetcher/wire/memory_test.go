package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

	"github.com/curtsy/curtsy/internal/fair"
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
		if !first.c.MemoryUnused() {
			t.Error("some room was not given back")
		}
	})
}

// takeAll claims all of a budget.
func takeAll(t *testing.T, budget *fair.Queue) *fair.Claim {
	t.Helper()
	all, err := budget.Acquire(t.Context(), math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Memory is given up to the last byte. A later page waits for it, or until its visit ends.
func TestRoomIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := newMemoryBudget(99 + 14).bodies // 14 are for what is gathered
		var some [2]reserved
		for i, n := range []int64{49, 50} {
			if err := some[i].take(t.Context(), budget, n, nil); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		var more reserved
		if err := more.take(ctx, budget, 1, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("one byte more: %v after %v", err, time.Since(start))
		}
		time.AfterFunc(time.Minute, func() { some[0].release(); some[1].release() })
		if err := more.take(t.Context(), budget, 1000, nil); err != nil || time.Since(start) != time.Second+time.Minute {
			t.Errorf("a page larger than all room: %v after %v", err, time.Since(start))
		}
		more.shrink(60)
		if err := some[0].take(t.Context(), budget, 39, nil); err != nil {
			t.Error(err)
		}
		more.release()
		some[0].release()
		if !budget.Idle() {
			t.Error("some room was not given back")
		}
	})
}

// Whoever has memory for many bytes and for long comes last, and no party has all of it while
// others are there.
func TestRoomIsDivided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := newMemoryBudget(2 << 30).gathered // 256 MiB
		bad, good := []fair.Party{fair.Registered("bad.example")}, []fair.Party{fair.Registered("good.example")}
		take := func(n int64, parties []fair.Party) *reserved {
			r := new(reserved)
			if err := r.take(t.Context(), budget, n, parties); err != nil {
				t.Fatal(err)
			}
			return r
		}
		take(1<<20, good).release()
		var has []*reserved
		for range 12 {
			has = append(has, take(16<<20, bad))
		}
		waiting := make(chan *reserved)
		go func() { waiting <- take(16<<20, bad) }()
		synctest.Wait()
		if n := budget.Waiting(); n != 1 {
			t.Errorf("%d wait although one party has three quarters, and others are there", n)
		}
		start := time.Now()
		its := take(64<<20, good)
		if time.Since(start) != 0 {
			t.Error("a party within its share had to wait")
		}
		its.release()
		time.AfterFunc(time.Second, func() { has[0].release() })
		last := <-waiting
		if last.cost != 0 || time.Since(start) != time.Second {
			t.Errorf("the next one got its memory after %v", time.Since(start))
		}
		time.Sleep(time.Second)
		if last.shrink(8 << 20); last.cost != 16 {
			t.Errorf("16 MiB for a second cost %v", last.cost)
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
				all := takeAll(t, h.c.memory.bodies)
				free := time.AfterFunc(50*time.Millisecond, func() {
					if waits {
						all.Release(0)
					}
				})
				a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
				if err != nil || !bytes.Equal(a.Body, body) || (h.Memory.body.claim != nil) != waits {
					t.Errorf("%q of %d bytes: %d bytes, %d of room, %v", e, size, len(a.Body), h.Memory.body.n, err)
				}
				if len(h.c.memory.decoding) != 0 {
					t.Errorf("%q of %d bytes: a decoder was kept", e, size)
				}
				free.Stop()
			}
		}
	})
}
