package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/robots"
)

// State is the state of the origin's robots.txt at a moment, and when it is to be requested next.
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

// From is the earliest time at which anything may be requested of the origin, including its
// robots.txt.
func From(o *hosts.Origin, now time.Time) (t time.Time) {
	if o.Mirror.Mirrored() && o.Mirror.Settling {
		return now.Add(store.CommitEvery) // its queued URLs are being moved to the main host
	}
	state, ask := State(o, now)
	if state == crawl.RobotsPending || state == crawl.RobotsUnreachable || Slow(o) {
		return ask // a slow origin is only asked for its robots.txt, to see whether it has changed
	}
	return t
}

// PagesFrom is the earliest time at which a page of the origin may be requested: not while a mobile
// robot is out for it, which may bring the page.
func PagesFrom(o *hosts.Origin, now time.Time) time.Time {
	return mirror.Latest(From(o, now), o.AwaitsRobot())
}

// Slow reports that the origin requests a longer delay than CrawlDelayCap. Its host is postponed.
func Slow(o *hosts.Origin) bool {
	return o.HasDelay && o.Copy == crawl.RobotsParsed && o.CrawlDelay > CrawlDelayCap
}

// SlowOrigin returns a slow origin of h, or nil.
func SlowOrigin(h *hosts.Host) *hosts.Origin {
	for i := range h.Origins {
		if Slow(&h.Origins[i]) {
			return &h.Origins[i]
		}
	}
	return nil
}
