package page

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/rdf"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Pages that were not requested: a mobile robot read them on the site's own machine and sent them.
// From there on they are treated as fetched pages. Their addresses and permissions were checked
// before (package dispatch).

// Bringer makes results of documents that a mobile robot brought. It belongs to the goroutine of
// its visit.
type Bringer struct{ p *Pages }

// NewBringer returns a Bringer. Nothing may be requested with these Options, and Sites are fixed.
// It uses buf until the visit ends.
func NewBringer(o Options, buf *Buffers) *Bringer {
	p := &Pages{Options: o, buf: buf, gather: gathering{buf: buf}, brings: true}
	p.Scripts.p = p
	return &Bringer{p}
}

// Brought is a document as a mobile robot sent it.
type Brought struct {
	Header    http.Header // of the document
	Body      []byte
	Truncated bool // there was more of the body
	At        time.Time
}

// Bring makes a result of a document that a mobile robot sent, and publishes it. ok is false if
// documents of its type are not stored, or cannot be read as they came; then nothing was published.
func (k *Bringer) Bring(u *crawl.VisitURL, b Brought) (r crawl.Result, ok bool) {
	p := k.p
	if e := b.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return r, false
	}
	f := &fetched{p: p, u: u, a: b.answer()}
	want := f.want(http.StatusOK, b.Header)
	if want.Decide != nil && !want.Decide(b.Body[:min(len(b.Body), max(want.First, 512))]) {
		return r, false
	}
	if want.Instead != nil {
		if other := want.Instead(); other != nil {
			want = *other
		}
	}
	if want.Stream != nil {
		if err := want.Stream(bytes.NewReader(b.Body)); err != nil {
			return r, false // it cannot be published
		}
	}
	if !f.meta && !p.storable(u.URL, f.kind) || f.meta && b.Truncated { // half of it is of no use
		return r, false
	}
	p.cutPage(&f.a, f.kind)
	r = resultOf(u, &f.a)
	p.original = b.Body
	f.stored(&r)
	p.original = nil
	return r, true
}

// BringHead makes a result of a page that must not be stored according to its robots tags. The
// robot sent only its tags and links. ok is false if they do not say so; then nothing was
// published.
func (k *Bringer) BringHead(u *crawl.VisitURL, b Brought) (r crawl.Result, ok bool) {
	p := k.p
	kind := answer.MediaType(answer.ContentType(b.Header))
	if kind != answer.HTML && kind != answer.XHTML || !p.storable(u.URL, kind) {
		return r, false
	}
	scan, _ := p.gather.scan(htmlscan.Page{
		URL: u.URL, Body: b.Body, ContentType: answer.ContentType(b.Header), HTML: true, Header: b.Header, Token: p.spec().Agent,
	}, 0)
	defer p.gather.done()
	if !scan.Directives.At(b.At).NoIndex {
		return r, false
	}
	a := b.answer()
	r = resultOf(u, &a)
	p.queue(u, &a, kind, &scan, rendering{}, &r)
	p.follow(u, scan.Links)
	if !scan.Directives.NoFollow {
		p.follow(u, headerLinks(b.Header, u.URL))
	}
	return r, true
}

// BringUnchanged makes a result of a page whose stored copy is still valid according to a robot.
// The header is empty if the robot sent none.
func (k *Bringer) BringUnchanged(u *crawl.VisitURL, b Brought) crawl.Result {
	a := b.answer()
	a.Status = http.StatusNotModified
	r := resultOf(u, &a)
	k.p.renewed(u, &a, &r)
	return r
}

// answer is the document as the answer that its site would have sent.
func (b *Brought) answer() wire.Answer {
	return wire.Answer{Status: http.StatusOK, Header: b.Header, Body: b.Body, Truncated: b.Truncated, Framed: true, Complete: true, Wire: int64(len(b.Body)), At: b.At}
}

func resultOf(u *crawl.VisitURL, a *wire.Answer) crawl.Result {
	return crawl.Result{URL: u.URL, Status: a.Status, Bytes: a.Wire, FetchedAt: a.At}
}

// MediaTypes are the types of documents that a robot is asked for. JSON documents of the type
// application/json are not among them, because few of them describe datasets.
func (k *Bringer) MediaTypes() []string {
	p := k.p
	all := append(p.Requests.Config.Types.MediaTypes(), typeLD, catalog.TypeLinkset)
	for _, f := range []rdf.Format{rdf.Turtle, rdf.TriG, rdf.NTriples, rdf.NQuads, rdf.XML} {
		all = append(all, f.MediaType())
	}
	if p.Requests.Config.Types&crawl.TypeFeed != 0 {
		all = append(all, typesXML...)
	}
	if p.spec().AcceptMarkdown && !slices.Contains(all, answer.Markdown) {
		all = append(all, answer.Markdown)
	}
	return all
}

// Largest is the size of the largest document that a robot is asked for.
func (k *Bringer) Largest() int64 { return k.p.largest(k.p.Requests.Config.Types) }

// Directives are those of the last page that was published as stored.
func (k *Bringer) Directives() crawl.DirectiveBits { return k.p.directives }

// Clean returns u without what is known to mean nothing; see [Pages.Clean].
func (k *Bringer) Clean(u canon.URL) canon.URL { return k.p.Clean(u) }

// LikenessOf returns the hash of the text of a page by which similar pages are found. It is 0 for
// documents that cannot be compared, and for those with too little text.
func LikenessOf(kind string, body []byte) uint64 {
	if !comparable(kind) {
		return 0
	}
	return likenessOf(kind, body)
}

// captureBrought returns what is archived of a document that a robot brought, and its body. The
// capture is nil if the crawl has no archive, or if the document did not come.
func (p *Pages) captureBrought(page *crawl.Page, a *wire.Answer) (c *crawl.Capture, body []byte) {
	if !p.Publisher.Archive || page.Renewed {
		return nil, nil
	}
	return &crawl.Capture{Number: 1, Type: scanType(a.Header, page.ContentType), Cut: a.Truncated, OfPage: true}, p.original
}
