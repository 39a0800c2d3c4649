package visit

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document/worker"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// Sink is where a visit tells what it found, and asks what it has to know. Whoever
// carries visits out is one.
type Sink interface {
	// AppendEvent appends an event to a shard's log and returns when it is stored.
	AppendEvent(ctx context.Context, shard int, event []byte) error
	// SendPages hands pages to a shard's indexer and returns when they are stored, and whether they
	// had to wait for room.
	SendPages(ctx context.Context, shard int, pages []byte) (waited bool, err error)
	// Stalled reports whether pages of a shard find no room now.
	Stalled(shard int) bool
	// RobotsText asks a shard's owner for the text of a robots.txt, by its digest.
	RobotsText(ctx context.Context, shard int, digest []byte) ([]byte, error)
	// Forgotten reports whether nothing may be asked for under a URL any more, as of now.
	Forgotten(u canon.URL) bool
}

// Options say what visits do. A field's zero means its default.
type Options struct {
	Fetcher    string // whose visits they are
	Shards     int    // of the crawl
	MaxBody    int64  // bytes of a page after content-decoding; 0 = 10 MiB
	MaxSitemap int64  // bytes of a sitemap; 0 = sitemap.MaxBytes
	// Bytes of a JSON catalogue of datasets; 0 = catalog.MaxCatalogue.
	MaxCatalogue int64
	RulesCache   int  // robots.txt files kept parsed; 0 = 4096
	DiscardPages bool // pages are handed to nobody
	// PDFToText is the path of poppler's pdftotext, which then reads the text of PDF files; "":
	// it is not used.
	PDFToText string
	Log       *slog.Logger
}

// Deps is what the visits of a process have in common.
type Deps struct {
	client  *wire.Client
	opt     Options
	metrics *Metrics
	rules   rulesCache
	repeats repeats

	documents *worker.Pool

	// Held while a data.txt is read for what is nested in it: a hostile one takes 100 MiB meanwhile
	parsing sync.Mutex
}

// NewDeps makes a kit of a client.
func NewDeps(c *wire.Client, met *Metrics, opt Options) *Deps {
	opt.MaxBody, opt.MaxSitemap = cmp.Or(max(opt.MaxBody, 0), 10<<20), cmp.Or(max(opt.MaxSitemap, 0), sitemap.MaxBytes)
	opt.MaxCatalogue = cmp.Or(max(opt.MaxCatalogue, 0), catalog.MaxCatalogue)
	return &Deps{client: c, opt: opt, metrics: met, rules: rulesCache{max: cmp.Or(max(opt.RulesCache, 0), 4096)},
		documents: worker.New(worker.Options{PDFToText: opt.PDFToText})}
}

// Close ends what a kit has running beside its visits.
func (k *Deps) Close() { k.documents.Close() }

// RequestLog is where a visit writes down its requests until they are told of.
type RequestLog interface {
	wire.RequestLog
	// Reported says that all of them are told of, and with last the visit's end is.
	Reported(last bool)
}

// Grant is a visit that was granted, and what it is carried out with.
type Grant struct {
	Job     *crawl.Visit
	Config  *Config
	Scratch *Scratch
	Sink    Sink
	Lease   *wire.Lease
	Began   time.Time // when the grant arrived
	Clock   int64     // what that is in traces
	// Where requests are written down until they are told of; nil: nowhere.
	RequestLog RequestLog
	Trace      *tracing.Visit // nil: the visit is not traced

	Requests   context.Context // ends with the lease: requests under way are cut off
	Waiting    context.Context // ends as soon as nothing new shall begin
	Publishing context.Context // ends when all that is still not told is dropped
}

// New makes a granted visit ready to be carried out.
func (k *Deps) New(g Grant) *Visit {
	job, h := g.Job, g.Scratch
	v := &Visit{deps: k, sink: g.Sink, cfg: g.Config, job: job, scratch: h, began: g.Began, pubCtx: g.Publishing,
		log: k.opt.Log.With("visit", job.ID, "host", string(job.Host))}
	v.out.Host, v.reported.at = job.Host, g.Began
	v.session = k.client.NewSession(g.Requests, g.Waiting, &g.Config.Config, job.Host, g.Lease)
	v.session.Granted, v.session.Delayed, v.session.Hurried, v.session.Buf = job.Delay, job.Delay, job.Hurried, h.body
	v.session.DelaySource, v.session.Traced = job.DelaySource, h.traced[:0]
	v.clock, v.trace = g.Clock, g.Trace
	if v.requestLog = g.RequestLog; v.requestLog != nil {
		v.session.RequestLog = v.requestLog
	}
	if g.Config.spec.WARC != "" && !k.opt.DiscardPages {
		if h.recorder == nil {
			h.recorder = new(wire.Recorder)
		}
		v.session.Recorder = h.recorder
	}
	v.session.LimitPatience(1 + len(job.URLs) + len(job.Aux))
	h.links.reset(k.opt.Shards)
	h.results, h.pages = h.results[:0], 0
	return v
}

// Close tells what came of a visit, which ends it.
func (v *Visit) Close() {
	v.publishAll(false)
	v.deps.metrics.visits.Inc()
	v.deps.metrics.count(v.scratch.results)
	v.session.Release()
	v.scratch.traced = v.session.Traced
	v.scratch.tidy(v.session.Buf)
	v.trace.Visited(v.job, v.out.Requests, v.reason, v.began, time.Now())
}

// tidy keeps buffers of ordinary size for the next visit, and lets go of what one
// large page needed.
func (h *Scratch) tidy(body []byte) {
	h.body = body
	if cap(h.body) > wire.KeepBuffer {
		h.body = nil
	}
	if cap(h.packed) > wire.KeepBuffer {
		h.packed = nil
	}
	if cap(h.batch) > 2*maxBatch {
		h.batch = nil
	}
	if h.links.known > wire.KeepBuffer {
		h.links.seen, h.links.known = nil, 0
	}
	clear(h.results)
}
