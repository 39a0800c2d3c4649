package publish

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/robotstag"
)

const (
	// maxBatch is Options.MaxBatch, unless that is set.
	maxBatch = 128 << 10
	// pageFields is about how many bytes a page takes in a message besides its body and its
	// capture.
	pageFields = 2 << 10
	// maxPacked is the size of the largest compressed page. It has to fit into one message with its
	// other fields.
	maxPacked = 900 << 10
)

// Page adds a page to the batch for the indexer. If it would not fit, the batch is sent first.
func (p *Publisher) Page(page *crawl.Page) {
	if p.Discard {
		return
	}
	b := p.buf
	if b.pages > 0 && len(b.batch)+len(page.Body)+page.Capture.Bytes() > p.MaxBatch {
		p.FlushPages()
	}
	if b.pages == 0 {
		b.batch = crawl.AppendPagesHeader(b.batch[:0], p.Archive)
	}
	// A batch of several pages probably becomes a full one. It gets the memory for that at once,
	// instead of being copied several times while it grows.
	if need := len(b.batch) + len(page.Body) + page.Capture.Bytes() + pageFields; need > cap(b.batch) && b.pages > 1 {
		b.batch = slices.Grow(b.batch, max(need, p.MaxBatch+pageFields)-len(b.batch))
	}
	b.batch = crawl.AppendPage(b.batch, page)
	b.pages++
	if b.packed != nil && len(page.Body) > 0 && &page.Body[0] == &(*b.packed)[0] {
		b.unpack()
	}
}

// FlushPages sends the pages that were gathered so far.
func (p *Publisher) FlushPages() {
	if p.buf.pages > 0 {
		p.buf.pages = 0
		p.SendPages(p.Shard, p.buf.batch)
	}
}

// SendPages hands a batch of pages to a shard's indexer.
func (p *Publisher) SendPages(shard int, batch []byte) {
	if p.Lost() {
		return
	}
	start := time.Now()
	waited, err := p.Sink.SendPages(p.Context, shard, batch)
	if waited {
		p.Waited()
	}
	p.Metrics.Spent(metrics.Publish, start)
	if err != nil {
		p.fail("pages", shard, err)
	}
}

// Pack compresses a body into a page, and sets its digest and its size. A body that stays too large
// for a message is compressed harder, and if that is not enough, cut until it fits. Pack returns
// the digest of the whole body. The page's body is valid until the next call of Pack, or until Page
// has added it to the batch.
func (p *Publisher) Pack(page *crawl.Page, body []byte) (whole [sha256.Size]byte) {
	defer p.Metrics.Spent(metrics.Pack, time.Now())
	b := p.buf
	whole = sha256.Sum256(body)
	page.SHA256 = whole
	uncut := len(body)
	to := b.pack(s2.MaxEncodedLen(len(body)))
	packed := s2.Encode(to, body)
	if len(packed) > maxPacked {
		packed = s2.EncodeBest(to, body)
	}
	for len(packed) > maxPacked {
		page.Truncated = true
		body = body[:int(float64(len(body))*0.97*maxPacked/float64(len(packed)))]
		packed = s2.EncodeBest(to, body)
	}
	page.Body, page.Encoding = packed, crawl.EncodingS2
	page.Size = int64(len(body))
	if len(body) < uncut {
		page.SHA256 = sha256.Sum256(body)
	}
	return whole
}

// packs has buffers for compressed pages. A visit has one only from Pack to Page. So the visits of
// a process have as many as it has processors, whose caches have them, and not one each.
var packs = sync.Pool{New: func() any { return new([]byte) }}

// pack returns a buffer of at least n bytes for a page that is compressed.
func (b *Buffers) pack(n int) []byte {
	if n > wire.KeepBuffer {
		return make([]byte, n) // the page has it until it is sent
	}
	if b.packed == nil {
		b.packed = packs.Get().(*[]byte)
	}
	if len(*b.packed) < n {
		*b.packed = make([]byte, wire.Roomy(n))
	}
	return *b.packed
}

// unpack leaves the buffer of a compressed page to other visits.
func (b *Buffers) unpack() {
	if b.packed != nil {
		packs.Put(b.packed)
		b.packed = nil
	}
}

// DirectiveBits returns directives in the form in which they are published with a page.
func DirectiveBits(d robotstag.Directives) (bits crawl.DirectiveBits) {
	for _, b := range [...]struct {
		on  bool
		bit crawl.DirectiveBits
	}{{d.NoIndex, crawl.NoIndex}, {d.NoSnippet, crawl.NoSnippet}, {d.NoFollow, crawl.NoFollow}, {d.NoArchive, crawl.NoArchive}} {
		if b.on {
			bits |= b.bit
		}
	}
	return bits
}

// Tidy prepares the buffers for the next visit. It keeps those of ordinary size and releases what
// one large page needed.
func (b *Buffers) Tidy() {
	b.unpack()
	if cap(b.batch) > 2*maxBatch {
		b.batch = nil
	}
	clear(b.results)
}
