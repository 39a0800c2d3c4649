package crawl

import (
	"math"
	"time"
)

// Bottleneck is what the end of a crawl waits for.
type Bottleneck struct {
	Kind     string `json:"kind"`     // one of the Waits
	Sentence string `json:"sentence"` // for people, without a full stop
	// These are set for WaitsHost: the host that will be done last, its queue, the delay between
	// its requests, and the time that they take.
	Host   string  `json:"host,omitempty"`
	Queued int64   `json:"queued,omitempty"`
	DelayS float64 `json:"delay_s,omitempty"`
	LeftS  float64 `json:"left_s,omitempty"`
}

// The values of Bottleneck.Kind.
const (
	WaitsHost      = "host"    // the delay of one host
	WaitsMachine   = "machine" // slots, processor or network: the delays would allow more
	WaitsLimit     = "limit"   // --max-pages or --max-bytes is reached before the queue ends
	WaitsPostponed = "held"    // only postponed hosts are left
	WaitsPaused    = "paused"  // until somebody resumes it
	WaitsDisk      = "disk"    // until there is disk space
)

// Outlook describes the remaining work of a shard, so that the end of the crawl can be estimated.
// The Outlooks of shards add up.
type Outlook struct {
	Left     float64     `json:"left"`     // remaining requests of hosts that are not postponed
	Steps    []Speed     `json:"steps"`    // hosts by the time they take: up to 1 s, 2 s, 4 s, …
	Requests float64     `json:"requests"` // per second, in the last SpanS seconds
	SpanS    float64     `json:"span_s"`   // 30, or less at the beginning
	Last     *Bottleneck `json:"last,omitempty"`
	// GrowingS is the longest time of a host whose queue grows.
	GrowingS float64 `json:"growing_s,omitempty"`
}

// Speed is how many requests some hosts have left, and how many per second their delays allow.
type Speed struct {
	Left float64 `json:"left"`
	Pace float64 `json:"pace"`
}

// AddHost adds a host with left requests. Each request and the delay after it take each. wait is
// the additional time before the first one, and may be negative. AddHost returns how many seconds
// all requests take.
func (o *Outlook) AddHost(left float64, wait, each time.Duration) (seconds float64) {
	pace := 1 / max(each, time.Millisecond).Seconds()
	seconds = max(wait.Seconds()+left/pace, 0)
	i := max(int(math.Ceil(math.Log2(max(seconds, 1)))), 0)
	for len(o.Steps) <= i {
		o.Steps = append(o.Steps, Speed{})
	}
	o.Steps[i].Left += left
	o.Steps[i].Pace += pace
	o.Left += left
	return seconds
}

// Add adds the Outlook of another shard.
func (o *Outlook) Add(p *Outlook) {
	if p == nil {
		return
	}
	o.Left += p.Left
	for i, s := range p.Steps {
		if i == len(o.Steps) {
			o.Steps = append(o.Steps, Speed{})
		}
		o.Steps[i].Left += s.Left
		o.Steps[i].Pace += s.Pace
	}
	o.Requests += p.Requests
	o.SpanS = max(o.SpanS, p.SpanS)
	o.GrowingS = max(o.GrowingS, p.GrowingS)
	if p.Last != nil && (o.Last == nil || p.Last.LeftS > o.Last.LeftS) {
		o.Last = p.Last
	}
}

// Pace is how many requests per second all delays together allow now.
func (o *Outlook) Pace() (sum float64) {
	for _, s := range o.Steps {
		sum += s.Pace
	}
	return sum
}

// By is how many requests the delays allow in the next seconds. Hosts that are done send no more.
func (o *Outlook) By(seconds float64) (sum float64) {
	for _, s := range o.Steps {
		sum += min(s.Left, s.Pace*seconds)
	}
	return sum
}
