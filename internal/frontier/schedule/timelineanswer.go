package schedule

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// Of is the timeline of a host: its last requests that started before a time (zero: all), at most
// limit of them. It does not contain the delay until the next request.
func (s *Timeline) Of(h *hosts.Host, before time.Time, limit int) (crawl.Timeline, error) {
	t := crawl.Timeline{Host: string(h.Name), Requests: []crawl.Request{}, Unknown: []crawl.Unknown{}}
	b := s.bucket()
	if b == nil {
		return t, nil
	}
	r := reading{Timeline: &t}
	c := b.Cursor()
	for k, v := c.Seek(h.ID.Append(nil)); k != nil && store.KeyHost(k) == h.ID; k, v = c.Next() {
		visit, from, trace, err := decodeTimeline(k, v)
		if err != nil {
			return t, err
		}
		r.take(visit, from, &trace)
	}
	if !before.IsZero() {
		n, _ := slices.BinarySearchFunc(t.Requests, before, func(r crawl.Request, at time.Time) int { return r.Start.Compare(at) })
		t.Requests = t.Requests[:n]
	}
	if n := len(t.Requests) - limit; n > 0 {
		t.Requests, t.More = t.Requests[n:], true
		first := t.Requests[0].Start
		t.Unknown = slices.DeleteFunc(t.Unknown, func(u crawl.Unknown) bool { return u.To.Before(first) })
	}
	return t, nil
}

// reading builds a timeline from the stored values, oldest first.
type reading struct {
	*crawl.Timeline
	visit  crawl.VisitID
	next   uint32        // number of its requests that were read
	after  time.Duration // the delay that the visit before required at its end, and its source
	source string
	last   time.Duration // the same, from the last trace of this visit
	who    string
}

// take adds a trace, without the requests that an earlier one contained.
func (r *reading) take(visit crawl.VisitID, from uint32, t *crawl.Trace) {
	if visit != r.visit {
		r.visit, r.next, r.after, r.source = visit, 0, r.last, r.who
		r.last, r.who = 0, ""
	}
	if from == silence {
		r.silent(visit, t)
		return
	}
	for x := range t.Each {
		if from++; from <= r.next {
			continue
		}
		first := r.next == 0
		r.next = from
		bound, source := x.Bound, x.BoundSource
		if first && r.after > bound { // the delay that the visit before required was observed
			bound, source = r.after, r.source
		}
		r.Requests = append(r.Requests, crawl.Request{URL: x.URL, Kind: x.Kind.String(), Start: x.Start, End: x.End, Status: x.Status,
			Bytes: x.Bytes, Visit: visit.String(), BoundS: bound.Seconds(), BoundSource: source, Cut: x.Cut, Unsent: x.Unsent})
	}
	r.last, r.who = t.After, t.AfterSource
}

// silent adds that a visit did not answer. Requests that it had reported before are known.
func (r *reading) silent(visit crawl.VisitID, t *crawl.Trace) {
	u := crawl.Unknown{From: time.UnixMicro(t.Begin).UTC(), To: time.UnixMicro(t.Begin).Add(t.After).UTC(), Visit: visit.String()}
	if r.next > 0 {
		if end := r.Requests[len(r.Requests)-1].End; end.After(u.From) {
			u.From = end
		}
	}
	if u.From.Before(u.To) {
		r.Unknown = append(r.Unknown, u)
	}
}
