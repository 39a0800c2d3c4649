package fetcher

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Downloader sends the requests for the files of datasets: in the same way, under the same rules
// and beside the same crawl as a Fetcher sends those for pages, but one after the other as its
// caller wants them. Make one with NewDownloader, and let Run run while it is used. Its methods may
// be called concurrently.
type Downloader struct {
	f *Fetcher

	mu      sync.Mutex // guards the fields below
	owners  map[int]string
	changed chan struct{} // closed when owners is replaced
}

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
	return &Downloader{f: f, changed: make(chan struct{})}, nil
}

// Run follows the owners of the shards, and renews the leases of running visits, until ctx ends.
// Without it no visit begins, and none lasts. It returns nil after everything that it started has
// ended. Call it once.
func (d *Downloader) Run(ctx context.Context) error {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewer sync.WaitGroup
	renewer.Go(func() { d.f.leases.run(renewing, d.f) })
	err := d.f.watchOwners(ctx, d.own)
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

// own receives the owners of the shards.
func (d *Downloader) own(records map[string]queue.Record) {
	owners := make(map[int]string)
	for shard := range d.f.shards {
		if rec := records[fmt.Sprintf("frontier.%d", shard)]; rec.Owner != "" && !rec.Clean {
			owners[shard] = rec.Owner
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.owners = owners
	close(d.changed)
	d.changed = make(chan struct{})
}

// owner waits until a shard has an owner, and returns it.
func (d *Downloader) owner(ctx context.Context, shard int) (string, error) {
	for {
		d.mu.Lock()
		owner, changed := d.owners[shard], d.changed
		d.mu.Unlock()
		if owner != "" {
			return owner, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("shard %d has no frontier: %w", shard, ctx.Err())
		}
	}
}

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
	for {
		job, sent, err := d.take(ctx, origin)
		if err != nil {
			return fmt.Errorf("visit %s: %w", origin.Host, err)
		}
		if had, err := d.visit(ctx, job, sent, do); had {
			return err
		}
	}
}

// visit carries a granted visit out. If the host was not available, the visit was returned, and do
// was not called.
func (d *Downloader) visit(ctx context.Context, job *crawl.Visit, sent time.Duration, do func(v *DownloadVisit) error) (had bool, err error) {
	f := d.f
	began := time.Now()
	publishing, drop := context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(f.opt.Grace, drop) })()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	lease, requests := wire.NewLease(asking, f.now, sent, job.Lease)
	defer lease.End()
	f.leases.add(job, lease)
	defer f.leases.remove(job)
	waiting, halt := context.WithCancel(requests)
	defer halt()
	in, notBefore, ok := f.enter(waiting, job, func() {})
	if !ok {
		f.giveUp(publishing, job, notBefore)
		return false, nil
	}
	requests = in.hold(requests, lease, halt)
	f.metrics.Running.Inc()
	defer f.metrics.Running.Dec()
	f.halts.add(job, halt, f.cfg.Load)
	defer f.halts.remove(job)
	v := f.begin(job, &task{f: f}, new(visit.Scratch), began, requests, waiting, publishing, lease)
	defer func() {
		v.Abort()
		in.leave(publishing, v.PauseUntil())
		v.Close()
		if ctx.Err() != nil {
			f.client.Close()
		}
	}()
	return true, do(&DownloadVisit{v, cancel})
}

// take asks the owner of a host's shard for a visit until it grants one.
func (d *Downloader) take(ctx context.Context, origin canon.Origin) (*crawl.Visit, time.Duration, error) {
	f := d.f
	take := crawl.VisitRequest{Fetcher: f.opt.Name, Max: 1, Downloads: true, Origin: origin}
	vain := backoff.Delay{Least: leastGap, Most: vainGap}
	for {
		owner, err := d.owner(ctx, crawl.ShardOf(origin.Host, f.shards))
		if err != nil {
			return nil, 0, err
		}
		sent := f.now() // the lease is counted from here
		grants, err := d.ask(ctx, owner, take)
		for i := range grants.Visits {
			job := &grants.Visits[i]
			if i == 0 && job.Host == origin.Host && len(job.URLs) == 0 && len(job.Aux) == 0 && ctx.Err() == nil {
				d.giveBack(ctx, grants.Visits[1:])
				return job, sent, nil
			}
		}
		d.giveBack(ctx, grants.Visits)
		wait := grants.Wait
		if err != nil || len(grants.Visits) > 0 {
			wait = max(wait, vain.Next())
		} else {
			vain.Reset()
		}
		if err := backoff.Sleep(ctx, min(max(wait, leastGap), mostGap)); err != nil {
			return nil, 0, err
		}
	}
}

// ask asks a frontier once. When ctx ends, it waits a little longer, because a visit that is
// granted has to be returned.
func (d *Downloader) ask(ctx context.Context, owner string, take crawl.VisitRequest) (crawl.Grants, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.f.opt.RequestTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, cancel) })()
	return d.f.askVisits(asking, owner, take)
}

// giveBack returns visits that were not requested, or that nobody waits for any more.
func (d *Downloader) giveBack(ctx context.Context, visits []crawl.Visit) {
	for i := range visits {
		job := &visits[i]
		if job.Shard < 0 || job.Shard >= d.f.shards {
			continue
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(job.Lease, d.f.opt.Grace))
		d.f.giveUp(ctx, job, 0)
		cancel()
	}
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
