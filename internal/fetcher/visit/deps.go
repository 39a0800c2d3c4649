package visit

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/dispatch"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/page"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wellknown"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Later is the error of Sink.Elsewhere if the visit that asks has to end first.
type Later = page.Later

// Sink is where a visit publishes what it found, and what it asks for what it has to know. Whoever
// carries visits out has one.
type Sink interface {
	publish.Sink
	// Stalled reports whether the page queue of a shard is full.
	Stalled(shard int) bool
	// RobotsText asks a shard's owner for the text of a robots.txt, by its digest.
	RobotsText(ctx context.Context, shard int, digest []byte) ([]byte, error)
	// DispatchPlan asks a shard's owner for a part of the plan of a dispatch.
	DispatchPlan(ctx context.Context, shard int, q crawl.DispatchQuery) (crawl.DispatchPlan, error)
	// Forgotten reports whether a URL must not be requested any more, as of now.
	Forgotten(u canon.URL) bool
	// Elsewhere calls do with a visit to the host of an origin, on behalf of a visit to the host
	// from. It waits for that visit, and an error says why there was none. The visit that asks ends
	// with ctx, and must not last longer because of it. public: only public addresses may be
	// reached, because the page that asks is at one.
	Elsewhere(ctx context.Context, from canon.Host, origin canon.Origin, public bool, do func(v *Visit)) error
}

// Options say what visits do. The zero value of a field stands for its default.
type Options struct {
	Fetcher      string // by whom the visits are carried out
	Shards       int    // of the crawl
	MaxBody      int64  // bytes of a page after content-decoding; 0 = 10 MiB
	MaxSitemap   int64  // bytes of a sitemap; 0 = sitemap.MaxBytes
	MaxCatalogue int64  // bytes of a JSON catalogue of datasets; 0 = catalog.MaxCatalogue
	RulesCache   int    // robots.txt files whose rules are kept; 0 = 4096
	DiscardPages bool   // pages are handed to nobody
	MaxBatch     int    // as in publish.Options
	// PDFToText is the path of poppler's pdftotext, which then reads the text of PDF files. Without
	// it our own reader does.
	PDFToText string
	// Renderer runs the scripts of pages; nil: none can be rendered. Renders is how many pages are
	// rendered at the same time; 0 = 1.
	Renderer render.Renderer
	Renders  int
	// Robot is what is sent to the servers that sites name for mobile robots; nil: nothing is.
	Robot *dispatch.Robot
	Log   *slog.Logger
}

// Deps is what the visits of a process have in common. It may be used concurrently.
type Deps struct {
	client  *wire.Client
	opt     Options
	metrics *metrics.Metrics
	rules   *robots.Cache
	pages   *page.Shared
	parsing sync.Mutex // see wellknown.Options
}

// NewDeps makes what visits have in common; Close ends it.
func NewDeps(c *wire.Client, met *metrics.Metrics, opt Options) *Deps {
	opt.MaxBody, opt.MaxSitemap = cmp.Or(max(opt.MaxBody, 0), 10<<20), cmp.Or(max(opt.MaxSitemap, 0), sitemap.MaxBytes)
	opt.MaxCatalogue = cmp.Or(max(opt.MaxCatalogue, 0), catalog.MaxCatalogue)
	return &Deps{client: c, opt: opt, metrics: met, rules: robots.NewCache(cmp.Or(max(opt.RulesCache, 0), 4096)),
		pages: page.NewShared(page.SharedOptions{PDFToText: opt.PDFToText, Renderer: opt.Renderer, Renders: opt.Renders, Log: opt.Log})}
}

// Close ends what runs besides the visits.
func (k *Deps) Close() { k.pages.Close() }

// RequestLog is where a visit writes down its requests until they are reported.
type RequestLog interface {
	wire.RequestLog
	// Reported is called after all requests were reported. last says that the visit has ended.
	Reported(last bool)
}

// Grant is a visit that was granted, and what it is carried out with.
type Grant struct {
	Job        *crawl.Visit
	Config     *requests.Config
	Scratch    *Scratch
	Sink       Sink
	Lease      *wire.Lease
	Began      time.Time      // when the grant arrived
	Clock      int64          // the same instant in traces
	RequestLog RequestLog     // nil: requests are not written down
	Trace      *tracing.Visit // nil: the visit is not traced
	// Open reports whether the hours of the host permit requests now; nil: always.
	Open func() bool

	Requests   context.Context // ends with the lease; running requests are cut off then
	Waiting    context.Context // ends as soon as nothing new is to begin
	Publishing context.Context // ends when all that is not published yet is dropped
}

