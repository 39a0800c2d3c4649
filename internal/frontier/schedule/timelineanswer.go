package schedule

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// Of is the timeline of a host: its last requests that started before a time (zero: all), at most
// limit of them. The delay that is owed now is not its to say.
func (s *Timeline) Of(h *hosts.Host, before time.Time, limit int) (crawl.Timeline, error) {
	t := crawl.Timeline{Host: string(h.Name), Requests: []crawl.Request{}, Unknown: []crawl.Unknown{}}
	b := s.bucket()
	if b == nil {
		return t, nil
	}
	r := reading{Timeline: &t}
	c := b.Cursor()
	for k, v := c.Seek(h.ID.Append(nil)); k != nil && hosts.KeyHost(k) == h.ID; k, v = c.Next() {
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

// reading puts a timeline together of what is kept, oldest first.
type reading struct {
	*crawl.Timeline
	visit  crawl.VisitID
	next   uint32        // how many requests of it were taken
	after  time.Duration // what the visit before asked for at its end, and for whom
	source string
	last   time.Duration // what the last trace of this visit did
	who    string
}

// take takes in a trace, without what was told of in one before.
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
		if first && r.after > bound { // what the visit before has asked for was waited for
			bound, source = r.after, r.source
		}
		r.Requests = append(r.Requests, crawl.Request{URL: x.URL, Kind: x.Kind.String(), Start: x.Start, End: x.End, Status: x.Status,
			Bytes: x.Bytes, Visit: visit.String(), BoundS: bound.Seconds(), BoundSource: source, Cut: x.Cut, Unsent: x.Unsent})
	}
	r.last, r.who = t.After, t.AfterSource
}

// silent takes in that a visit fell silent. What it had told of before is known.
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
