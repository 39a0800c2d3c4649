package engine

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// DefaultCrawl is the name of a crawl if none is given.
const DefaultCrawl = "default"

// Options configure a crawl in one process.
type Options struct {
	Dir string // the data directory, created if missing; "": the working directory
	// NATS is the server to use. Without an address and without a server in it, the engine starts
	// an embedded server, whose files are in Dir. Name is shown in its list of connections.
	NATS queue.Options
	// Server is an embedded server that runs already. It serves only this crawl, and continues when
	// the engine ends. If it is nil, NATS applies.
	Server *embedded.Server
	// Crawl is the name of the crawl; "" means the one in Dir, or DefaultCrawl.
	Crawl string
	// Plan returns the spec of a new crawl (old is nil) or of one that continues. nil means that it
	// continues unchanged.
	Plan func(old *crawl.Spec) (crawl.Spec, error)
	// By is the operator for the lines in the crawl log about settings that Plan changes.
	By control.By
	// Seeds are submitted at the beginning. Those that are known already are tried again at once.
	Seeds []canon.URL
	// ReadyBy is when Run fails if the crawl is not ready, for example because a file cannot be
	// opened; zero: it waits. Whoever has a time limit must not wait longer than that.
	ReadyBy time.Time
	// StreamLimits are for the streams of a new crawl; zero means what the embedded server can
	// store.
	StreamLimits frontier.StreamLimits
	Instance     string // the name of the services; "": one that depends on Dir only

	Fetcher fetcher.Options // the engine sets Name, Log, Registerer, RequestLog, Tracer and Alone
	Tracer  *tracing.Tracer // of visits; nil: no traces. Close it after the engine
	// Mail says how reports of sites are received; zero means not at all. The engine sets Registry
	// and Log.
	Mail       updates.MailOptions
	CrawlLog   frontier.CrawlLog // how much of it is kept; zero: all, in one file
	MinFree    int64             // see frontier.Options and indexer.Options
	Version    string            // of the program, for `nats micro`
	NotFetched bool              // without a fetcher: nothing is crawled
	// NotIndexed: without an indexer. The engine itself answers that no page waits to be stored.
	NotIndexed bool
	Unreached  bool // the address of the crawl is not published for other commands

	Log      *slog.Logger          // nil: silent
	Registry prometheus.Registerer // nil: no metrics
}

// embedded reports whether the crawl has an embedded server.
func (o *Options) embedded() bool {
	return o.Server != nil || o.NATS.URL == "" && o.NATS.InProcess == nil
}
