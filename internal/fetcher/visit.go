package fetcher

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/htmlscan"
	"github.com/curtsy/curtsy/pkg/canon"
)

// visit is one visit being carried out, by one goroutine.
type visit struct {
	f    *Fetcher
	cfg  *config
	job  *crawl.Visit
	hold *hold
	hand *hand
	log  *slog.Logger

	began     time.Time // when the grant arrived
	sites     []*site
	refreshed map[canon.Origin]bool // origins asked for their robots.txt in this visit
	ended     bool                  // no more requests; why is in reason
	reason    string
	silent    int         // requests in a row that the host did not answer
	lastEnd   time.Time   // the end of the last response, or its failure
	lost      atomic.Bool // something could not be published: nothing more is
	aside     bool        // another hand has taken its place; guarded by jams.mu

	pubCtx context.Context // outlives the lease, and the fetcher's stop by its grace

	out    crawl.Outcome
	probes []crawl.Probe
	nested []crawl.Errand // what the data.txt read last leads to
}

// hand is what a visit works with and leaves to the next: buffers, and nothing that means anything.
type hand struct {
	scanner htmlscan.Scanner
	links   outlinks
	body    []byte // an answer
	packed  []byte // a page, compressed
	batch   []byte // pages on their way to the indexer
	pages   int    // in batch
	msg     []byte // an event
	results []crawl.Result
}

// run carries the visit out, up to the last request. What it leaves to publish is in v.hand and v.out.
func (v *visit) run() {
	v.wait()
	if !v.over() {
		v.safely("errands", v.errands)
	}
	if len(v.job.URLs) > 0 && v.f.jams.jammed(v.job.Shard) {
		v.end("its pages would have to wait for room")
	}
	for _, u := range v.inOrder() {
		r := crawl.Result{URL: u.URL, Class: crawl.Retry, Reason: crawl.ReasonProtocol, Rule: "a mistake in our program; see the fetcher's log"}
		v.safely(u.URL, func() { r = v.one(u) })
		v.hand.results = append(v.hand.results, r)
	}
}

// wait waits until the first request may start.
func (v *visit) wait() {
	if v.job.NotBefore > 0 && sleep(v.hold.waiting, v.job.NotBefore-time.Since(v.began)) != nil {
		v.end("stopped")
	}
}

// safely runs f and survives it. What one host sends must not end process after process, each time its URL is granted
// again, when it meets a mistake of ours or of a decoder's.
func (v *visit) safely(what any, f func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		v.log.Error("a mistake in the program ended the work on a URL", "at", what, "panic", p, "stack", string(debug.Stack()))
		v.hand.scanner = htmlscan.Scanner{}
		v.abort()
		v.end("a mistake in the program")
	}()
	f()
}

// abort ends a request that whoever sent it did not live to see the end of.
func (v *visit) abort() {
	if v.hold.out {
		v.hold.done(false)
		v.lastEnd = time.Now()
		v.out.Requests++
	}
}

// inOrder returns the URLs to fetch, those of an origin together: the host's one connection leads to one origin at a time.
func (v *visit) inOrder() []*crawl.VisitURL {
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
func (v *visit) one(u *crawl.VisitURL) crawl.Result {
	returned := crawl.Result{URL: u.URL, Class: crawl.Returned}
	if v.f.forgotten(u.URL) {
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: crawl.ReasonForgotten}
	}
	if v.over() || u.URL.Host() != v.job.Host { // the grant is for one host, whatever a frontier may have mixed up
		return returned
	}
	s := v.site(u.URL.Origin())
	switch {
	case s == nil || v.over() && !s.bar.barred:
		return returned
	case s.bar.barred:
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: s.bar.reason, Rule: s.bar.detail}
	case s.closed:
		return returned
	}
	if s.probe {
		s.probe = false
		if v.probe(s); v.over() {
			return returned
		}
	}
	pathQuery := u.URL.PathQuery()
	if verdict := s.rules.Match(pathQuery); !verdict.Allowed {
		v.forget(u, crawl.ReasonRobots)
		return crawl.Result{URL: u.URL, Class: crawl.Refused, Reason: crawl.ReasonRobots, Line: verdict.Line, Rule: verdict.Rule}
	}
	if short := s.rules.cleaned(pathQuery); short != pathQuery {
		// The frontier did not know of Clean-param when it took this spelling in. No request is needed to see where it leads.
		if target, err := s.origin.URL(short); err == nil && target != u.URL {
			v.forget(u, crawl.ReasonCleanParam)
			v.offer(u.URL, u.Depth, u.Hops, []canon.URL{target})
			return crawl.Result{URL: u.URL, Class: crawl.Redirected, Reason: crawl.ReasonCleanParam, Location: string(target)}
		}
	}
	return v.page(u)
}

// over reports whether no further request may be sent in this visit.
func (v *visit) over() bool {
	if !v.ended && (v.hold.waiting.Err() != nil || !v.hold.lease.alive() || v.lost.Load()) {
		v.end("lease over, stopped, or nobody to tell")
	}
	return v.ended
}

// end says that no further request is sent in this visit; the first reason counts.
func (v *visit) end(reason string) {
	if !v.ended {
		v.ended, v.reason = true, reason
	}
}

// overload notes a 429 or 503, which ends the visit, and returns what it asks for.
func (v *visit) overload(a answer) time.Duration {
	v.out.Overloads++
	v.backOff()
	wait := retryAfter(a.header, time.Now())
	v.out.RetryAfter = max(v.out.RetryAfter, wait)
	v.end("the host has too much to do")
	return wait
}

const (
	leastBackOff = 100 * time.Millisecond
	mostBackOff  = time.Minute
)

// backOff doubles the delay for the rest of the visit; the frontier keeps its own account beyond that.
func (v *visit) backOff() {
	d := max(v.hold.delay(), leastBackOff)
	v.hold.owed = max(v.hold.owed, min(2*d, mostBackOff))
}

// errForgotten is why a request was not sent: somebody has taken its URL out of the crawl, perhaps a moment ago.
var errForgotten = errors.New("taken out of the crawl by curtsy forget")

// ask sends a GET and keeps the visit's account of it.
func (v *visit) ask(u canon.URL, extra map[string][]string, want wantFunc) (answer, error) {
	return v.account(u, func() (answer, error) { return v.hold.fetch(u, extra, want) })
}

// account sends a request and keeps the visit's account of it.
func (v *visit) account(u canon.URL, send func() (answer, error)) (answer, error) {
	if v.f.forgotten(u) {
		return answer{}, errForgotten
	}
	start := time.Now()
	before := v.hold.requests
	a, err := send()
	if sent := v.hold.requests - before; sent > 0 {
		v.lastEnd = time.Now()
		v.out.Requests += sent
		v.f.met.requests.Add(float64(sent))
	}
	v.out.Bytes += a.wire
	v.f.met.bytes.Add(float64(a.wire))
	v.f.met.stage(stageFetch, start)
	if err == nil {
		v.silent = 0
		return a, nil
	}
	fail := v.hold.failureOf(err)
	if fail.timeout {
		v.out.Timeouts++
		v.backOff()
	}
	if fail.unsent {
		v.end(fail.detail)
	}
	if !fail.silent {
		v.silent = 0
	} else if v.silent++; v.silent >= 2 {
		v.end("the host does not answer")
	}
	return a, err
}
