package publish

import (
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// reported is how much of a visit was published.
type reported struct {
	results int // of Buffers.results
	done    int // of Publisher.done
	feeds   int // of Publisher.feeds
}

// Progress is how far a visit has come, without the results that the publisher gathered.
type Progress struct {
	Outcome crawl.Outcome // without Results, Done, Partial and SinceEnd
	LastEnd time.Time     // when the last request ended
	Traces  []crawl.Trace // of the requests that no event reported yet

	// For the pages that a mobile robot brought: links that are published before the results, and
	// an answer that is published with the last of them.
	Links  []crawl.Links
	Answer *crawl.Answer
}

// Result adds the result of a URL to the next report.
func (p *Publisher) Result(r crawl.Result) { p.buf.results = append(p.buf.results, r) }

// Results returns the results of all URLs so far, except those that were trimmed.
func (p *Publisher) Results() []crawl.Result { return p.buf.results }

// Trim forgets the results that were reported, so that any number of them can follow.
func (p *Publisher) Trim() {
	kept := copy(p.buf.results, p.buf.results[p.reported.results:])
	clear(p.buf.results[kept:])
	p.buf.results, p.reported.results = p.buf.results[:kept], 0
}

// Unreported returns how many results are not published yet.
func (p *Publisher) Unreported() int { return len(p.buf.results) - p.reported.results }

// Done adds an auxiliary request to the next report, as one whose answer is published.
func (p *Publisher) Done(aux crawl.AuxRequest) { p.done = append(p.done, aux) }

// Probe adds what was found at an origin's /data.txt to the next report.
func (p *Publisher) Probe(probe crawl.Probe) { p.probes = append(p.probes, probe) }

// maxAnnounced is how many feeds one visit offers.
const maxAnnounced = 32

// Feed adds a feed that a page announces to the next report, unless it is in one already or there
// are too many.
func (p *Publisher) Feed(aux crawl.AuxRequest) {
	for _, f := range p.feeds {
		if f.URL == aux.URL && f.Origin == aux.Origin {
			return
		}
	}
	if len(p.feeds) < maxAnnounced {
		p.feeds = append(p.feeds, aux)
	}
}

// Report publishes what is not published yet: pages, then many links of other shards, then all
// other links with the outcome. After a partial report the visit goes on. progress is called when
// the pages and the links of other shards are stored. Report returns whether the outcome is stored.
func (p *Publisher) Report(partial bool, progress func() Progress) (ok bool) {
	p.FlushPages()
	feeds := p.publishFeeds()
	links := &p.buf.links
	if links.shards[p.Shard].bytes > LinksMessage {
		p.sendLinks(p.Shard)
	}
	along, alone := links.carried(p.Shard)
	var others sync.WaitGroup
	for _, shard := range alone {
		others.Go(func() { p.sendLinks(shard) })
	}
	others.Wait()
	ev := crawl.Event{Links: links.of(append(along, p.Shard)), Forward: len(along) > 0, Probes: p.probes, Aux: feeds}
	ok = p.outcome(ev, progress(), partial)
	for _, shard := range append(along, p.Shard) {
		links.drop(shard)
	}
	links.bytes = 0
	return ok
}

// publishFeeds publishes the feeds that were announced since the last report to their shards. It
// returns those of the visit's own shard, which are published with the outcome.
func (p *Publisher) publishFeeds() (own []crawl.AuxRequest) {
	byShard := map[int][]crawl.AuxRequest{}
	for _, aux := range p.feeds[p.reported.feeds:] {
		if aux.ReplyShard == p.Shard {
			own = append(own, aux)
		} else {
			byShard[aux.ReplyShard] = append(byShard[aux.ReplyShard], aux)
		}
	}
	p.reported.feeds = len(p.feeds)
	for shard, list := range byShard {
		if !p.Event(shard, &crawl.Event{Aux: list}) {
			return nil
		}
	}
	return own
}

// outcome publishes how far the visit has come, in several events if its results are many and long.
// The first event has what is in ev besides the outcome, and the last has all of the outcome but
// its earlier results.
func (p *Publisher) outcome(ev crawl.Event, at Progress, partial bool) bool {
	results := p.buf.results[p.reported.results:]
	ev.Traces, ev.Links = at.Traces, append(at.Links, ev.Links...)
	for {
		n, left := 0, crawl.MaxEventBytes/2
		for n < len(results) && (left > 0 || n == 0) {
			r := &results[n]
			left -= len(r.URL) + len(r.Rule) + len(r.Location) + 64
			n++
		}
		out := at.Outcome
		out.Host, out.Results, out.Done = p.Host, results[:n], p.done[p.reported.done:]
		if results = results[n:]; len(results) > 0 {
			out = crawl.Outcome{Host: p.Host, Results: out.Results, Partial: true}
		} else {
			out.Partial = partial
			if out.Requests > 0 {
				out.SinceEnd = time.Since(at.LastEnd)
			}
			if at.Answer != nil {
				ev.Answers = []crawl.Answer{*at.Answer}
			}
		}
		ev.Outcome = &out
		if !p.Event(p.Shard, &ev) {
			return false
		}
		p.probes, ev = nil, crawl.Event{}
		if len(results) == 0 {
			break
		}
	}
	p.reported.results, p.reported.done = len(p.buf.results), len(p.done)
	return true
}
