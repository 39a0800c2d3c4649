package hosts

import "github.com/curtsy/curtsy/internal/crawl"

// URLCounts count the URLs of a host and the requests for them. They are part of its record.
type URLCounts struct {
	// URLs in class Queued, including those that wait for another attempt
	Queued  int64 `json:"queued,omitempty"`
	Later   int64 `json:"later,omitempty"`   // of the queued, those that wait for another attempt
	Stored  int64 `json:"stored,omitempty"`  // pages stored, for --max-pages-per-host
	Failed  int64 `json:"failed,omitempty"`  // URLs that failed, as far as this was counted
	Fetched int64 `json:"fetched,omitempty"` // requests sent, probes included
}

// The counts of URLs follow from the records of URLs. urls.SetState, which changes the class of a
// record, calls these methods in the same transaction. Counts and records therefore agree after any
// crash.

// URLQueued counts a URL of the i-th origin that is Queued now: in the queue, or waiting for
// another attempt.
func (h *Host) URLQueued(i uint8, waits bool) { h.countQueued(i, waits, +1) }

// URLDequeued takes a URL of the i-th origin out of these counts.
func (h *Host) URLDequeued(i uint8, waits bool) { h.countQueued(i, waits, -1) }

func (h *Host) countQueued(i uint8, waits bool, n int64) {
	h.memory.file.Meta.Counts.AddQueued(n, waits)
	h.Queued += n
	if waits {
		h.Later += n
	} else {
		h.Origins[i].Ready += n
	}
	h.changed()
}

// CountURL adds a URL of h that is not Queued to the counts of its class and reason, or takes it
// out of them if n is -1.
func (h *Host) CountURL(class crawl.Class, reason crawl.Reason, n int64) {
	h.memory.file.Meta.Counts.AddURLs(class, reason, n)
	switch class {
	case crawl.Stored:
		h.Stored += n
		h.changed()
		if h.Domain != nil {
			h.Domain.Stored += n
			h.memory.domains.DomainChanged(h.Domain)
		}
	case crawl.Refused:
		if refusedUnasked(reason) {
			h.Refused = max(h.Refused+n, 0) // older files lack those that were queued before
			h.changed()
		}
	case crawl.Failed:
		h.Failed = max(h.Failed+n, 0) // those from before this was counted are not in it
		h.changed()
	}
}

// refusedUnasked reports whether URLs are refused for this reason without a request. The number of
// such URLs of a host is bounded, because finding them costs the owner of the host nothing.
func refusedUnasked(r crawl.Reason) bool {
	switch r {
	case crawl.ReasonRedirects, crawl.ReasonPorts, crawl.ReasonMirror, crawl.ReasonHosts, crawl.ReasonForgotten, crawl.ReasonPlanned:
		return true
	}
	return r.Has(crawl.UndoneBySpec)
}

// LinkLeftOut counts a link to h that is not recorded, because too many of its URLs wait or
// have the same hash. It reports whether it was the first one.
func (h *Host) LinkLeftOut() (first bool) {
	h.LeftOut++
	h.changed()
	return h.LeftOut == 1
}

// KeepRequests counts n requests more in the timeline of h, or fewer if n is negative.
func (h *Host) KeepRequests(n int) {
	h.Timeline += n
	h.changed()
}

// AddAgain counts a URL of o that is to be fetched again, from a time on (Unix s).
func (o *Origin) AddAgain(next int64) {
	if o.Again++; o.Again == 1 || o.AgainDue > 0 && next < o.AgainDue {
		o.AgainDue = next
	}
	o.changed()
}

// DropAgain takes a URL that was to be fetched again from a time on out of the counts.
func (o *Origin) DropAgain(next int64) {
	o.Again--
	if next <= o.AgainDue {
		o.AgainDue = 0 // to be looked for when it matters
	}
	o.changed()
}

// FoundAgainDue notes when the first URL of o is to be fetched again, after the plan was searched
// for it. The plan is what counts: nothing is lost if this is not written.
func (o *Origin) FoundAgainDue(next int64) { o.AgainDue = next }
