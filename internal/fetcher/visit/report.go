package visit

import (
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A visit tells what it did while it goes on: whoever watches the crawl sees it move, and a process
// that is killed asks again only for what was not told. Each time all steps of publishing are gone
// through, so a result is in the log only when its page and its links are safe.

const (
	// timeToReport is the least delay at which a visit tells after each request: the host is left
	// alone meanwhile anyway. At shorter ones the messages would cost more than the pages.
	timeToReport = 20 * time.Millisecond
	// reportEvery is how often a visit tells at least, while requests end.
	reportEvery = time.Second
)

// reported is how much of a visit its shard has been told.
type reported struct {
	at       time.Time // when last; at first when the visit began
	requests int
	results  int // of Hand.results
	done     int // of Outcome.Done
	feeds    int // of Visit.feeds
}

// report tells the visit's shard how far the visit has come, when it is time for that.
func (v *Visit) report() {
	switch {
	case v.out.Requests == v.reported.requests: // what needs no request is told with the next one
		return
	case v.session.Delay() < timeToReport && time.Since(v.reported.at) < reportEvery:
		return
	case v.over(): // its end is told at once
		return
	}
	v.publishAll(true)
}

// publishAll publishes what is not told yet: pages, many links of other shards, all other links
// with the outcome. The visit goes on if that is partial.
func (v *Visit) publishAll(partial bool) {
	began, results := time.Now(), len(v.scratch.results)-v.reported.results
	v.flushPages()
	feeds := v.publishFeeds()
	own := v.job.Shard
	if v.scratch.links.shards[own].bytes > crawl.MaxEventBytes/2 {
		v.sendLinks(own)
	}
	along, alone := v.scratch.links.carried(own)
	var others sync.WaitGroup
	for _, shard := range alone {
		others.Go(func() { v.sendLinks(shard) })
	}
	others.Wait()
	if !partial {
		v.session.AwaitEnd(v.lastEnd)
	}
	v.out.Delay, v.out.Private = v.session.Delay(), v.session.Private()
	v.publishOutcome(v.scratch.links.of(append(along, own)), len(along) > 0, feeds, partial)
	for _, shard := range append(along, own) {
		v.scratch.links.drop(shard)
	}
	v.scratch.links.bytes = 0
	v.reported.at = time.Now()
	v.trace.Published(results, partial, v.lost.Load(), began, v.reported.at)
}

// publishOutcome tells how far the visit has come, or its end, in several parts when its results
// are many and long. forward says that some of links are of other shards; feeds are those that were
// announced.
func (v *Visit) publishOutcome(links []crawl.Links, forward bool, feeds []crawl.AuxRequest, partial bool) {
	results, traces := v.scratch.results[v.reported.results:], v.traces(!partial)
	for {
		n, room := 0, crawl.MaxEventBytes/2
		for n < len(results) && (room > 0 || n == 0) {
			r := &results[n]
			room -= len(r.URL) + len(r.Rule) + len(r.Location) + 64
			n++
		}
		out := v.out
		out.Results, out.Done = results[:n], v.out.Done[v.reported.done:]
		if results = results[n:]; len(results) > 0 {
			out = crawl.Outcome{Host: out.Host, Results: out.Results, Partial: true}
		} else {
			out.Partial = partial
			if out.Requests > 0 {
				out.SinceEnd = time.Since(v.lastEnd)
			}
		}
		ev := crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Links: links, Forward: forward, Probes: v.probes, Outcome: &out,
			Traces: traces, Aux: feeds}
		if !v.publish(v.job.Shard, &ev) {
			return
		}
		links, forward, v.probes, traces, feeds = nil, false, nil, nil, nil
		if len(results) == 0 {
			break
		}
	}
	if v.requestLog != nil {
		v.requestLog.Reported(!partial)
	}
	v.reported.requests, v.reported.results, v.reported.done = v.out.Requests, len(v.scratch.results), len(v.out.Done)
}
