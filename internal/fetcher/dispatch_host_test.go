package fetcher

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/dispatch"
	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/mobile/reading"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/atp"
	"github.com/curtsy/curtsy/pkg/botauth"
	"github.com/curtsy/curtsy/pkg/canon"
)

// robotHost is a server for mobile robots that does what a test says. It runs no robots: its
// results are octets that the test made.
type robotHost struct {
	t      testing.TB
	addr   string
	stream []byte // the results
	// growing results come in such pieces, one for each FETCH; 0: all at once
	piece int
	has   bool // the module is there already
	// before, if not nil, may answer a request instead.
	before func(n int, w *atp.ResponseWriter, r *atp.Request) (answered bool, err error)

	mu      sync.Mutex // guards what follows
	seen    []string   // methods, with ranges
	times   []time.Time
	ended   []time.Time
	tickets []mobile.Ticket
	inputs  [][]byte
}

const robotRun = "run-1"

func newRobotHost(t testing.TB, set func(h *robotHost)) *robotHost {
	t.Helper()
	h := &robotHost{t: t}
	if set != nil {
		set(h)
	}
	l, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s := &atp.Server{Handler: h, MaxBody: mobile.MaxBody, Log: quiet(), Conns: 1 << 10, PerAddr: 1 << 10}
	go func() { defer close(done); s.Serve(ctx, l) }()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

func (h *robotHost) ServeATP(_ context.Context, w *atp.ResponseWriter, r *atp.Request) error {
	h.mu.Lock()
	n := len(h.seen)
	h.seen = append(h.seen, strings.TrimSpace(string(r.Method)+" "+r.Header.Get(atp.Range)))
	h.times = append(h.times, time.Now())
	h.mu.Unlock()
	defer func() { h.mu.Lock(); defer h.mu.Unlock(); h.ended = append(h.ended, time.Now()) }()
	if h.before != nil {
		if answered, err := h.before(n, w, r); answered {
			return err
		}
	}
	switch r.Method {
	case atp.Dispatch:
		return h.dispatch(w, r)
	case atp.Fetch:
		return h.fetch(w, r)
	case atp.Retract:
		return w.Start(200, "OK", 0)
	}
	return &atp.StatusError{Status: 501, Reason: "what?"}
}

func (h *robotHost) dispatch(w *atp.ResponseWriter, r *atp.Request) error {
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return err
	}
	d, err := mobile.ReadDispatch(z)
	if err != nil {
		return err
	}
	ticket, err := mobile.Verify(d.Line, d.Signature)
	if err != nil {
		return err
	}
	input, err := d.Input()
	if err != nil {
		return err
	}
	module, err := io.ReadAll(d.Module())
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tickets, h.inputs = append(h.tickets, ticket), append(h.inputs, input)
	if mobile.Digest(input) != ticket.Input || len(module) > 0 && mobile.Digest(module) != ticket.Module {
		h.t.Errorf("ticket %+v is for another input or module", ticket)
	}
	if len(module) == 0 && !h.has {
		return &atp.StatusError{Status: 428, Reason: "send the module"}
	}
	h.has = true
	w.Header().Set(atp.AgentID, robotRun)
	return w.Start(202, "the robot runs", 0)
}

func (h *robotHost) fetch(w *atp.ResponseWriter, r *atp.Request) error {
	if r.Header.Get(atp.AgentID) != robotRun {
		return &atp.StatusError{Status: 404, Reason: "no such run"}
	}
	from, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Header.Get(atp.Range), "octets="), "-"))
	if err != nil || from > len(h.stream) {
		return &atp.StatusError{Status: 416, Reason: "too far"}
	}
	rest, length := h.stream[from:], int64(len(h.stream)-from)
	if h.piece > 0 && len(rest) > h.piece {
		rest, length = rest[:h.piece], -1
	}
	w.Header().Set(atp.ContentRange, fmt.Sprintf("octets %d-/*", from))
	if err := w.Start(206, "Partial Content", length); err != nil {
		return err
	}
	_, err = w.Write(rest)
	return err
}

// requests are the requests so far.
func (h *robotHost) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.seen...)
}

// spaced reports requests that came before the delay after the one before.
func (h *robotHost) spaced(delay time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := 1; i < len(h.times) && i <= len(h.ended); i++ {
		if gap := h.times[i].Sub(h.ended[i-1]); gap < delay {
			h.t.Errorf("request %d came %v after the one before, the delay is %v", i, gap, delay)
		}
	}
}

// frame compresses results as one frame.
func frame(t testing.TB, results []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(results, nil)
}

// resultsOf are records as results, one frame for so many of them, and the end.
func resultsOf(t testing.TB, each int, records ...[]byte) (stream []byte) {
	t.Helper()
	var b bytes.Buffer
	w := mobile.NewResultWriter(&b)
	for i, r := range records {
		for len(r) > mobile.MaxPart {
			w.Part(r[:mobile.MaxPart], false)
			r = r[mobile.MaxPart:]
		}
		w.Part(r, true)
		if (i+1)%each == 0 {
			stream = append(stream, frame(t, b.Bytes())...)
			b.Reset()
		}
	}
	w.End(mobile.Summary{Outcome: mobile.Done, Documents: int64(len(records))})
	return append(stream, frame(t, b.Bytes())...)
}

