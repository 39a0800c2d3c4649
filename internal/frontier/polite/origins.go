package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/pkg/robots"
)

// State is what holds for the origin at a moment, and when its robots.txt is to be asked for next.
func State(o *hosts.Origin, now time.Time) (crawl.RobotsState, time.Time) {
	if o.PendingOn != "" {
		if again := o.PendingAt.Add(mirror.PendingMax); now.Before(again) {
			return crawl.RobotsPending, again
		}
		return crawl.RobotsUnknown, time.Time{}
	}
	d := o.History.Decide(now)
	switch {
	case d.Use == robots.UseCopy:
		return o.Copy, d.Ask
	case d.Use == robots.UseAllowAll:
		return crawl.RobotsUnavailable, d.Ask
	case o.History.Failures > 0:
		return crawl.RobotsUnreachable, d.Ask
	}
	return crawl.RobotsUnknown, time.Time{}
}

// From is when the origin may be asked for something at the earliest, its robots.txt included.
func From(o *hosts.Origin, now time.Time) (t time.Time) {
	if o.Mirror.Mirrored() && o.Mirror.Settling {
		return now.Add(hosts.CommitEvery) // what is queued is about to be the main host's
	}
	state, ask := State(o, now)
	if state == crawl.RobotsPending || state == crawl.RobotsUnreachable || Slow(o) {
		return ask // of a slow one only to see whether its robots.txt has changed
	}
	return t
}

// Slow reports that the origin asks for a longer delay than we can keep: its host is
// held, never hurried.
func Slow(o *hosts.Origin) bool {
	return o.HasDelay && o.Copy == crawl.RobotsParsed && o.CrawlDelay > CrawlDelayCap
}

// SlowOrigin returns the origin of h that asks for a longer delay than we can keep, or nil.
func SlowOrigin(h *hosts.Host) *hosts.Origin {
	for i := range h.Origins {
		if Slow(&h.Origins[i]) {
			return &h.Origins[i]
		}
	}
	return nil
}
