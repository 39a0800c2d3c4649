package config

import (
	"log/slog"

	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/internal/version"
)

// Traces says where a process sends traces of visits. It is not stored with a crawl, so each
// process needs it.
type Traces struct {
	TraceEndpoint string  `key:"trace-endpoint" group:"Output" usage:"send OpenTelemetry traces of visits to the collector at ‹URL›, by OTLP over HTTP (empty: no traces)" example:"http://127.0.0.1:4318"`
	TraceRatio    float64 `key:"trace-ratio" group:"Output" usage:"trace this ‹PART› of all visits; use the same for all processes of a crawl" example:"0.01"`
}

func newTraces() Traces { return Traces{TraceRatio: 1} }

func (t Traces) check(src *Source) error {
	if !tracing.CheckRatio(t.TraceRatio) {
		return src.Refuse("trace-ratio", "must be over 0, and 1 at most; use for example 0.01")
	}
	if t.TraceEndpoint == "" {
		return nil
	}
	if err := tracing.CheckEndpoint(t.TraceEndpoint); err != nil {
		return src.refuseSecretly("trace-endpoint", err.Error())
	}
	return nil
}

// Tracer returns what sends the traces of a process of a kind, or nil if none are sent. Close it
// when the process ends.
func (t Traces) Tracer(kind, instance string, log *slog.Logger) (*tracing.Tracer, error) {
	if t.TraceEndpoint == "" {
		return nil, nil
	}
	return tracing.New(tracing.Options{Endpoint: t.TraceEndpoint, Ratio: t.TraceRatio, Service: kind, Instance: instance,
		Version: version.Get().Version, Log: log})
}
