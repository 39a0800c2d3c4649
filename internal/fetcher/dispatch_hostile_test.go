package fetcher

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/canon"
)

// hostile is a server that means harm, or that is broken, and how a dispatch to it ends.
type hostile struct {
	name   string
	raw    func(c net.Conn) // what a connection gets; nil: the server below
	set    func(t testing.TB, h *robotHost)
	plan   func(p *crawl.DispatchPlan)
	state  string
	reason string // the answer's contains it
	wait   time.Duration
	pages  int64 // that were published
	most   time.Duration
	asked  int  // requests at most
	sleeps bool // it does not notice the end of an exchange at once
}

// someDocs are records of so many documents, and maybe what follows them.
func someDocs(n int, then ...[]byte) (records [][]byte) {
	for i := range n {
		records = append(records, docRecord(fmt.Sprintf("/docs/%d.html", i), fmt.Sprintf("<p>page %d", i)))
	}
	return append(records, then...)
}

// sends makes a server whose results are these records.
func sends(records func() [][]byte) func(testing.TB, *robotHost) {
	return func(t testing.TB, h *robotHost) { h.stream = resultsOf(t, 3, records()...) }
}

// answers makes a server that answers one method otherwise.
func answers(m atp.Method, f func(w *atp.ResponseWriter) error) func(testing.TB, *robotHost) {
	return func(_ testing.TB, h *robotHost) {
		h.before = func(_ int, w *atp.ResponseWriter, r *atp.Request) (bool, error) {
			if r.Method != m {
				return false, nil
			}
			return true, f(w)
		}
	}
}

func refuses(m atp.Method, status int, wait time.Duration) func(testing.TB, *robotHost) {
	return answers(m, func(*atp.ResponseWriter) error {
		return &atp.StatusError{Status: status, Reason: "because", RetryAfter: wait}
	})
}

// endless makes a server whose results never end: pieces, one after the other, as a stream of
// frames that are compressed as well as possible.
func endless(piece func(i int) []byte) func(testing.TB, *robotHost) {
	return answers(atp.Fetch, func(w *atp.ResponseWriter) error {
		e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			return err
		}
		for i := 0; ; i++ {
			if _, err := e.Write(piece(i)); err != nil {
				return err
			}
		}
	})
}

// asResult is a record as results have it.
func asResult(record []byte) []byte {
	var b bytes.Buffer
	w := mobile.NewResultWriter(&b)
	for len(record) > mobile.MaxPart {
		w.Part(record[:mobile.MaxPart], false)
		record = record[mobile.MaxPart:]
	}
	w.Part(record, true)
	return b.Bytes()
}

// pass lets virtual time pass.
func pass(d time.Duration) { _ = backoff.Sleep(context.Background(), d) }

