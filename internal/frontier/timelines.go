package frontier

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/pkg/canon"
)

// timelineRequest is the question "timeline".
type timelineRequest struct {
	Host   canon.Host `json:"host"`
	Before time.Time  `json:"before,omitzero"` // requests that started before it; zero: all
	Limit  int        `json:"limit,omitempty"` // the maximum number; 0, or more than are kept: all
}

// timeline sends the last requests to a host, if that is ours and known.
func (a answers) timeline(_ context.Context, req []byte, send func(any) error) error {
	var q timelineRequest
	if err := json.Unmarshal(req, &q); err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	if most := 2 * schedule.Keep; q.Limit <= 0 || q.Limit > most {
		q.Limit = most
	}
	s := a.shardOf(q.Host)
	if s == nil {
		return nil
	}
	var found *crawl.Timeline
	err := s.locked(func() error {
		h, err := s.ledger.HostNamed(q.Host)
		if h == nil || err != nil {
			return err
		}
		t, err := s.timeline.Of(h, q.Before, q.Limit)
		delay := s.polite.DelayOf(h)
		t.DelayS, t.DelaySource = delay.D.Seconds(), delay.Source
		found = &t
		return err
	})
	if err != nil {
		return s.ledger.Blame(err)
	}
	if found == nil {
		return nil
	}
	// The fact and the time of a request are always reported, because they show whether we were
	// polite.
	if gone := crawl.NewForgotten(a.spec().Forgotten); !gone.Empty() {
		for i := range found.Requests {
			if r := &found.Requests[i]; gone.HasText(r.URL) {
				r.URL = ""
			}
		}
	}
	return send(*found)
}
