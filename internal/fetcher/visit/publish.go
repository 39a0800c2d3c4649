package visit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// What a visit found is published in an order that makes each step safe to lose what follows: pages
// first, then the links on them, then the outcome that says it is all there, with the links that
// are few. Each is acknowledged before the next is sent. A visit goes through these steps several
// times: see report.go.

// maxBatch is about how many bytes of pages a visit gathers for one message. It bounds what all
// visits of a process gather together: their number times this, and a page of each.
const maxBatch = 128 << 10

// pageFields is about what a page takes in a message beside its body and its capture.
const pageFields = 2 << 10

// handOverPage adds a page to the batch for the indexer, sending the batch first when the
// page would not fit.
func (v *Visit) handOverPage(p *crawl.Page) {
	if v.deps.opt.DiscardPages {
		return
	}
	h := v.scratch
	if h.pages > 0 && len(h.batch)+len(p.Body)+p.Capture.Bytes() > maxBatch {
		v.flushPages()
	}
	if h.pages == 0 {
		h.batch = crawl.AppendPagesHeader(h.batch[:0], v.session.Recorder != nil)
	}
	// A batch of several pages is likely to become a full one: it gets its room at once, instead of
	// being copied each time that it has outgrown some.
	if need := len(h.batch) + len(p.Body) + p.Capture.Bytes() + pageFields; need > cap(h.batch) && h.pages > 1 {
		h.batch = slices.Grow(h.batch, max(need, maxBatch+pageFields)-len(h.batch))
	}
	h.batch = crawl.AppendPage(h.batch, p)
	h.pages++
}

// flushPages sends the pages gathered so far.
func (v *Visit) flushPages() {
	if v.scratch.pages > 0 {
		v.scratch.pages = 0
		v.sendPages(v.job.Shard, v.scratch.batch)
	}
}

// sendPages hands pages to a shard's indexer.
func (v *Visit) sendPages(shard int, batch []byte) {
	if v.lost.Load() {
		return
	}
	start := time.Now()
	waited, err := v.sink.SendPages(v.pubCtx, shard, batch)
	if waited {
		v.end("its pages had to wait because the page queue is full")
	}
	v.deps.metrics.stage(stagePublish, start)
	if err != nil {
		v.fail("pages", shard, err)
	}
}

// flushLinks sends links of some shards before the visit is over, because they fill a message.
func (v *Visit) flushLinks(shards ...int) {
	v.flushPages() // a link is told only once the page it is on is safe
	for _, shard := range shards {
		v.scratch.links.bytes -= v.scratch.links.shards[shard].bytes
		v.sendLinks(shard)
	}
}

// sendLinks publishes a shard's links, in as many messages as they need.
func (v *Visit) sendLinks(shard int) {
	s := &v.scratch.links.shards[shard]
	if len(s.links) == 0 || v.lost.Load() {
		return
	}
	splitLinks(s.links, crawl.MaxEventBytes, func(part []crawl.Links) bool {
		return v.publish(shard, &crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Links: part})
	})
	v.scratch.links.drop(shard)
}

// splitLinks calls yield with parts of links that take at most about limit bytes each,
// until it returns false.
func splitLinks(links []crawl.Links, limit int, yield func([]crawl.Links) bool) {
	var part []crawl.Links
	room := limit
	for _, l := range links {
		rest := l.URLs
		for len(rest) > 0 {
			n := 0
			room -= len(l.FoundOn) + linkOverhead
			for n < len(rest) && (room > 0 || n == 0 && len(part) == 0) {
				room -= len(rest[n]) + linkOverhead
				n++
			}
			if n > 0 {
				l.URLs, rest = rest[:n], rest[n:]
				part = append(part, l)
			}
			if room <= 0 {
				if !yield(part) {
					return
				}
				part, room = nil, limit
			}
		}
	}
	if len(part) > 0 {
		yield(part)
	}
}

// resendTime is after how long facts that could not be published yet are sent anew: their age
// counts from sending.
const resendTime = time.Minute

// publishFact tells the visit's shard what was learnt of a robots.txt.
func (v *Visit) publishFact(fact crawl.Robots) bool {
	learnt, fresh := time.Now(), fact.Fresh
	for !v.lost.Load() {
		ctx, cancel := context.WithTimeout(v.pubCtx, resendTime)
		err := v.append(ctx, v.job.Shard, &crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Robots: []crawl.Robots{fact}})
		late := ctx.Err() != nil && v.pubCtx.Err() == nil
		cancel()
		if err == nil {
			return true
		}
		if !late {
			v.fail("facts", v.job.Shard, err)
		}
		fact.Age = time.Since(learnt)
		fact.Fresh = fresh - fact.Age
	}
	return false
}

// publish appends an event to a shard's log and reports whether it is there. A full log, or a
// broker that is away, is waited out; only the end of the fetcher's grace makes it fail.
func (v *Visit) publish(shard int, ev *crawl.Event) bool {
	if v.lost.Load() {
		return false
	}
	if err := v.append(v.pubCtx, shard, ev); err != nil {
		v.fail("events", shard, err)
		return false
	}
	return true
}

func (v *Visit) append(ctx context.Context, shard int, ev *crawl.Event) error {
	defer v.deps.metrics.stage(stagePublish, time.Now())
	buf := messages.Get().(*[]byte)
	*buf = crawl.AppendEvent((*buf)[:0], ev)
	err := v.sink.AppendEvent(ctx, shard, *buf)
	if cap(*buf) <= crawl.MaxPayloadBytes {
		messages.Put(buf)
	}
	return err
}

var messages = sync.Pool{New: func() any { return new([]byte) }}

// fail gives the visit up: what it has cannot be told. After its lease the frontier grants
// the same URLs again.
func (v *Visit) fail(what string, shard int, err error) {
	if v.lost.Swap(true) {
		return
	}
	v.deps.metrics.dropped.Inc()
	v.log.Error("visit dropped: "+what+" not published; its URLs are granted again after the lease", "shard", shard,
		"urls", len(v.job.URLs), "err", err)
}
