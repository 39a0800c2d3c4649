package fetcher

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Fetcher takes visits and carries them out. Make one with New.
type Fetcher struct {
	q      *queue.Conn
	opt    Options
	log    *slog.Logger
	names  crawl.Names
	shards int
	cfg    atomic.Pointer[config]
	client *client
	rules  rulesCache
	met    *metrics
	out    outlets
	leases leases
	jams   jams
	now    clock
	hands  chan *hand // free ones
	resend time.Duration

	parsing sync.Mutex // held while a data.txt is read for what is nested in it: a hostile one takes 100 MiB meanwhile
}

// New prepares a Fetcher for a crawl; Run starts it. The error says what is wrong with the spec or the options, and what
// would work.
func New(q *queue.Conn, spec crawl.Spec, opt Options) (*Fetcher, error) {
	opt = opt.withDefaults()
	if opt.Name == "" {
		opt.Name = "fetcher-" + randomName()
	}
	cfg, err := newConfig(spec)
	if err != nil {
		return nil, err
	}
	met, err := newMetrics(opt.Registerer)
	if err != nil {
		return nil, fmt.Errorf("fetcher metrics: %w", err)
	}
	f := &Fetcher{
		q: q, opt: opt, log: opt.Log.With("fetcher", opt.Name), names: cfg.names, shards: spec.Shards,
		client: newClient(opt), rules: rulesCache{max: opt.RulesCache}, met: met, now: bootTime,
		hands: make(chan *hand, opt.Hands), resend: resendTime,
	}
	f.out = outlets{q: q, names: cfg.names, logs: make([]*queue.Log, spec.Shards)}
	f.client.check.onFire = func(why string) {
		met.violations.Inc()
		f.log.Error("a request was stopped because it would have been impolite; this is a mistake in the program", "why", why)
	}
	for range opt.Hands {
		f.hands <- new(hand)
	}
	f.cfg.Store(cfg)
	return f, nil
}

func randomName() string { return rand.Text()[:8] }

// SetSpec makes visits taken from now on follow a changed spec. Name and number of shards cannot change. It may be called
// at any time; after an error the old spec stays.
func (f *Fetcher) SetSpec(spec crawl.Spec) error {
	cfg, err := newConfig(spec)
	if err != nil {
		return err
	}
	if cfg.names != f.names || spec.Shards != f.shards {
		return fmt.Errorf("fetcher: crawl %s with %d shards cannot become %s with %d", f.names, f.shards, cfg.names, spec.Shards)
	}
	f.cfg.Store(cfg)
	return nil
}

// forgotten reports whether nothing may be asked for under a URL any more, as of now: a visit keeps the spec it began with in all
// else. A robots.txt is forgotten with the whole of its origin only: a prefix that happens to begin as it does must not close the rest.
func (f *Fetcher) forgotten(u canon.URL) bool {
	if u.PathQuery() == "/robots.txt" {
		u = u.Root()
	}
	return f.cfg.Load().forgotten.Has(u)
}

// Violations is how many requests were stopped at the last moment because they would have been impolite. It must be 0.
func (f *Fetcher) Violations() int64 { return f.client.check.fired.Load() }

var (
	tokenRE   = regexp.MustCompile(`^[A-Za-z_-]+$`)
	contactRE = regexp.MustCompile(`^[\x21-\x27\x2A-\x7E]+$`) // visible ASCII but ( and ), which would end the comment it stands in
)

// newConfig checks a spec and makes it ready for use.
func newConfig(spec crawl.Spec) (*config, error) {
	if spec.Agent == "" {
		return nil, errors.New("agent: the product token is missing; it is what robots.txt files call us, for example curtsy")
	}
	if !tokenRE.MatchString(spec.Agent) {
		return nil, fmt.Errorf("agent %q: a product token is made of letters, '-' and '_' (RFC 9309 §2.2.1), for example curtsy", spec.Agent)
	}
	if spec.Contact != "" && !contactRE.MatchString(spec.Contact) {
		return nil, fmt.Errorf("contact %q: use a mail address or a URL, for example you@example.org", spec.Contact)
	}
	if err := crawl.CheckName(spec.Name); err != nil {
		return nil, err
	}
	if spec.Shards < 1 || spec.Shards > crawl.MaxShards {
		return nil, fmt.Errorf("shards %d: use 1 to %d", spec.Shards, crawl.MaxShards)
	}
	resolve, err := parseResolve(spec.Resolve)
	if err != nil {
		return nil, err
	}
	seeds := make([]canon.URL, len(spec.Seeds))
	for i, s := range spec.Seeds {
		if seeds[i], err = canon.Parse(s); err != nil {
			return nil, fmt.Errorf("seed %q: %w", s, err)
		}
	}
	sc, err := scope.New(scope.Spec{Kind: spec.Scope, Seeds: seeds, Include: spec.Include, Exclude: spec.Exclude})
	if err != nil {
		return nil, err
	}
	return &config{
		spec: spec, names: crawl.Names(spec.Name), scope: sc, scopeHash: spec.ScopeHash(), resolve: resolve,
		allowPrivate: spec.AllowPrivate, contact: spec.Contact != "", forgotten: crawl.NewForgotten(spec.Forgotten),
		header: http.Header{
			"User-Agent":      {userAgent(spec)},
			"Accept":          {"text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.1"},
			"Accept-Encoding": {acceptEncoding},
		},
	}, nil
}

// userAgent is <token>/<version> (+<contact>): robots.txt token and a way to reach a person (RFC 9309 §2.2.1).
func userAgent(spec crawl.Spec) string {
	ua := spec.Agent + "/" + Version
	if c := strings.TrimSpace(spec.Contact); c != "" {
		ua += " (+" + c + ")"
	}
	return ua
}

// Run takes visits and carries them out until ctx ends. Then it takes no more, running visits stop before their next
// request, and what they have is published within Options.Grace. It returns nil, and nothing of it runs on. Call it once.
func (f *Fetcher) Run(ctx context.Context) error {
	if n := f.q.NC.MaxPayload(); n < crawl.MaxPayloadBytes { // some page would be fetched again for ever
		return fmt.Errorf("NATS takes messages of at most %d bytes: set max_payload to %d or more in its configuration", n, crawl.MaxPayloadBytes)
	}
	// Requests under way may use half the grace; publishing what came of them has all of it.
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	publishing, cancelPublishing := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	defer cancelPublishing()
	var timers struct {
		sync.Mutex
		list []*time.Timer
	}
	stop := context.AfterFunc(ctx, func() {
		timers.Lock()
		defer timers.Unlock()
		timers.list = append(timers.list, time.AfterFunc(f.opt.Grace/2, cancelRequests), time.AfterFunc(f.opt.Grace, cancelPublishing))
	})
	defer func() {
		stop()
		timers.Lock()
		defer timers.Unlock()
		for _, t := range timers.list {
			t.Stop()
		}
	}()
	defer f.client.close()

	r := &runner{f: f, ctx: ctx, requests: requests, publishing: publishing, takers: make(map[string]context.CancelFunc)}
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	var renewer sync.WaitGroup
	renewer.Go(func() { f.leases.run(renewing, f) })
	err := r.watch()
	r.wg.Wait()
	stopRenewing()
	renewer.Wait()
	return err
}
