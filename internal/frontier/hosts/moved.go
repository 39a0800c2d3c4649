package hosts

import (
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Moves are what is known of an origin as a mirror, and of where its pages have moved. They are
// part of the origin's record.
type Moves struct {
	Mirror *mirror.Record `json:"mirror,omitempty"`
	// The origin to which the page requested last has moved permanently, with the same path.
	MovedTo canon.Origin `json:"moved_to,omitzero"`
	Moved   uint32       `json:"moved,omitempty"` // number of pages in a row that have moved there
	Led     int64        `json:"led,omitempty"`   // URLs to which redirects of other hosts led
	// The name with or without "www." was requested as well.
	Twin bool `json:"twin,omitempty"`
	// TwinOut is the spec, as in Meta.Spec, by which that name is out of scope.
	TwinOut string `json:"-"`
}

// KeepMirror keeps what is known of o as a mirror; nil if there is nothing to remember.
func (o *Origin) KeepMirror(m *mirror.Record) {
	o.Mirror = m
	o.changed()
}

// PageMoved counts a page of o that has moved for good to the same path of another origin, and
// returns how many in a row have moved there. A page that moved elsewhere begins the count anew. A
// replay counts a page twice, which only leads to an earlier look at the pages themselves.
func (o *Origin) PageMoved(to canon.Origin) uint32 {
	if o.MovedTo != to {
		o.MovedTo, o.Moved = to, 0
	}
	o.Moved++
	o.changed()
	return o.Moved
}

// RedirectedHere counts a URL of o to which a redirect of another host led.
func (o *Origin) RedirectedHere() {
	o.Led++
	o.changed()
}

// TwinAsked notes that the origin with or without "www." was asked whether it is the same site.
func (o *Origin) TwinAsked() {
	o.Twin = true
	o.changed()
}

// AskTwinAgain has that origin asked once more.
func (o *Origin) AskTwinAgain() {
	o.Twin = false
	o.changed()
}

// TwinOutOfScope notes that the spec with this text has that origin out of scope. It is not stored:
// a new owner looks once more.
func (o *Origin) TwinOutOfScope(spec string) { o.TwinOut = spec }
