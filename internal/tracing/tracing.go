package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Options describe where traces are sent, and which process sends them.
type Options struct {
	// Endpoint is the collector's URL, http or https, without a password. If it has no path, the
	// path of OTLP is used, /v1/traces.
	Endpoint string
	Ratio    float64 // the part of all visits that is traced; 1: all of them
	Service  string  // the kind of process: "frontier", "fetcher", "indexer", "crawl"
	Instance string  // which of several processes of this kind
	Version  string  // of the program
	// Client sends the spans. If it is nil, the exporter makes one.
	Client *http.Client
	Log    *slog.Logger
}

// CheckEndpoint returns why traces cannot be sent to a URL, and what works. nil means that they
// can.
func CheckEndpoint(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("is not an http or https URL; use for example http://127.0.0.1:4318")
	case u.User != nil:
		return errors.New("contains a password, which others can read on the command line; " +
			"put the headers for the collector into the environment variable OTEL_EXPORTER_OTLP_HEADERS")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("has a query or fragment; use for example http://127.0.0.1:4318/v1/traces")
	}
	return nil
}

// Tracer sends spans to a collector. Its methods may be called concurrently, and on nil.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger
	below    uint64 // visits are traced whose hash, a number below 2⁶³, is less than this
}

// sayEvery is the shortest time between two log lines about spans that do not reach the collector.
const sayEvery = time.Minute

// closeFor is how long the end of a process waits for a collector.
const closeFor = 5 * time.Second

// New makes a tracer. It connects when there is something to send. If the collector is away, spans
// are lost, and nothing else happens. Close ends the tracer.
func New(o Options) (*Tracer, error) {
	if err := CheckEndpoint(o.Endpoint); err != nil {
		return nil, fmt.Errorf("the traces' endpoint %w", err)
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	options := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(u.String())}
	if o.Client != nil {
		options = append(options, otlptracehttp.WithHTTPClient(o.Client))
	}
	exporter, err := otlptracehttp.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	limited := rate.Sometimes{Interval: sayEvery}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		limited.Do(func() { o.Log.Warn("traces cannot be sent to the collector", "err", err) })
	}))
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter), sdk.WithIDGenerator(ids{}), sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "curtsy-"+o.Service), attribute.String("service.instance.id", o.Instance),
			attribute.String("service.version", o.Version))))
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/curtsy/curtsy"), log: o.Log, below: share(o.Ratio)}, nil
}

// share converts a ratio to a number out of 2⁶³.
func share(ratio float64) uint64 { return uint64(max(0, min(ratio, 1)) * (1 << 63)) }

// Close sends the remaining spans, which may take five seconds at most, and ends the tracer.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeFor)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last traces could not be sent to the collector", "err", err)
	}
}

// Crawl are the traces of one crawl.
type Crawl struct {
	t      *Tracer
	name   string
	prefix []byte // of what is hashed
}

// Of returns the traces of the crawl that spec describes, or nil if tracing is off.
func (t *Tracer) Of(spec crawl.Spec) *Crawl {
	if t == nil {
		return nil
	}
	prefix := append([]byte(spec.Name), 0)
	return &Crawl{t, spec.Name, binary.BigEndian.AppendUint64(prefix, uint64(spec.Created.UnixNano()))}
}

// Visit is the trace of one visit.
type Visit struct {
	c     *Crawl
	id    trace.TraceID
	grant trace.SpanID
	visit trace.SpanID
	about []attribute.KeyValue // attributes that identify the visit
}

// Visit returns the trace of a visit of a shard. It is nil if tracing is off or this visit is not
// sampled. All processes of a crawl with the same ratio sample the same visits.
func (c *Crawl) Visit(shard int, id crawl.VisitID) *Visit {
	if c == nil {
		return nil
	}
	b := make([]byte, 0, 96)
	b = append(b, c.prefix...)
	b = binary.BigEndian.AppendUint32(b, uint32(shard))
	b = binary.BigEndian.AppendUint64(b, id.Epoch)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, id.N))
	if binary.BigEndian.Uint64(sum[8:])>>1 >= c.t.below {
		return nil
	}
	v := &Visit{c: c, about: []attribute.KeyValue{
		attribute.String("curtsy.crawl", c.name), attribute.Int("curtsy.shard", shard), attribute.String("curtsy.visit", id.String())}}
	copy(v.id[:], sum[:])
	copy(v.grant[:], sum[16:])
	copy(v.visit[:], sum[24:])
	return v
}

// begin begins a span. If id is not zero, it is the span's id; if under is not zero, it is the
// span's parent.
func (v *Visit) begin(name string, id, under trace.SpanID, began time.Time, o []trace.SpanStartOption) trace.Span {
	ctx := context.WithValue(context.Background(), idsKey{}, given{v.id, id})
	if under.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: v.id, SpanID: under, TraceFlags: trace.FlagsSampled, Remote: true}))
	}
	_, s := v.c.t.tracer.Start(ctx, name, append(o, trace.WithTimestamp(began))...)
	return s
}

func end(s trace.Span, began, ended time.Time) {
	if ended.Before(began) { // the clock was set back
		ended = began
	}
	s.End(trace.WithTimestamp(ended))
}

// ids generates the ids of spans. It takes them from the context, or makes random ones.
type ids struct{}

type idsKey struct{}

type given struct {
	trace trace.TraceID
	span  trace.SpanID // zero: a random one
}

// NewIDs returns the ids of the first span of a trace.
func (i ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	g, _ := ctx.Value(idsKey{}).(given)
	return g.trace, i.NewSpanID(ctx, g.trace)
}

// NewSpanID returns the id of a span that has a parent.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	g, _ := ctx.Value(idsKey{}).(given)
	for !g.span.IsValid() {
		g.span = randomID()
	}
	return g.span
}

// CheckRatio reports whether r is valid: more than 0, and at most 1.
func CheckRatio(r float64) bool { return r > 0 && r <= 1 }
