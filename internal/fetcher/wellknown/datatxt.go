package wellknown

import (
	"net/url"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	rules "github.com/curtsy/curtsy/pkg/robots"
)

const (
	// refusedFresh is after how long an origin whose rules forbid its data.txt is asked again.
	refusedFresh = rules.MaxAge
	// maxNested is how many files nested in one data.txt are offered. The frontier bounds what an
	// origin has in all.
	maxNested = 100
)

// roomForPages leaves the request for a data.txt to a later visit if its copy would have to wait in
// the page queue.
func roomForPages(f *Files, aux *crawl.AuxRequest, _ *crawl.Answer) (proceed, done bool) {
	return !f.Stalled(aux.ReplyShard), false
}

// dataTxt hands a data.txt, for another shard or nested in another one, to the indexer.
func dataTxt(r *request, a *crawl.Answer) (done bool) {
	d := r.data()
	a.Probe = d.probe
	if d.known && d.page != nil && !r.Publisher.Discard {
		r.Publisher.SendPages(r.aux.ReplyShard, crawl.AppendPages(nil, []crawl.Page{*d.page}))
	}
	return d.known && r.publishNested(d)
}

// Probe requests the /data.txt of an origin. What was found is published with the visit's next
// report, behind the page for the indexer. ok is false if nothing was found out, or if it could not
// be published: then a later visit requests it again.
func (f *Files) Probe(o canon.Origin) (u canon.URL, ok bool) {
	u, err := o.URL("/data.txt")
	if err != nil {
		return u, false
	}
	r := f.fetch(kinds[crawl.AuxData], &crawl.AuxRequest{Kind: crawl.AuxData, URL: u, Origin: o})
	d := r.data()
	if !d.known {
		return u, false
	}
	if d.page != nil {
		f.Publisher.Page(d.page)
	}
	if !r.publishNested(d) {
		return u, false
	}
	f.Publisher.Probe(d.probe)
	return u, true
}

// dataFile is what was found at the URL of a data.txt.
type dataFile struct {
	known  bool // something was found out
	probe  crawl.Probe
	page   *crawl.Page        // for the indexer; nil: nothing changes there
	nested []crawl.AuxRequest // for the files that are nested in it
}

// data reads the answer to a request for a data.txt (formats §5.1).
func (r *request) data() (d dataFile) {
	d.known = true
	d.probe = crawl.Probe{Origin: r.aux.Origin, State: crawl.ProbeFailed, Fresh: datatxt.MinLifetime, Redirects: r.redirects}
	if r.end == requests.TrailBarred {
		r.barred(&d)
		return d
	}
	d.probe.Status = r.got.Status
	switch left := r.end == requests.TrailLeft; {
	case r.err != nil:
		d.probe.Reason, d.known = r.fail.String(), !r.fail.Unsent
		if r.fail.Reason == crawl.ReasonForgotten {
			d.probe.State, d.probe.Fresh = crawl.ProbeRefused, refusedFresh
		}
	case r.end == requests.TrailLost || left && r.kind.within:
		d.probe.State, d.probe.Fresh = crawl.ProbeAbsent, datatxt.DefaultLifetime
		d.probe.Reason = "it redirects to an unusable URL"
		if left {
			d.probe.Reason = "it redirects to another origin"
		}
		d.page = r.noData(crawl.ReasonRedirects)
	case left:
		d.probe.State, d.probe.Location, d.probe.Redirects = crawl.ProbePending, string(r.next), r.redirects+1
	default:
		d.probe.Fresh = max(d.probe.Fresh, r.wait)
		r.readData(&d)
	}
	return d
}

// barred fills in why the URL was not requested.
func (r *request) barred(d *dataFile) {
	p, permission := &d.probe, &r.permission
	switch {
	case permission.Over:
		d.known = false
	case permission.Site == nil: // it was removed from the crawl
		p.State, p.Fresh, p.Reason = crawl.ProbeRefused, refusedFresh, requests.FailureForgotten.String()
	case permission.Site.Bar.Barred:
		p.Reason = permission.Site.Bar.Detail
	case permission.Closed():
		// This is an answer even if it ended the visit. Otherwise each visit would request the
		// robots.txt again.
		p.Reason = "robots.txt of " + permission.Site.Origin.String() + " cannot be fetched now"
	default:
		p.State, p.Fresh = crawl.ProbeRefused, refusedFresh
		p.Reason = robots.Refusal(permission.Verdict, permission.Reason)
		d.page = r.noData(permission.Reason)
	}
}

