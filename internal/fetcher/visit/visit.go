package visit

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Visit is one visit being carried out, by one goroutine.
type Visit struct {
	deps    *Deps
	sink    Sink
	cfg     *Config
	job     *crawl.Visit
	session *wire.Session
	scratch *Scratch
	log     *slog.Logger

	requestLog RequestLog     // may be nil
	trace      *tracing.Visit // may be nil

	began     time.Time // when the grant arrived
	clock     int64     // what that is in traces
	traced    int       // requests that traces have told of
	sites     []*site
	refreshed map[canon.Origin]bool          // origins asked for their robots.txt in this visit
	aparts    map[canon.URL]crawl.RightsFile // what was asked for in this visit of such files
	ended     bool                           // no more requests; why is in reason
	reason    string
	silent    int         // requests in a row that the host did not answer
	lastEnd   time.Time   // the end of the last response, or its failure
	lost      atomic.Bool // something could not be published: nothing more is

	pubCtx context.Context // outlives the lease, and the fetcher's stop by its grace

	out       crawl.Outcome // so far, without Results
	reported  reported
	probes    []crawl.Probe
	nested    []crawl.AuxRequest // what the data.txt read last leads to
	feeds     []crawl.AuxRequest // that its pages announce
	lastUsage usageSource
}

// Scratch is what a visit works with and leaves to the next: buffers, and nothing that means
// anything.
type Scratch struct {
	scanner htmlscan.Scanner
	memo    usage.Memo // what pages of a site say is mostly the same
	links   outlinks
	body    []byte // an answer
	packed  []byte // a page, compressed
	batch   []byte // pages on their way to the indexer
	pages   int    // in batch
	results []crawl.Result
	traced  []crawl.Exchange

	recorder *wire.Recorder // made when it is first needed
	outlinks []byte         // of a page that is archived
}

// Run carries the visit out, up to the last request. What it leaves to publish is
// in v.hand and v.out.
func (v *Visit) Run() {
	if !v.over() {
		v.safely("errands", v.auxRequests)
	}
	if len(v.job.URLs) > 0 && v.sink.Stalled(v.job.Shard) {
		v.end("its pages would have to wait because the page queue is full")
	}
	urls := v.inOrder()
	for i, u := range urls {
		r := crawl.Result{URL: u.URL, Class: crawl.Retry, Reason: crawl.ReasonProtocol, Rule: ourMistake}
		v.safely(u.URL, func() { r = v.one(u) })
		v.deps.repeats.ended(r.URL, r.Class)
		r.Rule = crawl.ShortDetail(r.Rule)
		v.scratch.results = append(v.scratch.results, r)
		if i < len(urls)-1 {
			v.report()
		}
	}
}

// safely runs f and survives it. What one host sends must not end process after process, each time
// its URL is granted again, when it meets a mistake of ours or of a decoder's.
func (v *Visit) safely(what any, f func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		v.log.Error("an internal error ended the work on a URL", "at", what, "panic", p, "stack", string(debug.Stack()))
		v.scratch.scanner = htmlscan.Scanner{}
		v.Abort()
		v.end("an internal error")
	}()
	f()
}

// Abort ends a request that whoever sent it did not live to see the end of.
func (v *Visit) Abort() {
	if v.session.Abort() {
		v.lastEnd = time.Now()
		v.out.Requests++
	}
}

// inOrder returns the URLs to fetch, those of an origin together: the host's one connection leads
// to one origin at a time.
func (v *Visit) inOrder() []*crawl.VisitURL {
	urls := make([]*crawl.VisitURL, 0, len(v.job.URLs))
	done := make(map[canon.URL]bool) // roots
	for i := range v.job.URLs {
		root := v.job.URLs[i].URL.Root()
		if i > 0 && done[root] {
			continue
		}
		done[root] = true
		for j := i; j < len(v.job.URLs); j++ {
			if v.job.URLs[j].URL.Root() == root {
				urls = append(urls, &v.job.URLs[j])
			}
		}
	}
	return urls
}

// one makes a result of one URL.
func (v *Visit) one(u *crawl.VisitURL) crawl.Result {
	returned := crawl.Result{URL: u.URL, Class: crawl.Returned}
	if v.sink.Forgotten(u.URL) {
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: crawl.ReasonForgotten}
	}
	// The grant is for one host, whatever a frontier may have mixed up.
	if v.over() || u.URL.Host() != v.job.Host {
		return returned
	}
	s := v.site(u.URL.Origin())
	switch {
	case s == nil || v.over() && !s.bar.Barred:
		return returned
	case s.bar.Barred:
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: s.bar.Reason, Rule: s.bar.Detail}
	case s.closed:
		return returned
	}
	if s.probe {
		s.probe = false
		if v.probe(s); v.over() {
			return returned
		}
	}
	if short := v.deps.repeats.clean(u.URL); short != u.URL {
		// No request is needed to see where it leads.
		v.forget(u, crawl.ReasonCleanParam)
		v.offer(u.URL, u.Depth, u.Redirects, []canon.URL{short})
		return crawl.Result{URL: u.URL, Class: crawl.Redirected, Reason: crawl.ReasonCleanParam, Location: string(short)}
	}
	pathQuery := u.URL.PathQuery()
	if verdict, why := v.match(s, u.URL); why != "" {
		v.forget(u, why)
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: why, Line: verdict.Line, Rule: verdict.Rule}
	}
	if short := s.rules.cleaned(pathQuery); short != pathQuery {
		// The frontier did not know of Clean-param when it took this spelling in. No request is
		// needed to see where it leads.
		if target, err := s.origin.URL(short); err == nil && target != u.URL {
			v.forget(u, crawl.ReasonCleanParam)
			v.offer(u.URL, u.Depth, u.Redirects, []canon.URL{target})
			return crawl.Result{URL: u.URL, Class: crawl.Redirected, Reason: crawl.ReasonCleanParam, Location: string(target)}
		}
	}
	if v.cfg.spec.PlanOnly {
		return v.planned(u)
	}
	return v.page(u)
}