// hostiles are the servers. Durations are virtual.
var hostiles = []hostile{
	{name: "accepts and never answers", raw: func(c net.Conn) { io.Copy(io.Discard, c) }, state: crawl.DispatchFailed, reason: "timeout", most: 2 * time.Minute, asked: 1},
	{name: "closes at once", raw: func(net.Conn) {}, state: crawl.DispatchFailed, reason: "network", most: 3 * time.Second, asked: 1},
	{name: "speaks HTTP", raw: func(c net.Conn) {
		c.Read(make([]byte, 1))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}, state: crawl.DispatchRefused, reason: "no server for mobile robots", most: 3 * time.Second, asked: 1},
	{name: "an endless head", raw: func(c net.Conn) {
		c.Read(make([]byte, 1))
		io.WriteString(c, "ATP/0.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(c, "A: b\r\n"); err != nil {
				return
			}
		}
	}, state: crawl.DispatchRefused, reason: "too large", most: 3 * time.Second, asked: 1},
	{name: "a nonsensical status", raw: func(c net.Conn) {
		c.Read(make([]byte, 1))
		io.WriteString(c, "ATP/0.1 999 Great\r\n\r\n")
	}, state: crawl.DispatchRefused, reason: "a status is a number", most: 3 * time.Second, asked: 1},
	{name: "unauthorized", set: refuses(atp.Dispatch, 401, 0), state: crawl.DispatchRefused, reason: "401 because", most: 3 * time.Second, asked: 1},
	{name: "forbidden", set: refuses(atp.Dispatch, 403, 0), state: crawl.DispatchRefused, reason: "403 because", most: 3 * time.Second, asked: 1},
	{name: "no such thing", set: refuses(atp.Dispatch, 404, 0), state: crawl.DispatchRefused, reason: "404 because", most: 3 * time.Second, asked: 1},
	{name: "no room", set: refuses(atp.Dispatch, 503, 90*time.Second), state: crawl.DispatchFailed, reason: "503 because", wait: 90 * time.Second, most: 3 * time.Second, asked: 1},
	{name: "quota used up", set: refuses(atp.Dispatch, 429, 1000*time.Hour), state: crawl.DispatchFailed, reason: "429 because", wait: 168 * time.Hour, most: 3 * time.Second, asked: 1},
	{name: "wants the module for ever", set: refuses(atp.Dispatch, 428, 0), state: crawl.DispatchRefused, reason: "428 because", most: 4 * time.Second, asked: 2},
	{name: "no Agent-Id", set: answers(atp.Dispatch, func(w *atp.ResponseWriter) error { return w.Start(202, "OK", 0) }), state: crawl.DispatchRefused, reason: "no Agent-Id", most: 3 * time.Second, asked: 1},
	{name: "a wrong Agent-Id", set: answers(atp.Dispatch, func(w *atp.ResponseWriter) error {
		w.Header().Set(atp.AgentID, "../../etc/passwd")
		return w.Start(202, "OK", 0)
	}), state: crawl.DispatchRefused, reason: "no Agent-Id", most: 3 * time.Second, asked: 1},
	{name: "forgets the run", set: refuses(atp.Fetch, 404, 0), state: crawl.DispatchFailed, reason: "forgot the robot", most: 10 * time.Second, asked: 7},
	{name: "keeps the results", set: refuses(atp.Fetch, 403, 0), state: crawl.DispatchRefused, reason: "403 because", most: 4 * time.Second, asked: 3},
	{name: "is busy for ever", set: refuses(atp.Fetch, 503, 20*time.Second), state: crawl.DispatchFailed, reason: "no new record", most: 12 * time.Minute, asked: 40},
	{name: "has nothing for ever", set: answers(atp.Fetch, func(w *atp.ResponseWriter) error { return w.Start(206, "OK", -1) }), state: crawl.DispatchFailed, reason: "no new record", most: 12 * time.Minute, asked: 25},
	{name: "is silent in the results", set: answers(atp.Fetch, func(w *atp.ResponseWriter) error {
		w.Start(206, "OK", -1)
		w.Flush()
		pass(time.Hour)
		return nil
	}), state: crawl.DispatchFailed, reason: "does not answer", most: 5 * time.Minute, asked: 5},
	{name: "drips", set: answers(atp.Fetch, func(w *atp.ResponseWriter) error {
		w.Start(206, "OK", -1)
		for _, b := range frameOf(bytes.Repeat([]byte("L\x00\x00\x00\x01x"), 1000)) {
			if _, err := w.Write([]byte{b}); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
			pass(50 * time.Second)
		}
		return nil
	}), state: crawl.DispatchFailed, reason: "no new record", most: 12 * time.Minute, asked: 4, sleeps: true},
	{name: "a page now and then", set: func(t testing.TB, h *robotHost) {
		answers(atp.Fetch, func(w *atp.ResponseWriter) error {
			w.Start(206, "OK", -1)
			for i := range 1000 {
				w.Write(frameOf(asResult(docRecord(fmt.Sprintf("/docs/%d", i), "<p>a page"))))
				if err := w.Flush(); err != nil {
					return err
				}
				pass(55 * time.Second)
			}
			return nil
		})(t, h)
	}, state: crawl.DispatchCut, reason: "more than 2h", pages: 131, most: 121 * time.Minute, asked: 4, sleeps: true},
	{name: "another range", set: answers(atp.Fetch, func(w *atp.ResponseWriter) error {
		w.Header().Set(atp.ContentRange, "octets 5-/*")
		return w.Start(206, "OK", 0)
	}), state: crawl.DispatchRefused, reason: "another range", most: 5 * time.Second, asked: 4},
	{name: "garbage", set: func(_ testing.TB, h *robotHost) { h.stream = bytes.Repeat([]byte("garbage "), 1000) },
		state: crawl.DispatchRefused, reason: "magic number", most: 5 * time.Second, asked: 4},
	{name: "a frame with garbage", set: func(_ testing.TB, h *robotHost) { h.stream = frameOf(bytes.Repeat([]byte("garbage "), 1000)) },
		state: crawl.DispatchRefused, reason: "not a stream of results", most: 5 * time.Second, asked: 4},
	{name: "a damaged frame", set: func(_ testing.TB, h *robotHost) {
		h.stream = frameOf(asResult(docRecord("/docs/a", strings.Repeat("many different words, ", 100))))
		h.stream[len(h.stream)-3] ^= 0x55 // its checksum
	}, state: crawl.DispatchRefused, reason: "cannot be decompressed", most: 5 * time.Second, asked: 4},
	{name: "a large window", set: func(t testing.TB, h *robotHost) {
		e, err := zstd.NewWriter(nil, zstd.WithWindowSize(8<<20))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		h.stream = e.EncodeAll(bytes.Repeat([]byte("L\x00\x00\x00\x01x"), 2<<20), nil)
	}, state: crawl.DispatchRefused, reason: "window", most: 5 * time.Second, asked: 4},
	{name: "a record of garbage", set: sends(func() [][]byte { return [][]byte{[]byte("no record")} }), state: crawl.DispatchRefused, reason: "its kind is unknown", most: 5 * time.Second, asked: 4},
	{name: "garbage behind pages", set: sends(func() [][]byte { return someDocs(5, []byte("D/docs/x\nno head")) }), state: crawl.DispatchCut, reason: "head", pages: 5, most: 5 * time.Second, asked: 4},
	{name: "facts", set: sends(func() [][]byte { return [][]byte{[]byte(`F{"path":"/docs/a"}`)} }), state: crawl.DispatchRefused, reason: "not asked for", most: 5 * time.Second, asked: 4},
	{name: "more than was asked for", plan: func(p *crawl.DispatchPlan) { p.Pages = 5 }, set: sends(func() [][]byte { return someDocs(10, endRecord(10)) }),
		state: crawl.DispatchCut, reason: "more documents than were asked for", pages: 5, most: 5 * time.Second, asked: 4},
	{name: "pages of others", set: sends(func() [][]byte {
		return [][]byte{
			docRecord("/private/a", "x"), docRecord("/", "x"), docRecord("/docs/closed/a", "x"), docRecord("/docs/other/a", "x"), docRecord("/docs", "x"),
			docRecord("/docs/../private/a", "x"), docRecord("/docs/./a", "x"), docRecord("/docs/%61", "x"), docRecord("//evil.test/docs/a", "x"), docRecord("/docs//../../a", "x"),
			endRecord(10),
		}
	}), state: crawl.DispatchDone, most: 5 * time.Second, asked: 3},
	{name: "the same again and again", set: sends(func() [][]byte { return append(someDocs(3), someDocs(3, endRecord(6))...) }), state: crawl.DispatchDone, pages: 3, most: 5 * time.Second, asked: 3},
	{name: "unchanged that nobody has", plan: func(p *crawl.DispatchPlan) { p.Known = []crawl.KnownPage{{Path: reading.PathHash("/docs/b")}} }, set: sends(func() [][]byte {
		return [][]byte{reading.AppendHead(nil, reading.Unchanged, "/docs/a", reading.Head("Status: 200\n")), []byte("u/docs/b\x00/docs/c\x00"), endRecord(3)}
	}), state: crawl.DispatchDone, most: 5 * time.Second, asked: 3},
	{name: "other statuses and encodings", set: sends(func() [][]byte {
		return [][]byte{
			append(reading.AppendHead(nil, reading.Document, "/docs/a", reading.Head("Status: 404\nContent-Type: text/html\n")), "gone"...),
			append(reading.AppendHead(nil, reading.Document, "/docs/b", reading.Head("Status: 302\nLocation: http://evil.test/\n")), "moved"...),
			docRecord("/docs/c", "\x1f\x8b", "Content-Encoding: gzip"), docRecord("/docs/d", "not stored")[:0:0],
		}[:3]
	}), state: crawl.DispatchCut, reason: "did not read everything", most: 5 * time.Second, asked: 3},
	{name: "a skeleton of a page that may be stored", set: sends(func() [][]byte {
		r := docRecord("/docs/a", "<meta name=robots content=nofollow><a href=/docs/b>")
		r[0] = byte(reading.Skeleton)
		return [][]byte{r, endRecord(1)}
	}), state: crawl.DispatchDone, most: 5 * time.Second, asked: 3},
	{name: "goes on behind its end", set: sends(func() [][]byte { return append(someDocs(2, endRecord(2)), someDocs(9)...) }), state: crawl.DispatchCut, reason: "behind its end", pages: 2, most: 5 * time.Second, asked: 4},
	{name: "ends early", set: func(_ testing.TB, h *robotHost) {
		var b bytes.Buffer
		w := mobile.NewResultWriter(&b)
		w.Part(docRecord("/docs/a", "x"), true)
		w.End(mobile.Summary{Outcome: mobile.CPULimit, Reason: "it used its time"})
		h.stream = frameOf(b.Bytes())
	}, state: crawl.DispatchCut, reason: "cpu: it used its time", pages: 1, most: 5 * time.Second, asked: 3},
	{name: "results without an end", set: func(_ testing.TB, h *robotHost) { h.stream = frameOf(asResult(docRecord("/docs/a", "x"))) },
		state: crawl.DispatchCut, reason: "without a summary", pages: 1, most: 10 * time.Second, asked: 6},
	{name: "useless records without an end", set: endless(func(i int) []byte { return asResult(docRecord(fmt.Sprintf("/elsewhere/%d", i), fmt.Sprint(i*i))) }),
		state: crawl.DispatchRefused, reason: "may not be used", most: 2 * time.Minute, asked: 4},
	{name: "a log without an end", set: endless(func(int) []byte { return bytes.Repeat([]byte("L\x00\x00\x00\x04line"), 10000) }),
		state: crawl.DispatchRefused, reason: "times their size", most: 5 * time.Minute, asked: 4},
	{name: "empty frames without an end", set: answers(atp.Fetch, func(w *atp.ResponseWriter) error {
		empty := bytes.Repeat(frameOf(nil), 100)
		for {
			if _, err := w.Write(empty); err != nil {
				return err
			}
			pass(time.Second)
		}
	}), state: crawl.DispatchFailed, reason: "no new record", most: 12 * time.Minute, asked: 4, sleeps: true},
	{name: "a record without an end", set: endless(func(int) []byte { return append([]byte("P\x00\x01\x00\x00"), make([]byte, mobile.MaxPart)...) }),
		state: crawl.DispatchRefused, reason: "a record of more than", most: time.Minute, asked: 4},
	{name: "a bomb of pages", set: func() func(testing.TB, *robotHost) {
		zeros := make([]byte, 9<<20)
		return endless(func(i int) []byte { return asResult(append(docRecord(fmt.Sprintf("/docs/%d", i), ""), zeros...)) })
	}(), state: crawl.DispatchCut, reason: "times their size", pages: 7, most: time.Minute, asked: 4},
}