// readData reads the last answer.
func (r *request) readData(d *dataFile) {
	a, p := &r.got, &d.probe
	switch datatxt.StateOf(a.Status) {
	case datatxt.Read:
	case datatxt.Absent:
		p.State, p.Fresh = crawl.ProbeAbsent, datatxt.Lifetime(a.Header, a.At)
		p.Reason = answer.StatusText(a)
		d.page = r.noData(crawl.ReasonHTTP4xx)
		return
	default:
		p.Reason = answer.StatusText(a)
		return
	}
	p.Fresh = datatxt.Lifetime(a.Header, a.At)
	if ok, reason := datatxt.Usable(answer.ContentType(a.Header), a.Body); !ok {
		p.State, p.Reason = crawl.ProbeAbsent, reason
		d.page = r.noData(crawl.ReasonType)
		return
	}
	tags := r.Sites.HeaderTags(a.Header, a.At)
	if tags.Directives.NoIndex {
		p.State, p.Reason = crawl.ProbeRefused, "it must not be stored (noindex)"
		d.page = r.noData(crawl.ReasonNoindex)
		return
	}
	stated := r.Sites.Usage(r.at, a.Header, tags)
	if rule, yes := r.Sites.Unwanted(r.at, stated); yes {
		p.State, p.Reason = crawl.ProbeRefused, "it must not be used for search: "+rule
		d.page = r.noData(crawl.ReasonUsage)
		return
	}
	p.State = crawl.ProbeRead
	d.page = &crawl.Page{
		Kind: crawl.KindData, Origin: r.aux.Origin, Asked: r.nestedURL(), Fresh: p.Fresh, URL: r.at, Visit: r.Publisher.Visit, Status: a.Status, FetchedAt: a.At,
		Directives: publish.DirectiveBits(tags.Directives), UnavailableAfter: tags.Directives.UnavailableAfter, MaxSnippet: tags.Directives.MaxSnippet,
		ContentType: answer.MediaType(answer.ContentType(a.Header)), Charset: html.Charset(a.Body, answer.ContentType(a.Header)),
		ETag: answer.Short(a.Header, "Etag"), LastModified: answer.Short(a.Header, "Last-Modified"), Truncated: a.Truncated,
		Usage: stated,
	}
	r.Publisher.Pack(d.page, a.Body)
	d.nested = r.findNested(a.Body)
}

// noData is published to the indexer if an origin has no data.txt there that we may use.
func (r *request) noData(why crawl.Reason) *crawl.Page {
	return &crawl.Page{Kind: crawl.KindData, Origin: r.aux.Origin, Asked: r.nestedURL(), URL: r.at, Visit: r.Publisher.Visit, FetchedAt: time.Now(), Deleted: why}
}

// nestedURL returns the URL of a nested data.txt; it is empty for an origin's own.
func (r *request) nestedURL() canon.URL {
	if r.aux.Kind == crawl.AuxNested {
		return r.aux.URL
	}
	return ""
}

// findNested returns requests for the files that a data.txt suggests (docs/formats.md §5.4). They
// are looked for on its own origin only. A file that a redirect keeps on another origin leads to
// nothing there, because that origin may have a data.txt of its own.
func (r *request) findNested(body []byte) (nested []crawl.AuxRequest) {
	base, err := url.Parse(string(r.at))
	if err != nil || r.at.Origin() != r.aux.Origin {
		return nil
	}
	depth := 0
	if r.aux.Kind == crawl.AuxNested {
		depth = r.aux.Hop
	}
	for _, c := range r.candidates(body, base, depth) {
		if len(nested) == maxNested {
			r.Requests.Log.Info("too many nested data.txt files", "url", string(r.at), "limit", maxNested)
			break
		}
		if n, err := canon.Parse(c.URL); err == nil && n != r.aux.URL && n.Host() == r.Requests.Host {
			nested = append(nested, crawl.AuxRequest{
				Kind: crawl.AuxNested, URL: n, Origin: r.aux.Origin, Hop: depth + 1, ReplyShard: r.Publisher.Shard,
			})
		}
	}
	return nested
}

// candidates returns the files that a data.txt suggests. There are none if the file is refused;
// then the indexer reports why.
func (r *request) candidates(body []byte, base *url.URL, depth int) []datatxt.Candidate {
	if depth >= datatxt.MaxNesting {
		return nil
	}
	r.Parsing.Lock()
	defer r.Parsing.Unlock()
	file, err := datatxt.Parse(body, base, r.Requests.Config.Spec().Agent)
	if err != nil {
		return nil
	}
	return file.Nested(depth)
}

// publishNested publishes the requests for nested files to the host's shard, which knows when they
// are due. It returns false if that failed.
func (r *request) publishNested(d dataFile) bool {
	return len(d.nested) == 0 || r.Publisher.Event(r.Publisher.Shard, &crawl.Event{Aux: d.nested})
}
