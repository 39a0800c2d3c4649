package visit

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/tracing"
)

// A visit reports what it did while it goes on. Whoever watches the crawl sees it move, and if the
// process is killed, only what was not reported is requested again.

const (
	// delayToReport is the least delay at which a visit reports after each request: it has to wait
	// anyway. At shorter delays the messages would cost more than the pages.
	delayToReport = 20 * time.Millisecond
	// reportEvery is the longest time between two reports while requests end.
	reportEvery = time.Second
	// maxTraces is about how many bytes of traces are in one event. Further ones are published
	// before it.
	maxTraces = crawl.MaxEventBytes / 4
)

// report is what a visit's reports need beside the publisher.
type report struct {
	at       time.Time      // of the last report; at first when the visit began
	requests int            // that were reported
	log      RequestLog     // may be nil
	trace    *tracing.Visit // may be nil
	clock    int64          // when the visit began, in traces
	traced   int            // requests whose traces were published
}

// reportProgress reports how far the visit has come, if it is time to do so.
func (v *Visit) reportProgress() {
	r := v.requests
	switch {
	case r.Account.Requests == v.report.requests: // other results are reported later
	case r.Session.Delay() < delayToReport && time.Since(v.report.at) < reportEvery:
	case r.Over(): // its end is reported at once
	default:
		v.publish(true)
	}
}

// publish publishes what is not published yet. After a partial report the visit goes on.
func (v *Visit) publish(partial bool) {
	began, results := time.Now(), v.publisher.Unreported()
	ok := v.publisher.Report(partial, func() publish.Progress { return v.progress(partial) })
	if ok {
		if v.report.log != nil {
			v.report.log.Reported(!partial)
		}
		v.report.requests = v.requests.Account.Requests
	}
	v.report.at = time.Now()
	v.report.trace.Published(results, partial, v.publisher.Lost(), began, v.report.at)
}

// progress returns what the outcome says besides the results. At the end of the visit it first
// waits until the origin has seen the end of the last request.
func (v *Visit) progress(partial bool) publish.Progress {
	account, session := &v.requests.Account, v.requests.Session
	if !partial {
		session.AwaitEnd(account.LastEnd)
	}
	return publish.Progress{
		Outcome: crawl.Outcome{
			Requests: account.Requests, Bytes: account.Bytes, Overloads: account.Overloads, Timeouts: account.Timeouts,
			RetryAfter: account.RetryAfter, NotBefore: account.NotBefore, Delay: session.Delay(), Private: session.Private(), Block: wire.BlockOf(session),
		},
		LastEnd: account.LastEnd,
		Traces:  v.traces(!partial),
	}
}

// traces returns the traces of the requests that no event reported yet. The event that has them is
// published before the next request. If there are many, some are published here.
func (v *Visit) traces(last bool) []crawl.Trace {
	all := v.requests.Session.Traced
	v.requests.Session.Traced = all[:0]
	var traces []crawl.Trace
	size := 0
	for len(all) > 0 {
		some := all[:min(len(all), crawl.MaxTrace)]
		all = all[len(some):]
		t := crawl.Trace{Host: v.job.Host, Begin: v.report.clock, From: v.report.traced, Last: last && len(all) == 0}
		t.After, t.AfterSource = v.requests.Pause()
		t.Trace(some, v.sites.Began)
		v.report.trace.Requests(some)
		v.report.traced += len(some)
		for i := range t.Requests {
			size += len(t.Requests[i].Suffix) + 48
		}
		if traces = append(traces, t); size > maxTraces {
			v.publisher.Event(v.job.Shard, &crawl.Event{Traces: traces})
			traces, size = nil, 0
		}
	}
	return traces
}

// PauseUntil returns until when the host is left alone, as far as this visit knows. It is zero if
// the visit sent no request.
func (v *Visit) PauseUntil() time.Time { return v.requests.PauseUntil() }

// Close publishes the outcome of the visit, which ends it.
func (v *Visit) Close() {
	v.publish(false)
	v.deps.metrics.Visits.Inc()
	v.deps.metrics.Count(v.publisher.Results())
	v.pages.Scripts.Close()
	v.tidy()
	v.requests.Session.Release()
	v.report.trace.Visited(v.job, v.requests.Account.Requests, v.requests.Reason(), v.sites.Began, time.Now())
}

// tidy leaves the scratch to the next visit, without what one large page needed.
func (v *Visit) tidy() {
	h, session := v.scratch, v.requests.Session
	h.traced = session.Traced
	if h.body = session.Buf; cap(h.body) > wire.KeepBuffer {
		h.body = nil
	}
	h.publish.Tidy()
}
