package fetcher

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Downloader sends the requests for the files of datasets: in the same way, under the same rules
// and beside the same crawl as a Fetcher sends those for pages, but one after the other as its
// caller wants them. Make one with NewDownloader, and let Run run while it is used. Its methods may
// be called concurrently.
type Downloader struct{ f *Fetcher }

// NewDownloader prepares a Downloader for a crawl. The error says what is wrong with the spec or
// the options, and what would work.
func NewDownloader(q *queue.Conn, spec crawl.Spec, opt Options) (*Downloader, error) {
	if opt.Name == "" {
		opt.Name = "downloads-" + randomName()
	}
	f, err := New(q, spec, opt)
	if err != nil {
		return nil, err
	}
	return &Downloader{f: f}, nil
}

// Run follows the owners of the shards, and renews the leases of running visits, until ctx ends.
// Without it no visit begins, and none lasts. It returns nil after everything that it started has
// ended. Call it once.
func (d *Downloader) Run(ctx context.Context) error {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewer sync.WaitGroup
	renewer.Go(func() { d.f.leases.run(renewing, d.f) })
	err := d.f.watchOwners(ctx, d.f.onDemand.own)
	stop()
	renewer.Wait()
	d.f.client.Close()
	return err
}

// SetSpec makes requests from now on follow a changed spec, as Fetcher.SetSpec does.
func (d *Downloader) SetSpec(spec crawl.Spec) error { return d.f.SetSpec(spec) }

// Violations returns how many requests were stopped at the last moment because they would have been
// impolite. It must be 0.
func (d *Downloader) Violations() int64 { return d.f.Violations() }

// DownloadVisit is the right to send requests to one host. It belongs to the goroutine that
// received it.
type DownloadVisit struct {
	v      *visit.Visit
	cancel context.CancelFunc
}

// Visit waits for a visit to the host of an origin, however long its queue and its delay are, and
// calls do with it. The results of the requests are reported to the host's frontier afterwards,
// whatever do returned. The error is that of do, or says why there was no visit.
//
// While do runs, nobody else sends anything to the host, so it should do its work and return.
// Visits to other hosts may run at the same time.
func (d *Downloader) Visit(ctx context.Context, origin canon.Origin, do func(v *DownloadVisit) error) error {
	err := d.f.onDemand.visit(ctx, ctx, wanted{VisitRequest: crawl.VisitRequest{Origin: origin}}, func(v *visit.Visit, cut context.CancelFunc) error {
		return do(&DownloadVisit{v, cut})
	})
	if ctx.Err() != nil {
		d.f.client.Close()
	}
	return err
}

// Get sends one GET for u, which must be on the visit's host, with the fields of h besides the
// ordinary header, for example Range and If-Range. target is the path and query of u as they are to
// be spelled in the request (canon.Base.JoinAsWritten); "" means as in u. If accept returns true,
// the body of the answer is written to w as it comes over the wire, in whatever Content-Encoding
// its header names (we ask for none), and however long it is. The ordinary time limits apply to it,
// without the time that w takes.
//
// Before the request, the host's delay is waited for, and the robots.txt of u's origin is requested
// if it is not known. Redirects are not followed: Download.Header says where they lead, and the
// next host has visits of its own. Status 429 and 503 end the visit, and so does the end of ctx.
// With an error, Download says what came until then.
func (d *DownloadVisit) Get(ctx context.Context, u canon.URL, target string, h http.Header, accept func(status int, h http.Header) bool, w io.Writer) (visit.Download, error) {
	defer context.AfterFunc(ctx, d.cancel)()
	return d.v.Get(u, target, h, accept, w)
}