// frameOf compresses results as one frame.
func frameOf(results []byte) []byte {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err)
	}
	defer e.Close()
	return e.EncodeAll(results, make([]byte, 0))
}

// Whatever a server sends, a dispatch ends with a reason, in bounded time and memory, and nothing
// of another origin or outside of the path is published.
func TestHostileRobotHosts(t *testing.T) {
	for _, c := range hostiles {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) { c.run(t) })
		})
	}
}

func (c *hostile) run(t *testing.T) {
	h := newRobotHost(t, func(h *robotHost) {
		if h.has = true; c.set != nil {
			c.set(t, h)
		}
	})
	addr, connections := h.addr, 0
	if c.raw != nil {
		l, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		t.Cleanup(func() { l.Close(); <-done })
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				connections++
				c.raw(conn)
				conn.Close()
			}
		}()
		addr = l.Addr().String()
	}
	d := newDispatchDesk(t, c.plan)
	startFetcher(t, d.desk, dispatchSpec(addr), Options{Robot: testRobot(t)})
	began, real := time.Now(), realTime()
	most := watchMemory(t)
	out, a := d.carry(t)
	took, asked := time.Since(began), len(h.requests())+connections
	if a == nil {
		t.Fatalf("no answer: %+v; %v", out, h.requests())
	}
	t.Logf("%s (%s): %d requests, %d bytes sent, %d received, %v, %v of work, %d MB of memory", a.State, a.Reason, a.Requests, a.Sent, a.Received, took.Round(time.Second), realTime()-real, most()>>20)
	if a.State != c.state || !strings.Contains(a.Reason, c.reason) || c.reason == "" && a.Reason != "" || a.RetryAfter != c.wait || a.Pages != c.pages {
		t.Errorf("%+v, want %s because of %q, %d pages, wait %v", a, c.state, c.reason, c.pages, c.wait)
	}
	if took > c.most || asked > c.asked {
		t.Errorf("it took %v and %d requests, want at most %v and %d: %v", took, asked, c.most, c.asked, h.requests())
	}
	if !c.sleeps {
		h.spaced(time.Second)
	}
	d.onlyOfSite(t, c.pages)
}

