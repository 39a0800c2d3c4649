package e2e

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/tracing"
)

// All spans of a visit are one tree, from its grant to the search index, although frontier, fetcher
// and indexer do not exchange any trace context.
func TestTracesOfACrawl(t *testing.T) { simnet.Test(t, testTracesOfACrawl) }

func testTracesOfACrawl(t *testing.T) {
	var mu sync.Mutex
	traces := map[string][]*otlp.Span{}
	collect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m collectorpb.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &m) != nil {
			t.Errorf("%s: not what OTLP has", r.URL)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, s := range m.ResourceSpans {
			for _, s := range s.ScopeSpans {
				for _, s := range s.Spans {
					traces[string(s.TraceId)] = append(traces[string(s.TraceId)], s)
				}
			}
		}
	})
	web := serve(t, simweb.Config{Seed: 5, Hosts: 3, PagesPerHost: 12, LinksPerPage: 4, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll}
	}})
	collector := &http.Client{Transport: &http.Transport{DialContext: web.net.Dial}}
	tracer, err := tracing.New(tracing.Options{
		Endpoint: server(t, web.net, collect, nil).URL, Client: collector,
		Ratio: 1, Service: "crawl", Instance: "e2e", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := specFor(web)
	spec.Search = true
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true, tracer: tracer}, fetcher.Options{})
	r.seed()
	r.wait(time.Minute)
	r.stop()
	tracer.Close()
	collector.CloseIdleConnections()

	requests, stored := 0, 0
	for _, spans := range traces {
		names, ids := map[string]int{}, map[string]*otlp.Span{}
		for _, s := range spans {
			kind, _, _ := strings.Cut(s.Name, " ")
			names[kind]++
			ids[string(s.SpanId)] = s
			if s.Name == "visit" && s.EndTimeUnixNano <= s.StartTimeUnixNano {
				t.Errorf("a visit that took no time: %v", s)
			}
			if kind == "request" && !strings.Contains(s.String(), `"url.path"`) {
				t.Errorf("a request of what? %v", s)
			}
		}
		roots := 0
		for _, s := range spans {
			if len(s.ParentSpanId) == 0 {
				roots++
			} else if ids[string(s.ParentSpanId)] == nil {
				t.Errorf("%s stands under nothing, among %v", s.Name, names)
			}
		}
		if roots != 1 || names["grant"] != 1 || names["visit"] != 1 || names["publish"] == 0 || names["apply"] == 0 {
			t.Errorf("a trace with %d roots of %v", roots, names)
		}
		if names["store"] > 0 {
			stored++
			if names["index"] == 0 || names["request"] == 0 {
				t.Errorf("pages were stored: %v", names)
			}
		}
		requests += names["request"]
	}
	if n := len(web.Log()); requests != n || stored < 3 {
		t.Errorf("%d requests in traces, %d at the sites; %d visits stored pages", requests, n, stored)
	}
}
