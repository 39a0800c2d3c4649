package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/tracing"
)

// Events applies the events of a shard's log.
type Events struct {
	kinds   []kind
	file    *store.File
	mirrors *mirrors.Mirrors
	urls    *urls.URLs
	traces  *tracing.Crawl // nil: none are made
}

// kind is a kind of event: a field of crawl.Event, and what it does to the shard.
type kind struct {
	field string
	apply func(ev *event) error
}

// event is an event of the log that is being applied.
type event struct {
	*crawl.Event
	sent time.Time // the server's time of the event
	// Facts are fresh from at on: it is sent, but never later than now, whatever the clocks show.
	at  time.Time
	now time.Time
}

// NewEvents returns the events of a shard, whose other parts are made but perhaps the account.
func NewEvents(p *Parts) *Events {
	return &Events{kinds: kinds(p), file: p.Ledger.File, mirrors: p.Mirrors, urls: p.URLs}
}

// Trace makes the outcomes of running visits appear in the traces of a crawl; nil: there are none.
func (s *Events) Trace(traces *tracing.Crawl) { s.traces = traces }

// Apply applies one event. What it does is safe to repeat, because a crash applies it again. sent
// is the server's time of the event.
func (s *Events) Apply(e *crawl.Event, sent, now time.Time) error {
	s.urls.CountEvent()
	s.file.Applying(sent)
	defer s.file.Applying(time.Time{})
	s.file.Phase.Saw(e.Visit)
	ev := &event{Event: e, sent: sent, at: sent, now: now}
	if sent.IsZero() || sent.After(now) {
		ev.at = now
	}
	for _, k := range s.kinds {
		if err := k.apply(ev); err != nil {
			return err
		}
	}
	return s.mirrors.Flush(now)
}