// Scratch is the memory that a visit works with and leaves to the next visit. The zero value is
// ready for use.
type Scratch struct {
	publish  publish.Buffers
	page     page.Buffers
	memo     usage.Memo // most pages of a site state the same
	body     []byte     // of an answer
	traced   []crawl.Exchange
	recorder *wire.Recorder // made when it is first needed
}

// New makes a granted visit ready to be carried out.
func (k *Deps) New(g Grant) *Visit {
	job, h := g.Job, g.Scratch
	v := &Visit{deps: k, sink: g.Sink, job: job, scratch: h, publishing: g.Publishing, report: report{at: g.Began, log: g.RequestLog, trace: g.Trace, clock: g.Clock},
		log: k.opt.Log.With("visit", job.ID, "host", string(job.Host))}
	archive := g.Config.Spec().WARC != "" && !k.opt.DiscardPages
	v.requests = requests.New(requests.Options{
		Config: g.Config, Session: k.session(g, archive), Host: job.Host, Metrics: k.metrics, Log: v.log, Forgotten: g.Sink.Forgotten,
		Lost:    func() bool { return v.publisher.Lost() },
		Archive: func(u canon.URL, a *wire.Answer) { v.pages.Archive(u, a) },
	})
	v.publisher = publish.New(publish.Options{
		Sink: g.Sink, Context: g.Publishing, Visit: job.ID, Host: job.Host, Shard: job.Shard, Shards: k.opt.Shards, Fetcher: k.opt.Fetcher,
		Scope: g.Config.Scope, URLs: len(job.URLs), Discard: k.opt.DiscardPages, MaxBatch: k.opt.MaxBatch, Archive: archive, Metrics: k.metrics, Log: v.log,
		Waited: func() { v.requests.End("its pages had to wait because the page queue is full") },
	}, &h.publish)
	v.sites = robots.New(robots.Options{
		Requests: v.requests, Job: job, Began: g.Began, Cache: k.rules, Memo: &h.memo, Publish: v.publisher.Fact,
		Text: func(ctx context.Context, digest []byte) ([]byte, error) {
			return g.Sink.RobotsText(ctx, job.Shard, digest)
		},
		HasCredentials: k.client.HasCredentials, NeedsText: v.needsText,
	})
	v.files = &wellknown.Files{Options: wellknown.Options{
		Requests: v.requests, Sites: v.sites, Publisher: v.publisher, MaxSitemap: k.opt.MaxSitemap, Stalled: g.Sink.Stalled,
		Shows: k.client.Shows, Parsing: &k.parsing,
	}}
	v.pages = page.New(page.Options{
		Requests: v.requests, Sites: v.sites, Publisher: v.publisher, Shared: k.pages, Context: g.Publishing,
		MaxBody: k.opt.MaxBody, MaxCatalogue: k.opt.MaxCatalogue, HasCredentials: k.client.HasCredentials,
		Elsewhere: func(ctx context.Context, origin canon.Origin, do func(*page.Scripts)) error {
			return g.Sink.Elsewhere(ctx, job.Host, origin, v.requests.Session.Public(), func(there *Visit) { do(&there.pages.Scripts) })
		},
	}, &h.page)
	return v
}

// session makes the session in which a visit sends its requests.
func (k *Deps) session(g Grant, archive bool) *wire.Session {
	job, h := g.Job, g.Scratch
	s := k.client.NewSession(g.Requests, g.Waiting, &g.Config.Config, job.Host, g.Lease)
	s.Granted, s.Delayed, s.Hurried, s.Buf = job.Delay, job.Delay, job.Hurried, h.body
	s.Open = g.Open
	s.DelaySource, s.Traced, s.NewAddress = job.DelaySource, h.traced[:0], job.NewAddress
	if g.RequestLog != nil {
		s.RequestLog = g.RequestLog
	}
	if archive {
		if h.recorder == nil {
			h.recorder = new(wire.Recorder)
		}
		s.Recorder = h.recorder
	}
	s.LimitPatience(1 + len(job.URLs) + len(job.Aux))
	return s
}