// onlyOfSite: everything that was published is of the site, below the path, and may be read there.
func (d *dispatchDesk) onlyOfSite(t testing.TB, pages int64) {
	t.Helper()
	good := func(u canon.URL) bool {
		s := string(u)
		return strings.HasPrefix(s, robotSite+"/docs/") && !strings.HasPrefix(s, robotSite+"/docs/closed/") && !strings.HasPrefix(s, robotSite+"/docs/other/")
	}
	results := d.results()
	for u := range results {
		if !good(u) {
			t.Errorf("a result of %s", u)
		}
	}
	if int64(len(results)) != pages {
		t.Errorf("%d results, want %d", len(results), pages)
	}
	for u := range d.links() {
		if !good(u) {
			t.Errorf("a link to %s", u)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pages {
		if !good(p.URL) || p.Visit != d.visit {
			t.Errorf("a page %s of visit %v", p.URL, p.Visit)
		}
	}
}

// realTime is the processor time of the process: the clock of a bubble shows no work.
func realTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Round(time.Millisecond)
}

// watchMemory returns a function that stops watching, and returns by how much the heap grew at
// most.
func watchMemory(t testing.TB) (most func() uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	base, peak := m.HeapAlloc, m.HeapAlloc
	stop, done := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(stop); <-done })
	t.Cleanup(end)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}()
	return func() uint64 { end(); return peak - base }
}
