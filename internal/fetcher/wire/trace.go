package wire

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Reports of requests (crawl.Exchange) have the instants on which politeness is based: a request
// starts when its bytes go out, and ends when the gate is informed of its end.

// DelayDefault is the source of the least delay of one second to public addresses.
const DelayDefault = "default"

// trace records that a request passed the gate, which delayed it by delay.
func (h *Session) trace(u canon.URL, delay time.Duration) {
	h.inFlight = crawl.Exchange{URL: string(u), Kind: h.Kind, Start: time.Now(), Bound: delay, BoundSource: h.DelaySource}
	if delay != h.Delayed {
		h.inFlight.BoundSource = DelayDefault
	}
	if h.RequestLog != nil {
		h.RequestLog.Began(&h.inFlight)
	}
}

// traced records the end of the running request.
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
		// The address is known now.
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
