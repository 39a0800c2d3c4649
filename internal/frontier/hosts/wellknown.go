package hosts

import (
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// DataTxt is what is known of an origin's /data.txt. It is part of the origin's record.
type DataTxt struct {
	Data       crawl.ProbeState `json:"data,omitempty"`
	DataDue    time.Time        `json:"data_due,omitzero"` // earliest time of the next request
	DataReason string           `json:"data_reason,omitempty"`
	// ProbePending: the URL requested on another host
	DataOn string `json:"data_on,omitempty"`
}

// What follows is kept of an origin's well-known files. Each method may be applied again without
// changing anything.

// KeepData keeps what came of requesting o's /data.txt, which is not requested again before due.
func (o *Origin) KeepData(state crawl.ProbeState, reason string, due time.Time) {
	o.Data, o.DataReason, o.DataDue = state, strings.Clone(crawl.ShortDetail(reason)), due
	o.changed()
}

// AwaitData notes that /data.txt has moved to a URL of another host, whose answer is awaited.
func (o *Origin) AwaitData(on string) {
	o.DataOn = on
	o.changed()
}

// NoData notes that o has no /data.txt that can be used.
func (o *Origin) NoData() {
	o.Data = crawl.ProbeAbsent
	o.changed()
}

// ForgetData notes that /data.txt is forgotten on request. No answer about it is awaited either.
func (o *Origin) ForgetData() {
	o.Data, o.DataReason, o.DataOn = crawl.ProbeRefused, string(crawl.ReasonForgotten), ""
	o.changed()
}

// ReadmitData has /data.txt requested as if nothing were known of it, because it is not forgotten
// any more.
func (o *Origin) ReadmitData() {
	o.Data, o.DataReason, o.DataDue = crawl.ProbeNone, "", time.Time{}
	o.changed()
}

// ExpireData has /data.txt requested with the next visit. What is known of it stays until then.
func (o *Origin) ExpireData() {
	o.DataDue = time.Time{}
	o.changed()
}

// KeepFiles replaces what is known of the files that a spec may want of o, and when they may be
// requested again. What pointers lead to must not be changed afterwards.
func (o *Origin) KeepFiles(f crawl.OriginFiles, due crawl.OriginFilesDue) {
	o.OriginFiles, o.OriginFilesDue = f, due
	o.changed()
}

// NoRUP notes that o does not speak the Remote Update Protocol, and is not asked again before then.
func (o *Origin) NoRUP(until time.Time) {
	o.RUPDue = until
	o.changed()
}
