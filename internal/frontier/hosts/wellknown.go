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

// Dispatch says that a mobile robot is out for an origin, or that the pages which one brought are
// being compared with those of the site. Its host stays in memory meanwhile. It is part of the
// origin's record; package dispatch stores the rest.
type Dispatch struct {
	// Until is when the pages of the origin wait no longer; zero: they do not wait.
	Until time.Time `json:"until,omitzero"`
}

// DispatchPatience is how long the pages of an origin wait for a mobile robot after its last sign
// of life.
const DispatchPatience = 10 * time.Minute

// BeginDispatch notes that a mobile robot is out, for which the pages of o wait until a time at
// most. Called again, it changes that time.
func (o *Origin) BeginDispatch(until time.Time) {
	o.Dispatch = &Dispatch{Until: until}
	o.changed()
}

// DispatchEnded notes that no mobile robot is out for o, nor anything that one brought is compared.
func (o *Origin) DispatchEnded() {
	o.Dispatch = nil
	o.changed()
}

// AwaitsRobot is when the pages of o wait no longer for a mobile robot; zero if they do not wait.
func (o *Origin) AwaitsRobot() (until time.Time) {
	if o.Dispatch == nil {
		return until
	}
	return o.Dispatch.Until
}
