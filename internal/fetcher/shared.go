package fetcher

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
)

// Shared is what the fetchers of several crawls in one process have in common: their slots, which
// are divided by weight, the limits of addresses and memory, the counters, and politeness. A host
// is visited for one crawl at a time, and the pause between two crawls is that between two requests
// of one crawl. Claims ensure the same between processes.
type Shared struct {
	client  *wire.Client
	metrics *metrics.Metrics
	pool    *pool
	hosts   *hosts // nil: for one crawl
	// A name that is invented at the start. The crawls of a cluster identify the process by it.
	process string
}

// NewShared prepares what is shared. It uses the options that say how a process works and how it
// sends: Slots, the limits of requests and answers, Resolver, TLS, Signer, Credentials, Proxy, Log
// and Registerer. They apply to all crawls. An error is about the Registerer.
func NewShared(opt Options) (*Shared, error) {
	s, err := newShared(opt.withDefaults())
	if err == nil {
		s.hosts = newHosts(time.Now())
	}
	return s, err
}

// newShared makes what one crawl needs.
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
