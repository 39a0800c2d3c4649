package fetcher

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// Shared is what the fetchers of several crawls in one process have in common: their hands, which
// are divided by weight, the limits of addresses and memory, the counters, and politeness. A host
// is visited for one crawl at a time, and rests between two crawls as it does between two requests
// of one. Between processes claims see to that.
type Shared struct {
	client  *wire.Client
	metrics *metrics.Metrics
	pool    *pool
	hosts   *hosts // nil: for one crawl
	// Made up at the start: by it the crawls of a cluster know the process.
	process string
}

// NewShared prepares what is shared. Of the options those count that say how a process works and
// how it sends: Hands, the limits of requests and answers, Resolver, TLS, Signer, Credentials,
// Proxy, Log and Registerer. They count for all crawls. An error is about the Registerer.
func NewShared(opt Options) (*Shared, error) {
	s, err := newShared(opt.withDefaults())
	if err == nil {
		s.hosts = newHosts(time.Now())
	}
	return s, err
}

// newShared is what one crawl needs.
func newShared(opt Options) (*Shared, error) {
	met, err := metrics.New(opt.Registerer)
	if err != nil {
		return nil, fmt.Errorf("fetcher metrics: %w", err)
	}
	s := &Shared{client: wire.NewClient(opt.wire()), metrics: met, pool: newPool(opt.Slots), process: rand.Text()}
	s.client.OnViolation(func(why string) {
		met.Violations.Inc()
		opt.Log.Error("a request was stopped because it would have been impolite; this is a bug", "why", why)
	})
	s.client.OnOver(met.Over)
	if opt.Signer != nil {
		s.signing(opt)
	}
	s.setCredentials(opt)
	return s, nil
}