// over reports whether no further request may be sent in this visit.
func (v *Visit) over() bool {
	if !v.ended && (v.session.Waiting.Err() != nil || !v.session.Lease.Alive() || v.lost.Load()) {
		v.end("the lease is over, the process stops, or results cannot be published")
	}
	return v.ended
}

// end says that no further request is sent in this visit; the first reason counts.
func (v *Visit) end(reason string) {
	if !v.ended {
		v.ended, v.reason = true, reason
	}
}

// overload notes a 429 or 503, which ends the visit, and returns what it asks for.
func (v *Visit) overload(a wire.Answer) time.Duration {
	v.out.Overloads++
	v.backOff()
	wait := retryAfter(a.Header, time.Now())
	v.out.RetryAfter = max(v.out.RetryAfter, wait)
	v.end("the host is overloaded")
	return wait
}

const (
	leastBackOff = 100 * time.Millisecond
	mostBackOff  = time.Minute
)

// backOff doubles the delay for the rest of the visit; the frontier keeps its own
// account beyond that.
func (v *Visit) backOff() {
	d := max(v.session.Delay(), leastBackOff)
	v.addDelay(min(2*d, mostBackOff), "backoff")
}

// addDelay has the host rest for d at least between requests, since source asks for it.
func (v *Visit) addDelay(d time.Duration, source string) {
	if d > v.session.Delayed {
		v.session.Delayed, v.session.DelaySource = d, source
	}
}

// errForgotten is why a request was not sent: somebody has taken its URL out of the crawl,
// perhaps a moment ago.
var errForgotten = errors.New("removed from the crawl by curtsy forget")

// failureOf says what a request that came to nothing means for its URL.
func (v *Visit) failureOf(err error) wire.Failure {
	if errors.Is(err, errForgotten) {
		return wire.Failure{Reason: crawl.ReasonForgotten, Detail: err.Error(), Final: true, Barred: true}
	}
	return v.session.FailureOf(err)
}

// ask sends a GET and keeps the visit's account of it. Unless it was for a page, of which more has
// to be known, what was answered is archived.
func (v *Visit) ask(u canon.URL, extra map[string][]string, want wire.WantFunc) (wire.Answer, error) {
	a, err := v.account(u, func() (wire.Answer, error) { return v.session.Fetch(u, extra, want) })
	switch v.session.Kind {
	case crawl.RequestPage, crawl.RequestDownload:
	case crawl.RequestKind(crawl.AuxIndexNow): // a key
	default:
		if err == nil {
			v.archive(u, &a)
		}
	}
	return a, err
}

// proxyPause is how long a host rests when the proxy to it could not be used.
const proxyPause = 30 * time.Second

// account sends a request and keeps the visit's account of it.
func (v *Visit) account(u canon.URL, send func() (wire.Answer, error)) (wire.Answer, error) {
	if v.sink.Forgotten(u) {
		return wire.Answer{}, errForgotten
	}
	start := time.Now()
	before := v.session.Requests
	a, err := send()
	if sent := v.session.Requests - before; sent > 0 {
		v.lastEnd = time.Now()
		v.out.Requests += sent
		v.deps.metrics.requests.Add(float64(sent))
	}
	v.deps.metrics.skipped.Add(float64(a.Skipped))
	v.out.Bytes += a.Wire
	v.deps.metrics.bytes.Add(float64(a.Wire))
	v.deps.metrics.stage(stageFetch, start)
	if err == nil {
		v.silent = 0
		return a, nil
	}
	fail := v.failureOf(err)
	if fail.Timeout {
		v.out.Timeouts++
		v.backOff()
	}
	if fail.Unsent {
		v.end(fail.Detail)
	}
	if fail.Proxy {
		v.out.NotBefore = proxyPause
	}
	var full *wire.LimiterTimeout
	if errors.As(err, &full) {
		v.out.NotBefore = full.Wait
		v.deps.metrics.limited.Inc()
	}
	if !fail.Silent {
		v.silent = 0
	} else if v.silent++; v.silent >= 2 {
		v.end("the host does not answer")
	}
	return a, err
}
