package crawl

import (
	"strconv"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// RequestKind says what a request is for: those of errands have the number of their AuxKind.
type RequestKind uint8

// The kinds of requests that are no errands.
const (
	RequestPage     RequestKind = 0
	RequestRobots               = RequestKind(AuxRobots)
	RequestData                 = RequestKind(AuxData)
	RequestRights   RequestKind = 254 // an Apart file
	RequestDownload RequestKind = 255
)

// String is the word used in JSON and on the command line.
func (k RequestKind) String() string {
	switch k {
	case RequestPage:
		return "page"
	case RequestRights:
		return "usage"
	case RequestDownload:
		return "download"
	}
	if name, ok := auxNames[AuxKind(k)]; ok {
		return name
	}
	return "unknown " + strconv.Itoa(int(k))
}

// Trace tells of requests that a visit has sent, in the order in which it sent them. The requests
// of a visit may come in several traces.
type Trace struct {
	Host canon.Host
	// Begin is when the visit began, in Unix microseconds: by the clock of the process that grants
	// visits if the fetcher's is known to differ by more than a second from that, else by the
	// fetcher's. Between requests of one process all differences are exact.
	Begin    int64
	From     int    // how many requests of the visit were told of before
	Requests []Sent // at most MaxTrace
	// Last: the visit sends nothing any more.
	Last bool
	// What the host is owed at least after the last of them, and who asks for it: Sent.Bound.
	After       time.Duration
	AfterSource string
}

// MaxTrace is how many requests one Trace tells of at most.
const MaxTrace = 256

// Sent is one request as it travels in a Trace, in few bytes.
type Sent struct {
	Shared int    // so many bytes of its URL are those of the one before; the first: 0
	Suffix string // and the others
	Kind   RequestKind
	// Microseconds from the end of the request before, or from Trace.Begin, to its start.
	Wait int64
	Took int64 // microseconds from its start to its end
	// Of the answer; 0: none came.
	Status int
	Bytes  int64 // of the body, read from the wire
	// The least time that had to pass since the end before, and who asked for it (delay_source of
	// `curtsy hosts`); both zero: as of the one before.
	Bound       time.Duration
	BoundSource string
	// Cut: its process ended in the middle of it, nobody knows when.
	Cut bool
	// Unsent: it came to nothing before its first byte could go out: no address, no connection.
	Unsent bool
}

// Exchange is one request and its answer. URL, Kind and the rest are as in Request.
type Exchange struct {
	URL         string
	Kind        RequestKind
	Start, End  time.Time // End is zero when Cut
	Status      int
	Bytes       int64
	Bound       time.Duration
	BoundSource string
	Cut, Unsent bool
}

// over is when the request was over or, if nobody knows that, had begun.
func (x *Exchange) over() time.Time {
	if x.Cut {
		return x.Start
	}
	return x.End
}

// Trace makes a trace of exchanges, each of which began when the one before was over. begin is
// what Begin is on the clock of their times. To the microsecond, no pause comes out shorter
// than it was.
func (t *Trace) Trace(all []Exchange, begin time.Time) {
	t.Requests = make([]Sent, len(all))
	at, url, bound, source := int64(0), "", time.Duration(0), ""
	for i := range all {
		x, s := &all[i], &t.Requests[i]
		*s = Sent{Kind: x.Kind, Status: x.Status, Bytes: x.Bytes, Cut: x.Cut, Unsent: x.Unsent}
		for s.Shared < min(len(url), len(x.URL)) && url[s.Shared] == x.URL[s.Shared] {
			s.Shared++
		}
		url, s.Suffix = x.URL, x.URL[s.Shared:]
		if x.Bound != bound || x.BoundSource != source {
			bound, source = x.Bound, x.BoundSource
			s.Bound, s.BoundSource = bound, source
		}
		start := (x.Start.Sub(begin) + time.Microsecond - 1).Microseconds()
		s.Wait = max(start-at, 0)
		at += s.Wait
		s.Took = max(x.over().Sub(begin).Microseconds()-at, 0)
		at += s.Took
	}
}

// Each calls yield with every exchange of the trace, until that returns false. What makes no sense
// ends it.
func (t *Trace) Each(yield func(Exchange) bool) {
	at, url, bound, source := t.Begin, "", time.Duration(0), ""
	for i := range t.Requests {
		s := &t.Requests[i]
		if s.Shared > len(url) {
			return
		}
		url = url[:s.Shared] + s.Suffix
		if s.Bound != 0 || s.BoundSource != "" {
			bound, source = s.Bound, s.BoundSource
		}
		x := Exchange{URL: url, Kind: s.Kind, Start: time.UnixMicro(at + s.Wait).UTC(), Status: s.Status, Bytes: s.Bytes,
			Bound: bound, BoundSource: source, Cut: s.Cut, Unsent: s.Unsent}
		at += s.Wait + s.Took
		if !s.Cut {
			x.End = time.UnixMicro(at).UTC()
		}
		if !yield(x) {
			return
		}
	}
}

func (t *Trace) fields(c *codec) {
	c.host(1, &t.Host)
	c.long(2, &t.Begin)
	c.int(3, &t.From)
	for s := range each(c, 4, &t.Requests) {
		s.fields(c)
	}
	c.bool(5, &t.Last)
	c.duration(6, &t.After)
	c.text(7, &t.AfterSource)
}

func (s *Sent) fields(c *codec) {
	c.int(1, &s.Shared)
	c.text(2, &s.Suffix)
	c.enum(3, (*uint8)(&s.Kind))
	c.long(4, &s.Wait)
	c.long(5, &s.Took)
	c.int(6, &s.Status)
	c.long(7, &s.Bytes)
	c.duration(8, &s.Bound)
	c.text(9, &s.BoundSource)
	c.bool(10, &s.Cut)
	c.bool(11, &s.Unsent)
}

// AppendTrace encodes a Trace, for storing it.
func AppendTrace(b []byte, t *Trace) []byte {
	c := writer(b)
	t.fields(&c)
	return c.b
}

// DecodeTrace decodes a Trace.
func DecodeTrace(b []byte) (t Trace, err error) {
	c := reader(b)
	for c.more() {
		t.fields(&c)
	}
	return t, c.err("trace")
}