// docRecord is a document as a record.
func docRecord(path, body string, head ...string) []byte {
	h := "Status: 200\nContent-Type: text/html\n"
	for _, line := range head {
		h += line + "\n"
	}
	return append(reading.AppendHead(nil, reading.Document, path, reading.Head(h)), body...)
}

func endRecord(listed int64) []byte { return reading.Counts{Listed: listed, Sent: listed}.Append(nil) }

// The site of these tests, and the server that it names.
const (
	robotSite   = "http://www.site.test"
	robotServer = "atp://agents.site.test:434"
	robotRobots = "User-agent: *\nDisallow: /docs/closed/\nMobile-agent-server: /docs/ atp://agents.site.test\nMobile-agent-server: /docs/other/ atp://other.site.test\n"
)

// dispatchDesk is a desk that answers for the site's shard, too.
type dispatchDesk struct {
	*desk
	plans []crawl.DispatchPlan // parts
	asked []crawl.DispatchQuery
	visit crawl.VisitID
}

func newDispatchDesk(t testing.TB, set func(p *crawl.DispatchPlan)) *dispatchDesk {
	t.Helper()
	d := &dispatchDesk{desk: newDesk(t, 1), visit: crawl.VisitID{Epoch: 1, N: 900}}
	p := crawl.DispatchPlan{Wanted: true, Visit: d.visit, Robots: parsedRobots(t, robotSite, robotRobots)}
	if set != nil {
		set(&p)
	}
	d.plans = []crawl.DispatchPlan{p}
	d.subscribe(d.name.Dispatch(0), func(m *nats.Msg) {
		q, err := crawl.DecodeDispatchQuery(m.Data)
		if err != nil {
			t.Error(err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked = append(d.asked, q)
		m.Respond(crawl.AppendDispatchPlan(nil, d.plans[len(q.After)]))
	})
	return d
}

// parsedRobots is what a shard knows of a robots.txt.
func parsedRobots(t testing.TB, origin, text string) crawl.Robots {
	return crawl.Robots{Origin: mustURL(t, origin+"/").Origin(), State: crawl.RobotsParsed, Status: 200, Body: []byte(text), Fresh: time.Hour}
}

func dispatchAux(t testing.TB) crawl.AuxRequest {
	u, ok := crawl.AgentServerURL(robotServer)
	if !ok {
		t.Fatal(robotServer)
	}
	return crawl.AuxRequest{Kind: crawl.AuxDispatch, URL: u, Origin: mustURL(t, robotSite+"/").Origin(), About: mustURL(t, robotSite+"/docs/"), Hop: 3}
}

// carry has a dispatch carried out, and returns the outcome of the server's visit and the answer;
// nil if there is none.
func (d *dispatchDesk) carry(t testing.TB) (crawl.Outcome, *crawl.Dispatch) {
	t.Helper()
	aux := dispatchAux(t)
	id := d.grant(crawl.Visit{Host: aux.URL.Host(), Aux: []crawl.AuxRequest{aux}, Delay: time.Second, Hurried: true})
	d.mu.Lock()
	d.idle = time.Minute // nobody asks for more visits
	d.mu.Unlock()
	for end := time.Now().Add(3 * time.Hour); !d.over(id) && time.Now().Before(end); time.Sleep(time.Second) {
	}
	out := d.outcome(id)
	var last *crawl.Dispatch
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		for _, a := range e.Answers {
			if a.Dispatch == nil || a.Dispatch.State == crawl.DispatchRunning {
				continue
			}
			if last != nil || a.Aux != aux {
				t.Errorf("an answer %+v", a)
			}
			last = a.Dispatch
		}
	}
	return out, last
}

// over reports whether a visit has ended.
func (d *desk) over(id crawl.VisitID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.events, func(e crawl.Event) bool { return e.Visit == id && e.Outcome != nil && !e.Outcome.Partial })
}

// results are those of the site's pages.
func (d *dispatchDesk) results() map[canon.URL]crawl.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[canon.URL]crawl.Result{}
	for _, e := range d.events {
		if e.Visit == d.visit && e.Outcome != nil {
			for _, r := range e.Outcome.Results {
				all[r.URL] = r
			}
		}
	}
	return all
}

// progress are the reports of a running dispatch.
func (d *dispatchDesk) progress() (all []crawl.Dispatch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		for _, a := range e.Answers {
			if a.Dispatch != nil && a.Dispatch.State == crawl.DispatchRunning {
				all = append(all, *a.Dispatch)
			}
		}
	}
	return all
}

var robotModule = []byte("\x00asm this is not a module, and nobody runs it")

func testRobot(t testing.TB) *dispatch.Robot {
	t.Helper()
	key, err := botauth.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := dispatch.NewRobot(key, robotModule)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func dispatchSpec(addr string) crawl.Spec {
	s := testSpec(1, addr)
	s.SendRobots = true
	return s
}
