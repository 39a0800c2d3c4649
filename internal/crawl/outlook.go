package crawl

import (
	"math"
	"time"
)

// Bottleneck is what the end of a crawl waits for.
type Bottleneck struct {
	Kind     string `json:"kind"`     // one of the Waits
	Sentence string `json:"sentence"` // for people, without a full stop
	// The host that is done last, for WaitsHost alone: its queue, the delay its requests keep, and
	// how long that takes.
	Host   string  `json:"host,omitempty"`
	Queued int64   `json:"queued,omitempty"`
	DelayS float64 `json:"delay_s,omitempty"`
	LeftS  float64 `json:"left_s,omitempty"`
}

// What a crawl waits for: Bottleneck.Kind.
const (
	WaitsHost      = "host"    // the delay of one host
	WaitsMachine   = "machine" // hands, processor, network: politeness would allow more
	WaitsLimit     = "limit"   // --max-pages or --max-bytes is reached before the queue ends
	WaitsPostponed = "held"    // only hosts on hold are left
	WaitsPaused    = "paused"  // until somebody resumes it
	WaitsDisk      = "disk"    // until there is room
)

// Outlook is what a shard tells of the work before it, so that the end of all shards' work can be
// foretold. Outlooks add up.
type Outlook struct {
	Left     float64     `json:"left"`     // requests that hosts not on hold wait for
	Steps    []Speed     `json:"steps"`    // hosts by how long they take: up to 1 s, 2 s, 4 s, …
	Requests float64     `json:"requests"` // sent a second, over the last half minute
	SpanS    float64     `json:"span_s"`   // or less, if there were none before
	Last     *Bottleneck `json:"last,omitempty"`
	// GrowingS is the longest time of a host that finds more URLs than it works off.
	GrowingS float64 `json:"growing_s,omitempty"`
}

// Speed is what hosts have left to do, and how many requests a second their delays allow them.
type Speed struct {
	Left float64 `json:"left"`
	Pace float64 `json:"pace"`
}

// AddHost adds a host that has left requests to send, each of which takes as long as each with the
// delay after it. wait is what the first has to wait beyond that, or less if it need not. It
// returns how many seconds all take.
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

// Add adds another shard's.
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

// Pace is how many requests a second all delays together allow now.
func (o *Outlook) Pace() (sum float64) {
	for _, s := range o.Steps {
		sum += s.Pace
	}
	return sum
}

// By is how many requests the delays allow within a time from now: hosts that have done theirs send
// no more.
func (o *Outlook) By(seconds float64) (sum float64) {
	for _, s := range o.Steps {
		sum += min(s.Left, s.Pace*seconds)
	}
	return sum
}
