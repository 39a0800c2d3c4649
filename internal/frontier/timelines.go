package frontier

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/questions"
)

// timeline sends the last requests to a host, if the host is known and its shard is held here.
func (a answers) timeline(_ context.Context, q questions.TimelineRequest, send func(crawl.Timeline) error) error {
	if most := 2 * schedule.Keep; q.Limit <= 0 || q.Limit > most {
		q.Limit = most
	}
	s := a.shardOf(q.Host)
	if s == nil {
		return nil
	}
	var found *crawl.Timeline
	err := s.Read(func() error {
		h, err := s.Ledger.HostNamed(q.Host)
		if h == nil || err != nil {
			return err
		}
		t, err := s.Timeline.Of(h, q.Before, q.Limit)
		delay := s.Polite.DelayOf(h)
		t.DelayS, t.DelaySource = delay.D.Seconds(), delay.Source
		found = &t
		return err
	})
	if err != nil {
		return s.Ledger.Blame(err)
	}
	if found == nil {
		return nil
	}
	// When requests were sent stays visible even for forgotten URLs, because it shows whether the
	// crawl was polite.
	if gone := crawl.NewForgotten(a.spec().Forgotten); !gone.Empty() {
		for i := range found.Requests {
			if r := &found.Requests[i]; gone.HasText(r.URL) {
				r.URL = ""
			}
		}
	}
	return send(*found)
}
