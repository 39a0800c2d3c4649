package store

import (
	"github.com/curtsy/curtsy/internal/crawl"
)

// Counts are the numbers of a shard's URLs by class. URLs in running visits count as queued.
type Counts struct {
	Queued     int64            `json:"queued"`
	Stored     int64            `json:"stored"`
	Redirected int64            `json:"redirected"`
	Refused    int64            `json:"refused"`
	Failed     int64            `json:"failed"`
	Later      int64            `json:"later"` // of the queued, those that wait for another attempt
	Bytes      int64            `json:"bytes"`
	Requests   int64            `json:"requests,omitempty"` // sent, of all kinds
	ByReason   map[string]int64 `json:"by_reason"`
	// Rendering counts the stored pages that need scripts.
	Rendering crawl.RenderingCounts `json:"rendering,omitzero"`
}

// MoveRendering counts a stored page under another value of its Rendering. RenderingNone is counted
// nowhere, and stands for URLs without a stored page as well.
func (c *Counts) MoveRendering(from, to crawl.Rendering) {
	if from != to {
		c.Rendering.Count(from, -1)
		c.Rendering.Count(to, +1)
	}
}

// AddQueued adds n URLs to those that are queued, or takes some out of them if n is negative. waits
// says that they wait for another attempt.
func (c *Counts) AddQueued(n int64, waits bool) {
	c.Queued += n
	if waits {
		c.Later += n
	}
}

// AddURLs adds n URLs that are not queued to the counts of their class and reason, or takes some
// out of them if n is negative.
func (c *Counts) AddURLs(class crawl.Class, reason crawl.Reason, n int64) {
	switch class {
	case crawl.Stored:
		c.Stored += n
	case crawl.Redirected:
		c.Redirected += n
	case crawl.Refused:
		c.Refused += n
	case crawl.Failed:
		c.Failed += n
	}
	if reason != "" {
		if c.ByReason[string(reason)] += n; c.ByReason[string(reason)] == 0 {
			delete(c.ByReason, string(reason))
		}
	}
}

// AddSent adds requests that were sent, and bytes that were received.
func (c *Counts) AddSent(requests, bytes int64) {
	c.Requests += requests
	c.Bytes += bytes
}
