package tracing

import (
	"encoding/binary"
	"math/rand/v2"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/curtsy/curtsy/internal/crawl"
)

// The spans of a visit. Attributes have the names of OpenTelemetry's conventions where there is
// one. Of a URL they contain the host and the path only, because a query may identify a person.

func randomID() (id trace.SpanID) {
	binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	return id
}

// Granted reports a grant, which is the beginning of a trace.
func (v *Visit) Granted(job *crawl.Visit, began, ended time.Time) {
	if v == nil {
		return
	}
	v.named("grant", v.grant, trace.SpanID{}, began, ended,
		attribute.String("server.address", string(job.Host)), attribute.Int("curtsy.urls", len(job.URLs)),
		attribute.Int("curtsy.errands", len(job.Aux)), attribute.Int64("curtsy.delay_ms", job.Delay.Milliseconds()))
}

// Visited reports a completed visit: what it sent and, if it ended early, why.
func (v *Visit) Visited(job *crawl.Visit, requests int, early string, began, ended time.Time) {
	if v == nil {
		return
	}
	v.named("visit", v.visit, v.grant, began, ended,
		attribute.String("server.address", string(job.Host)), attribute.Int("curtsy.urls", len(job.URLs)),
		attribute.Int("curtsy.requests", requests), attribute.String("curtsy.ended_early", early))
}

// Requests reports completed requests of a visit.
func (v *Visit) Requests(all []crawl.Exchange) {
	if v == nil {
		return
	}
	for i := range all {
		v.request(&all[i])
	}
}

func (v *Visit) request(x *crawl.Exchange) {
	attrs := []attribute.KeyValue{
		attribute.String("curtsy.request", x.Kind.String()),
		attribute.Int64("curtsy.pause_owed_ms", x.Bound.Milliseconds()), attribute.String("curtsy.pause_owed_to", x.BoundSource)}
	switch crawl.AuxKind(x.Kind) {
	case crawl.AuxRUP: // GET or POST
	case crawl.AuxWebSub:
		attrs = append(attrs, attribute.String("http.request.method", "POST"))
	default:
		attrs = append(attrs, attribute.String("http.request.method", "GET"))
	}
	if u, err := url.Parse(x.URL); err == nil {
		attrs = append(attrs, attribute.String("url.scheme", u.Scheme), attribute.String("server.address", u.Hostname()),
			attribute.String("url.path", u.EscapedPath()))
	}
	if x.Status != 0 {
		attrs = append(attrs, attribute.Int("http.response.status_code", x.Status), attribute.Int64("http.response.body.size", x.Bytes))
	}
	failed := x.Status == 0 || x.Status >= 400
	if failed && x.Status == 0 {
		attrs = append(attrs, attribute.String("error.type", "no answer"))
	}
	v.under("request "+x.Kind.String(), x.Start, x.End, failed, trace.WithAttributes(attrs...), trace.WithSpanKind(trace.SpanKindClient))
}

// Published reports that pages and outcome were sent, or, with lost, that they could not be.
func (v *Visit) Published(results int, partial, lost bool, began, ended time.Time) {
	if v == nil {
		return
	}
	v.under("publish", began, ended, lost, trace.WithAttributes(
		attribute.Int("curtsy.results", results), attribute.Bool("curtsy.partial", partial)))
}

// Applied reports an outcome that a shard has applied.
func (v *Visit) Applied(o *crawl.Outcome, began, ended time.Time) {
	if v == nil {
		return
	}
	v.under("apply", began, ended, false, trace.WithAttributes(
		attribute.Int("curtsy.results", len(o.Results)), attribute.Bool("curtsy.partial", o.Partial)))
}

// Stored reports pages in the page store, from when they were read to when they were on disk.
func (v *Visit) Stored(pages int, began, ended time.Time) { v.kept("store", pages, began, ended) }

// Indexed reports pages in the search index.
func (v *Visit) Indexed(pages int, began, ended time.Time) { v.kept("index", pages, began, ended) }

func (v *Visit) kept(name string, pages int, began, ended time.Time) {
	if v != nil {
		v.under(name, began, ended, false, trace.WithAttributes(attribute.Int("curtsy.pages", pages)))
	}
}

// named makes a span that has children, with attributes that identify the visit.
func (v *Visit) named(name string, id, under trace.SpanID, began, ended time.Time, attrs ...attribute.KeyValue) {
	s := v.begin(name, id, under, began, []trace.SpanStartOption{trace.WithAttributes(v.about...), trace.WithAttributes(attrs...)})
	end(s, began, ended)
}

// under makes a span whose parent is the span of the visit.
func (v *Visit) under(name string, began, ended time.Time, failed bool, o ...trace.SpanStartOption) {
	s := v.begin(name, trace.SpanID{}, v.visit, began, o)
	if failed {
		s.SetStatus(codes.Error, "")
	}
	end(s, began, ended)
}
