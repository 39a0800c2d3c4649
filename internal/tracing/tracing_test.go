package tracing

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// endpoint is where spans are sent, over a network in memory.
type endpoint struct {
	url    string
	client *http.Client
}

// receive starts a collector, and returns its endpoint and a function for the spans it received.
func receive(t *testing.T) (at endpoint, spans func() []*otlp.Span) {
	var mu sync.Mutex
	var all []*otlp.Span
	n := simnet.New(simnet.Options{})
	ln, err := n.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &m) != nil {
			t.Errorf("%s %s: not what OTLP has", r.Method, r.URL)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range m.ResourceSpans {
			for _, s := range r.ScopeSpans {
				all = append(all, s.Spans...)
			}
		}
	})}}
	srv.Start()
	client := &http.Client{Transport: &http.Transport{DialContext: n.Dial}}
	t.Cleanup(func() { client.CloseIdleConnections(); srv.Close() })
	return endpoint{srv.URL, client}, func() []*otlp.Span { mu.Lock(); defer mu.Unlock(); return all }
}

func tracer(t *testing.T, to endpoint, ratio float64) *Tracer {
	tr, err := New(Options{Endpoint: to.url, Client: to.client, Ratio: ratio, Service: "test", Instance: "test-1", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

var spec = crawl.Spec{Name: "docs", Created: time.Unix(1_700_000_000, 5)}

// Two processes that do not communicate report parts of one visit. The parts have the same trace.
func TestPartsTellOneTrace(t *testing.T) {
	to, spans := receive(t)
	job := &crawl.Visit{Shard: 3, ID: crawl.VisitID{Epoch: 7, N: 9}, Host: "docs.example.org"}
	at := time.Now()
	frontier, fetcher := tracer(t, to, 1), tracer(t, to, 1)
	frontier.Of(spec).Visit(3, job.ID).Granted(job, at, at.Add(time.Millisecond))
	v := fetcher.Of(spec).Visit(3, job.ID)
	v.Requests([]crawl.Exchange{{URL: "http://docs.example.org/a?token=hunter2", Start: at, End: at.Add(time.Second), Status: 200}})
	v.Visited(job, 1, "", at, at.Add(-time.Second)) // the clock was set back
	frontier.Close()
	fetcher.Close()
	byName := map[string]*otlp.Span{}
	for _, s := range spans() {
		byName[s.Name] = s
		if strings.Contains(s.String(), "hunter2") {
			t.Errorf("a span contains a query: %v", s)
		}
	}
	grant, visit, request := byName["grant"], byName["visit"], byName["request page"]
	if grant == nil || visit == nil || request == nil {
		t.Fatalf("%v", byName)
	}
	if len(grant.ParentSpanId) != 0 || string(visit.ParentSpanId) != string(grant.SpanId) || string(request.ParentSpanId) != string(visit.SpanId) ||
		string(grant.TraceId) != string(visit.TraceId) || string(visit.TraceId) != string(request.TraceId) {
		t.Errorf("no tree:\n%v\n%v\n%v", grant, visit, request)
	}
	if visit.EndTimeUnixNano != visit.StartTimeUnixNano || request.EndTimeUnixNano-request.StartTimeUnixNano != 1e9 {
		t.Errorf("times: %v, %v", visit, request)
	}
}

// A span names a request's method only where it is known. A hub gets a POST; a site with RUP may
// get either.
func TestMethodOfARequest(t *testing.T) {
	to, spans := receive(t)
	tr := tracer(t, to, 1)
	want := map[string]string{"page": "GET", "robots": "GET", "websub": "POST", "rup": ""}
	at := time.Unix(1_700_000_000, 0)
	tr.Of(spec).Visit(3, crawl.VisitID{Epoch: 1, N: 1}).Requests([]crawl.Exchange{
		{Kind: crawl.RequestPage, Start: at, End: at}, {Kind: crawl.RequestRobots, Start: at, End: at},
		{Kind: crawl.RequestKind(crawl.AuxWebSub), Start: at, End: at}, {Kind: crawl.RequestKind(crawl.AuxRUP), Start: at, End: at},
	})
	tr.Close()
	for _, s := range spans() {
		got := ""
		for _, a := range s.Attributes {
			if a.Key == "http.request.method" {
				got = a.Value.GetStringValue()
			}
		}
		kind := strings.TrimPrefix(s.Name, "request ")
		if method, ok := want[kind]; !ok || got != method {
			t.Errorf("%s: %q, want %q", s.Name, got, method)
		}
		delete(want, kind)
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
}

// Another crawl, shard or visit has another trace, and so has a later crawl with the same name.
func TestTraceOfEachVisit(t *testing.T) {
	to, _ := receive(t)
	tr := tracer(t, to, 1)
	defer tr.Close()
	later := spec
	later.Created = later.Created.Add(1)
	seen := map[[16]byte]bool{}
	for _, v := range []*Visit{
		tr.Of(spec).Visit(1, crawl.VisitID{Epoch: 1, N: 2}), tr.Of(spec).Visit(2, crawl.VisitID{Epoch: 1, N: 2}),
		tr.Of(spec).Visit(1, crawl.VisitID{Epoch: 2, N: 2}), tr.Of(spec).Visit(1, crawl.VisitID{Epoch: 1, N: 3}),
		tr.Of(later).Visit(1, crawl.VisitID{Epoch: 1, N: 2}),
	} {
		seen[v.id] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d traces of 5 visits", len(seen))
	}
}

func TestRatio(t *testing.T) {
	to, _ := receive(t)
	tr := tracer(t, to, 0.25)
	defer tr.Close()
	n := 0
	for i := range uint64(10_000) {
		if tr.Of(spec).Visit(0, crawl.VisitID{Epoch: 1, N: i}) != nil {
			n++
		}
	}
	if n < 2200 || n > 2800 {
		t.Errorf("%d of 10,000 visits are traced, not a quarter", n)
	}
	for r, ok := range map[float64]bool{0: false, -1: false, 1.01: false, 1: true, 1e-6: true} {
		if CheckRatio(r) != ok {
			t.Errorf("ratio %v: %v", r, !ok)
		}
	}
}

// If tracing is off, the pointers are nil: nothing is allocated, and no goroutine runs.
func TestOff(t *testing.T) {
	defer goleak.VerifyNone(t)
	var tr *Tracer
	c := tr.Of(spec)
	job, all := &crawl.Visit{Host: canon.Host("a.example")}, []crawl.Exchange{{URL: "http://a.example/"}}
	at := time.Now()
	if n := testing.AllocsPerRun(100, func() {
		v := c.Visit(1, crawl.VisitID{Epoch: 1, N: 1})
		v.Granted(job, at, at)
		v.Requests(all)
		v.Published(1, true, false, at, at)
		v.Applied(&crawl.Outcome{}, at, at)
		v.Stored(1, at, at)
		v.Indexed(1, at, at)
		v.Visited(job, 1, "", at, at)
	}); n != 0 {
		t.Errorf("%v allocations of a visit that is not traced", n)
	}
	tr.Close()
}

// If the collector is away, the spans are lost, and the process ends a few seconds later at most.
func TestNoCollector(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{DialContext: simnet.New(simnet.Options{}).Dial}}
		tr := tracer(t, endpoint{"http://127.0.0.1:1", client}, 1)
		began := time.Now()
		tr.Of(spec).Visit(0, crawl.VisitID{Epoch: 1}).Stored(1, began, began)
		tr.Close()
		if took := time.Since(began); took > closeFor {
			t.Errorf("it took %v to end", took)
		}
	})
}

func TestCheckEndpoint(t *testing.T) {
	for s, want := range map[string]string{
		"http://127.0.0.1:4318": "", "https://otel.example/v1/traces": "",
		"": "http://127.0.0.1:4318", "otel:4318": "http://127.0.0.1:4318", "ftp://otel": "http://127.0.0.1:4318", "http://": "http://127.0.0.1:4318",
		"https://me:hunter2@otel.example": "OTEL_EXPORTER_OTLP_HEADERS", "https://otel.example/?key=hunter2": "a query or fragment",
	} {
		err := CheckEndpoint(s)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
