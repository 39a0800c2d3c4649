package visit

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// asking says what the next requests are for, until the function it returns is called.
func (v *Visit) asking(kind crawl.RequestKind) (done func()) {
	was := v.session.Kind
	v.session.Kind = kind
	return func() { v.session.Kind = was }
}

// maxTraces is how many bytes of traces, about, an outcome takes along. More go ahead of it.
const maxTraces = crawl.MaxEventBytes / 4

// traces tells of the requests that no event has told of yet: the events that carry them are
// published before the next is asked for. Many are published here, and then there are none left.
func (v *Visit) traces(last bool) []crawl.Trace {
	all := v.session.Traced
	v.session.Traced = all[:0]
	var traces []crawl.Trace
	size := 0
	for len(all) > 0 {
		some := all[:min(len(all), crawl.MaxTrace)]
		all = all[len(some):]
		t := crawl.Trace{Host: v.job.Host, Begin: v.clock, From: v.traced, Last: last && len(all) == 0}
		t.After, t.AfterSource = v.pause()
		t.Trace(some, v.began)
		v.trace.Requests(some)
		v.traced += len(some)
		for i := range t.Requests {
			size += len(t.Requests[i].Suffix) + 48
		}
		if traces = append(traces, t); size > maxTraces {
			v.publish(v.job.Shard, &crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Traces: traces})
			traces, size = nil, 0
		}
	}
	return traces
}

// PauseUntil is until when the host is left alone, going by what was asked of it in this visit;
// zero: nothing was.
func (v *Visit) PauseUntil() time.Time {
	if v.lastEnd.IsZero() {
		return time.Time{}
	}
	d, _ := v.pause()
	return v.lastEnd.Add(d)
}

// pause is how long the host is left alone after the last request, and who asks for that.
func (v *Visit) pause() (time.Duration, string) {
	if d := v.session.Delay(); d >= v.out.RetryAfter {
		return d, v.session.DelaySource
	}
	return v.out.RetryAfter, "retry-after"
}
