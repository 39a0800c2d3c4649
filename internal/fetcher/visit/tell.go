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
	// restToTell is the least delay at which a visit tells after each request: the host is left
	// alone meanwhile anyway. At shorter ones the messages would cost more than the pages.
	restToTell = 20 * time.Millisecond
	// tellEvery is how often a visit tells at least, while requests end.
	tellEvery = time.Second
)

// told is how much of a visit its shard has been told.
type told struct {
	at       time.Time // when last; at first when the visit began
	requests int
	results  int // of Hand.results
	done     int // of Outcome.Done
	feeds    int // of Visit.feeds
}

// tell tells the visit's shard how far the visit has come, when it is time for that.
func (v *Visit) tell() {
	switch {
	case v.out.Requests == v.told.requests: // what needs no request is told with the next one
		return
	case v.hold.Delay() < restToTell && time.Since(v.told.at) < tellEvery:
		return
	case v.over(): // its end is told at once
		return
	}
	v.publishAll(true)
}

// publishAll publishes what is not told yet: pages, many links of other shards, all other links
// with the outcome. The visit goes on if that is partial.
func (v *Visit) publishAll(partial bool) {
	began, results := time.Now(), len(v.hand.results)-v.told.results
	v.flushPages()
	feeds := v.tellFeeds()
	own := v.job.Shard
	if v.hand.links.shards[own].bytes > crawl.MaxEventBytes/2 {
		v.sendLinks(own)
	}
	along, alone := v.hand.links.carried(own)
	var others sync.WaitGroup
	for _, shard := range alone {
		others.Go(func() { v.sendLinks(shard) })
	}
	others.Wait()
	if !partial {
		v.hold.Settle(v.lastEnd)
	}
	v.out.Delay, v.out.Private = v.hold.Delay(), v.hold.Private()
	v.publishOutcome(v.hand.links.of(append(along, own)), len(along) > 0, feeds, partial)
	for _, shard := range append(along, own) {
		v.hand.links.drop(shard)
	}
	v.hand.links.bytes = 0
	v.told.at = time.Now()
	v.trace.Published(results, partial, v.lost.Load(), began, v.told.at)
}

// publishOutcome tells how far the visit has come, or its end, in several parts when its results
// are many and long. forward says that some of links are of other shards; feeds are those that were
// announced.
func (v *Visit) publishOutcome(links []crawl.Links, forward bool, feeds []crawl.Errand, partial bool) {
	results, traces := v.hand.results[v.told.results:], v.traces(!partial)
	for {
		n, room := 0, crawl.MaxEventBytes/2
		for n < len(results) && (room > 0 || n == 0) {
			r := &results[n]
			room -= len(r.URL) + len(r.Rule) + len(r.Location) + 64
			n++
		}
		out := v.out
		out.Results, out.Done = results[:n], v.out.Done[v.told.done:]
		if results = results[n:]; len(results) > 0 {
			out = crawl.Outcome{Host: out.Host, Results: out.Results, Partial: true}
		} else {
			out.Partial = partial
			if out.Requests > 0 {
				out.SinceEnd = time.Since(v.lastEnd)
			}
		}
		ev := crawl.Event{Visit: v.job.ID, Fetcher: v.kit.opt.Fetcher, Links: links, Forward: forward, Probes: v.probes, Outcome: &out,
			Traces: traces, Errands: feeds}
		if !v.publish(v.job.Shard, &ev) {
			return
		}
		links, forward, v.probes, traces, feeds = nil, false, nil, nil, nil
		if len(results) == 0 {
			break
		}
	}
	if v.journal != nil {
		v.journal.Told(!partial)
	}
	v.told.requests, v.told.results, v.told.done = v.out.Requests, len(v.hand.results), len(v.out.Done)
}
