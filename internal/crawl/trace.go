package crawl

import (
	"strconv"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// RequestKind is the purpose of a request. For an auxiliary request it is the number of its
// AuxKind.
type RequestKind uint8

// The kinds of other requests.
const (
	RequestPage     RequestKind = 0
	RequestRobots               = RequestKind(AuxRobots)
	RequestData                 = RequestKind(AuxData)
	RequestResource RequestKind = 253 // what a rendered page needs
	RequestRights   RequestKind = 254 // a RightsFile
	RequestDownload RequestKind = 255
)

// String is the word used in JSON and on the command line.
func (k RequestKind) String() string {
	switch k {
	case RequestPage:
		return "page"
	case RequestResource:
		return "resource"
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

// Trace has requests of a visit, in the order in which they were sent. A visit may have several
// traces.
type Trace struct {
	Host canon.Host
	// Begin is when the visit began, in Unix microseconds. It is by the clock of the frontier if
	// the fetcher's clock is known to differ from it by more than a second, else by the fetcher's
	// clock. Differences between requests of one process are exact.
	Begin    int64
	From     int    // how many requests of the visit earlier traces have
	Requests []Sent // at most MaxTrace
	// Last: the visit sends no more requests.
	Last bool
	// After is the required delay after the last request, and AfterSource is where it comes from,
	// as in Sent.
	After       time.Duration
	AfterSource string
}

// MaxTrace is the maximum number of requests of a Trace.
const MaxTrace = 256

// Sent is one request in the compact form of a Trace.
type Sent struct {
	Shared int    // number of bytes at the beginning of its URL that are those of the URL before
	Suffix string // the rest of its URL
	Kind   RequestKind
	// Wait is the time from the end of the request before, or from Trace.Begin, to its start, in
	// microseconds.
	Wait int64
	Took int64 // microseconds from its start to its end
	// Status is the HTTP status of the response; 0 means that none came.
	Status int
	Bytes  int64 // of the body, read from the wire
	// Bound is the required time since the previous end, and BoundSource is where it comes from (as
	// HostInfo.DelaySource). If both are zero, they are those of the request before.
	Bound       time.Duration
	BoundSource string
	// Cut: its process ended during the request, and it is not known when.
	Cut bool
	// Unsent: it failed before its first byte could be sent, without an address or a connection.
	Unsent bool
}

// Exchange is one request and its response. The fields are as in Request.
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

// over is when the request ended or, if this is not known, when it began.
func (x *Exchange) over() time.Time {
	if x.Cut {
		return x.Start
	}
	return x.End
}

// Trace makes a trace of exchanges. Each of them began after the one before had ended. begin is
// Begin by the clock of their times. Rounding to microseconds makes no delay shorter than it was.
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

// Each calls yield with every exchange of the trace until yield returns false. It also ends at
// invalid data.
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
	return c.out
}

// DecodeTrace decodes a Trace.
func DecodeTrace(b []byte) (t Trace, err error) {
	c := reader(b)
	for c.more() {
		t.fields(&c)
	}
	return t, c.err("trace")
}

// Timeline has the requests that were sent to a host, the oldest first, and the delay that was
// required before each.
type Timeline struct {
	Host        string    `json:"host"`
	DelayS      float64   `json:"delay_s"`      // that is required now
	DelaySource string    `json:"delay_source"` // as in HostInfo
	Requests    []Request `json:"requests"`
	More        bool      `json:"more"` // there are older requests
	// Unknown are times in which requests may have been sent that were not reported.
	Unknown []Unknown `json:"unknown"`
}

// Unknown is the time of a visit whose fetcher did not report all its requests.
type Unknown struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Visit string    `json:"visit"`
}

// Request is one request that was sent to a host.
type Request struct {
	URL  string `json:"url"`  // empty if it was forgotten since
	Kind string `json:"kind"` // page, robots, data, sitemap, download, …: see RequestKind
	// Start is when the first byte may have been sent. For a request that is Unsent it is when we
	// began to prepare it. End is when the response was read or the connection closed; then the
	// next delay begins. It is zero for a request that is Cut, because it is not known.
	Start  time.Time `json:"start"`
	End    time.Time `json:"end,omitzero"`
	Status int       `json:"status"` // HTTP status; 0: no response
	Bytes  int64     `json:"bytes"`  // of the response's body, as read from the wire
	Visit  string    `json:"visit"`  // in which it was sent
	// BoundS is the required number of seconds between the previous End and Start. BoundSource is
	// where it comes from: default, configured, crawl-delay, backoff or retry-after.
	BoundS      float64 `json:"bound_s"`
	BoundSource string  `json:"bound_source"`
	Cut         bool    `json:"cut,omitempty"`    // our process ended during the request
	Unsent      bool    `json:"unsent,omitempty"` // there was no address, or no connection
}
