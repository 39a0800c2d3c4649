package page

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/document/worker"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Shared is what the visits of a process have in common to fetch pages. It may be used
// concurrently.
type Shared struct {
	log       *slog.Logger
	repeats   repeats
	documents *worker.Pool
	cuts      ruleCuts
	renderers *renderers
	missing   sync.Once // the first time that there is no renderer is logged
}

// SharedOptions are what visits share.
type SharedOptions struct {
	// PDFToText is the path of poppler's pdftotext, which then reads the text of PDF files; if it
	// is empty, our own reader does.
	PDFToText string
	Renderer  render.Renderer // runs the scripts of pages; nil: nothing can be rendered
	Renders   int             // pages that are rendered at the same time; 0 = 1
	Log       *slog.Logger
}

// NewShared makes what visits share; Close ends it.
func NewShared(o SharedOptions) *Shared {
	return &Shared{
		log: o.Log, documents: worker.New(worker.Options{PDFToText: o.PDFToText}), renderers: newRenderers(o.Renderer, o.Renders),
	}
}

// noRenderer reports once that pages wait because nothing can render them.
func (s *Shared) noRenderer(err error) {
	s.missing.Do(func() {
		s.log.Warn("pages that need scripts wait, because nothing can render them", "err", err)
	})
}

// Close ends the processes that read documents.
func (s *Shared) Close() { s.documents.Close() }

// Options are what the pages of a visit are fetched with.
type Options struct {
	Requests     *requests.Requests
	Sites        *robots.Sites
	Publisher    *publish.Publisher
	Shared       *Shared
	Context      context.Context // ends when nothing is published any more
	MaxBody      int64           // bytes of a page
	MaxCatalogue int64           // bytes of a JSON document that describes datasets
	// HasCredentials reports whether requests to an origin carry credentials.
	HasCredentials func(canon.Origin) bool
	// Elsewhere calls do with the pages of a visit to another host, in which something is requested
	// that a page of this visit needs. An error says why there was no such visit.
	Elsewhere func(ctx context.Context, origin canon.Origin, do func(there *Scripts)) error
}

// Pages fetches the pages of a visit. It belongs to the visit's goroutine.
type Pages struct {
	Options
	Scripts Scripts
	buf     *Buffers
	gather  gathering

	brings     bool                // pages are not requested: see Bringer
	directives crawl.DirectiveBits // of the last page that was published as stored
	original   []byte              // the body of the document that is being brought
}

// Buffers are what pages are read with. They are used again by the next visit. The zero value is
// ready for use.
type Buffers struct {
	scanner  *htmlscan.Scanner // of the page that is being read; nil: there is none
	outlinks []byte            // of a page that is archived
}

// scanners are used by one page after another, whatever their visits: the processor then has their
// memory in its caches.
var scanners = sync.Pool{New: func() any { return new(htmlscan.Scanner) }}

// scan reads links and tags. What it returns is valid until trim.
func (b *Buffers) scan(page htmlscan.Page) htmlscan.Result {
	s := b.scanner
	if b.scanner = nil; s == nil {
		s = scanners.Get().(*htmlscan.Scanner)
	}
	r := s.Scan(page)
	b.scanner = s // not after a panic, which may leave it in any state
	return r
}

// trim releases what a page has needed.
func (b *Buffers) trim() {
	if b.scanner != nil {
		b.scanner.Trim()
		scanners.Put(b.scanner)
		b.scanner = nil
	}
	if cap(b.outlinks) > wire.KeepBuffer {
		b.outlinks = nil
	}
}

// Reset makes new buffers, after a panic while they were in use.
func (b *Buffers) Reset() { *b = Buffers{} }

// New returns what fetches the pages of a visit. It uses buf until the visit ends.
func New(o Options, buf *Buffers) *Pages {
	p := &Pages{Options: o, buf: buf, gather: gathering{buf, o.Requests.Session}}
	p.Scripts.p = p
	return p
}

// spec returns the crawl's spec.
func (p *Pages) spec() *crawl.Spec { return p.Requests.Config.Spec() }

// Offer offers links to the frontiers, without the session ids that are known to mean nothing.
func (p *Pages) Offer(from canon.URL, depth, redirects int, links []canon.URL) {
	repeats := &p.Shared.repeats
	for i, u := range links {
		if short := repeats.clean(u); short != u {
			links = slices.Clone(links[:len(links):len(links)])
			for ; i < len(links); i++ {
				links[i] = repeats.clean(links[i])
			}
			break
		}
	}
	p.Publisher.Links(from, depth, redirects, links)
}

// follow offers what a page links to, unless the crawl follows no links.
func (p *Pages) follow(u *crawl.VisitURL, links []canon.URL) {
	if !p.spec().NoLinks {
		p.Offer(u.URL, u.Depth+1, 0, links)
	}
}

// Forget reports to the indexer that there is no page under this URL, or none that may be stored.
// It may have one of an earlier visit.
func (p *Pages) Forget(u *crawl.VisitURL, why crawl.Reason) {
	p.Publisher.Page(&crawl.Page{URL: u.URL, Visit: p.Publisher.Visit, FetchedAt: time.Now(), Depth: u.Depth, FoundOn: u.FoundOn, Deleted: why})
}

// Clean returns u without its session id if the ids of its host are known to mean nothing, and
// otherwise u.
func (p *Pages) Clean(u canon.URL) canon.URL { return p.Shared.repeats.clean(u) }

// Ended records the outcome of a URL, which may decide about the session ids of its host.
func (p *Pages) Ended(u canon.URL, class crawl.Class) { p.Shared.repeats.ended(u, class) }
