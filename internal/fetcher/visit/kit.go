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

// Outlet is where a visit tells what it found, and asks what it has to know. Whoever
// carries visits out is one.
type Outlet interface {
	// AppendEvent appends an event to a shard's log and returns when it is stored.
	AppendEvent(ctx context.Context, shard int, event []byte) error
	// SendPages hands pages to a shard's indexer and returns when they are stored, and whether they
	// had to wait for room.
	SendPages(ctx context.Context, shard int, pages []byte) (waited bool, err error)
	// Jammed reports whether pages of a shard find no room now.
	Jammed(shard int) bool
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

// Kit is what the visits of a process have in common.
type Kit struct {
	client  *wire.Client
	opt     Options
	met     *Metrics
	rules   rulesCache
	repeats repeats

	documents *worker.Pool

	// Held while a data.txt is read for what is nested in it: a hostile one takes 100 MiB meanwhile
	parsing sync.Mutex
}

// NewKit makes a kit of a client.
func NewKit(c *wire.Client, met *Metrics, opt Options) *Kit {
	opt.MaxBody, opt.MaxSitemap = cmp.Or(max(opt.MaxBody, 0), 10<<20), cmp.Or(max(opt.MaxSitemap, 0), sitemap.MaxBytes)
	opt.MaxCatalogue = cmp.Or(max(opt.MaxCatalogue, 0), catalog.MaxCatalogue)
	return &Kit{client: c, opt: opt, met: met, rules: rulesCache{max: cmp.Or(max(opt.RulesCache, 0), 4096)},
		documents: worker.New(worker.Options{PDFToText: opt.PDFToText})}
}

// Close ends what a kit has running beside its visits.
func (k *Kit) Close() { k.documents.Close() }

// Journal is where a visit writes down its requests until they are told of.
type Journal interface {
	wire.Journal
	// Told says that all of them are told of, and with last the visit's end is.
	Told(last bool)
}

// Grant is a visit that was granted, and what it is carried out with.
type Grant struct {
	Job    *crawl.Visit
	Config *Config
	Hand   *Hand
	Outlet Outlet
	Lease  *wire.Lease
	Began  time.Time // when the grant arrived
	Clock  int64     // what that is in traces
	// Where requests are written down until they are told of; nil: nowhere.
	Journal Journal
	Trace   *tracing.Visit // nil: the visit is not traced

	Requests   context.Context // ends with the lease: requests under way are cut off
	Waiting    context.Context // ends as soon as nothing new shall begin
	Publishing context.Context // ends when all that is still not told is dropped
}

// New makes a granted visit ready to be carried out.
func (k *Kit) New(g Grant) *Visit {
	job, h := g.Job, g.Hand
	v := &Visit{kit: k, outlet: g.Outlet, cfg: g.Config, job: job, hand: h, began: g.Began, pubCtx: g.Publishing,
		log: k.opt.Log.With("visit", job.ID, "host", string(job.Host))}
	v.out.Host, v.told.at = job.Host, g.Began
	v.hold = k.client.NewHold(g.Requests, g.Waiting, &g.Config.Config, job.Host, g.Lease)
	v.hold.Granted, v.hold.Owed, v.hold.Hurried, v.hold.Buf = job.Delay, job.Delay, job.Hurried, h.body
	v.hold.OwedTo, v.hold.Traced = job.DelaySource, h.traced[:0]
	v.clock, v.trace = g.Clock, g.Trace
	if v.journal = g.Journal; v.journal != nil {
		v.hold.Journal = v.journal
	}
	if g.Config.spec.WARC != "" && !k.opt.DiscardPages {
		if h.recorder == nil {
			h.recorder = new(wire.Recorder)
		}
		v.hold.Recorder = h.recorder
	}
	v.hold.LimitPatience(1 + len(job.URLs) + len(job.Errands))
	h.links.reset(k.opt.Shards)
	h.results, h.pages = h.results[:0], 0
	return v
}

// Close tells what came of a visit, which ends it.
func (v *Visit) Close() {
	v.publishAll(false)
	v.kit.met.visits.Inc()
	v.kit.met.count(v.hand.results)
	v.hold.Release()
	v.hand.traced = v.hold.Traced
	v.hand.tidy(v.hold.Buf)
	v.trace.Visited(v.job, v.out.Requests, v.reason, v.began, time.Now())
}

// tidy keeps buffers of ordinary size for the next visit, and lets go of what one
// large page needed.
func (h *Hand) tidy(body []byte) {
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
