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

// Options say where traces go, and from whom they come.
type Options struct {
	// Endpoint is the collector's URL, http or https, without a password. Without a path it is
	// that of OTLP, /v1/traces.
	Endpoint string
	Ratio    float64 // of all visits, those that are traced; 1: all of them
	Service  string  // what the process is: "frontier", "fetcher", "indexer", "crawl"
	Instance string  // which of them
	Version  string  // of the program
	// Client sends the spans; nil: one that the exporter makes.
	Client *http.Client
	Log    *slog.Logger
}

// CheckEndpoint says why traces cannot be sent to a URL, and what works; nil: they can.
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

// Tracer sends spans to a collector. Its methods may be called by many goroutines, and on nil.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	log      *slog.Logger
	below    uint64 // visits are traced whose number, out of 2⁶³, is under this
}

// sayEvery is how often at most the log has it that spans do not reach the collector.
const sayEvery = time.Minute

// closeFor is how long the end of a process waits for a collector.
const closeFor = 5 * time.Second

// New makes a tracer. It connects when there is something to send, and a collector that is away
// costs spans and nothing else. Close ends it.
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
	said := rate.Sometimes{Interval: sayEvery}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		said.Do(func() { o.Log.Warn("traces cannot be sent to the collector", "err", err) })
	}))
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter), sdk.WithIDGenerator(ids{}), sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "curtsy-"+o.Service), attribute.String("service.instance.id", o.Instance),
			attribute.String("service.version", o.Version))))
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/curtsy/curtsy"), log: o.Log, below: share(o.Ratio)}, nil
}

// share is a ratio as a part of 2⁶³.
func share(ratio float64) uint64 { return uint64(max(0, min(ratio, 1)) * (1 << 63)) }

// Close sends what is left, if that takes no longer than five seconds, and ends the tracer.
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

// Of are the traces of the crawl that spec describes; nil when tracing is off.
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
	about []attribute.KeyValue // of the spans that say which visit it is
}

// Visit is the trace of a visit of a shard; nil when tracing is off, or when this visit is not
// among those that are traced. All parts of a crawl with the same ratio decide alike.
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

// begin begins a span: with an id of its own unless that is zero, under another one unless that is
// zero.
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
	if ended.Before(began) { // a clock was set
		ended = began
	}
	s.End(trace.WithTimestamp(ended))
}

// ids makes the ids of spans: those that a context gives, or by chance.
type ids struct{}

type idsKey struct{}

type given struct {
	trace trace.TraceID
	span  trace.SpanID // zero: any
}

// NewIDs are those of the first span of a trace.
func (i ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	g, _ := ctx.Value(idsKey{}).(given)
	return g.trace, i.NewSpanID(ctx, g.trace)
}

// NewSpanID is that of a span under another one.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	g, _ := ctx.Value(idsKey{}).(given)
	for !g.span.IsValid() {
		g.span = randomID()
	}
	return g.span
}

// CheckRatio reports whether r is a part of all visits that can be traced: over 0, and 1 at most.
func CheckRatio(r float64) bool { return r > 0 && r <= 1 }
