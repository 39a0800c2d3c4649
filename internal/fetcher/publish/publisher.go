package publish

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Sink is where a visit's events and pages go.
type Sink interface {
	// AppendEvent appends an event to a shard's log and returns when it is stored.
	AppendEvent(ctx context.Context, shard int, event []byte) error
	// SendPages hands pages to a shard's indexer and returns when they are stored. waited reports
	// that they had to wait because the page queue was full.
	SendPages(ctx context.Context, shard int, pages []byte) (waited bool, err error)
}

// Options say whose results are published, and where.
type Options struct {
	Sink    Sink
	Context context.Context // ends when everything that is not published yet is dropped
	Visit   crawl.VisitID
	Host    canon.Host
	Shard   int    // the visit's
	Shards  int    // of the crawl
	Fetcher string // by whom the visit is carried out
	Scope   *scope.Scope
	URLs    int // of the visit, for the log
	// MaxBatch is about how many bytes of pages are gathered for one message. It bounds what all
	// visits of a process gather: their number times this, and one page of each. 0: 128 KiB
	MaxBatch int
	Discard  bool // pages are handed to nobody
	Archive  bool // pages have captures for the crawl's archive
	Metrics  *metrics.Metrics
	Log      *slog.Logger
	// Waited is called when pages had to wait because the page queue was full.
	Waited func()
}

// Publisher publishes the results of one visit. It belongs to the visit's goroutine, except Lost.
type Publisher struct {
	Options
	buf *Buffers

	lost     atomic.Bool // something could not be published, so nothing more is
	done     []crawl.AuxRequest
	probes   []crawl.Probe
	feeds    []crawl.AuxRequest // that pages announce
	reported reported
}

// Buffers are what a publisher works with. They are used again by the next visit's publisher. The
// zero value is ready for use.
type Buffers struct {
	links   outlinks
	packed  *[]byte // for a compressed page that is not in the batch yet; nil: there is none
	batch   []byte  // pages on their way to the indexer
	pages   int     // in batch
	results []crawl.Result
}

// New returns the publisher of a visit, which uses buf until [Buffers.Tidy] is called.
func New(o Options, buf *Buffers) *Publisher {
	o.MaxBatch = cmp.Or(o.MaxBatch, maxBatch)
	buf.links.reset(o.Shards)
	buf.results, buf.pages = buf.results[:0], 0
	return &Publisher{Options: o, buf: buf}
}

// Lost reports whether something could not be published. It may be called concurrently.
func (p *Publisher) Lost() bool { return p.lost.Load() }

// resendTime is after how long a fact that could not be published yet is encoded again, because its
// age is counted from when it is sent.
const resendTime = time.Minute

// Fact publishes what was learnt of a robots.txt to the visit's shard. It reports whether the fact
// is stored.
func (p *Publisher) Fact(fact crawl.Robots) bool {
	learnt, fresh := time.Now(), fact.Fresh
	for !p.Lost() {
		ctx, cancel := context.WithTimeout(p.Context, resendTime)
		err := p.append(ctx, p.Shard, &crawl.Event{Robots: []crawl.Robots{fact}})
		late := ctx.Err() != nil && p.Context.Err() == nil
		cancel()
		if err == nil {
			return true
		}
		if !late {
			p.fail("facts", p.Shard, err)
		}
		fact.Age = time.Since(learnt)
		fact.Fresh = fresh - fact.Age
	}
	return false
}

// Event appends an event of this visit to a shard's log and reports whether it is stored. A full
// log, or a broker that is away, is waited out. It fails only when the context ends.
func (p *Publisher) Event(shard int, ev *crawl.Event) bool {
	if p.Lost() {
		return false
	}
	if err := p.append(p.Context, shard, ev); err != nil {
		p.fail("events", shard, err)
		return false
	}
	return true
}

func (p *Publisher) append(ctx context.Context, shard int, ev *crawl.Event) error {
	defer p.Metrics.Spent(metrics.Publish, time.Now())
	ev.Visit, ev.Fetcher = p.Visit, p.Fetcher
	buf := messages.Get().(*[]byte)
	*buf = crawl.AppendEvent((*buf)[:0], ev)
	err := p.Sink.AppendEvent(ctx, shard, *buf)
	if cap(*buf) <= maxKept {
		messages.Put(buf)
	}
	return err
}

// maxKept is the size of the largest buffer that is kept for later messages.
const maxKept = 64 << 10

var messages = sync.Pool{New: func() any { return new([]byte) }}

// fail gives the visit up, because something of it cannot be published. After its lease the
// frontier grants the same URLs again.
func (p *Publisher) fail(what string, shard int, err error) {
	if p.lost.Swap(true) {
		return
	}
	p.Metrics.Dropped.Inc()
	p.Log.Error("visit dropped: "+what+" not published; its URLs are granted again after the lease", "shard", shard,
		"urls", p.URLs, "err", err)
}
