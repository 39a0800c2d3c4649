package wire

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// What is told of requests afterwards (crawl.Exchange) has the instants that politeness itself goes
// by: a request starts when its bytes go out, and ends when the gate is told of its end.

// DelayDefault is who asks for the second that is kept at least to public addresses.
const DelayDefault = "default"

// trace notes that a request passed the gate, which kept it back for delay.
func (h *Session) trace(u canon.URL, delay time.Duration) {
	h.inFlight = crawl.Exchange{URL: string(u), Kind: h.Kind, Start: time.Now(), Bound: delay, BoundSource: h.DelaySource}
	if delay != h.Delayed {
		h.inFlight.BoundSource = DelayDefault
	}
	if h.RequestLog != nil {
		h.RequestLog.Began(&h.inFlight)
	}
}

// traced notes the end of the request under way.
func (h *Session) traced(end time.Time) {
	x := &h.inFlight
	x.End = end
	x.Unsent = !h.started.Load()
	if h.conn != nil && h.used {
		if !x.Unsent {
			if sent := processStart.Add(time.Duration(h.conn.sent.Load())); sent.After(x.Start) {
				x.Start = sent
			}
		}
		// The address is known since.
		if owed := max(h.delayFor(h.conn.private), least(h.Granted, h.Hurried, h.conn.private)); owed > x.Bound {
			x.Bound, x.BoundSource = owed, DelayDefault
		}
	}
	if h.RequestLog != nil {
		h.RequestLog.Ended(x)
	}
	if h.c.onOver != nil {
		h.c.onOver(x)
	}
	h.Traced = append(h.Traced, *x)
}
