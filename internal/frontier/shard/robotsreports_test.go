package shard

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A robots.txt that redirects to another host is requested there, and its rules are awaited.
func TestRobotsThatRedirect(t *testing.T) {
	for location, want := range map[string]crawl.RobotsState{
		"http://b.example/robots.txt": crawl.RobotsPending,
		"http://a.example/robots.txt": crawl.RobotsUnavailable, // it leads back to itself
		"::":                          crawl.RobotsUnavailable,
	} {
		inRig(t, spec(), func(r *rig) {
			r.links("http://a.example/")
			v := r.visit()
			r.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{
				{Origin: v.Robots[0].Origin, State: crawl.RobotsPending, Location: location, Redirects: 1, Status: 301},
			}})
			o := r.origin("a.example")
			if pending := o.PendingOn != ""; pending != (want == crawl.RobotsPending) || !pending && o.Copy != want {
				t.Errorf("%s: pending on %q, %v, want %v", location, o.PendingOn, o.Copy, want)
			}
			if sent := len(r.Ledger.Unsent) > 0; sent != (want == crawl.RobotsPending) {
				t.Errorf("%s: a request is sent: %v", location, sent)
			}
		})
	}
}

// A response that renews a copy which is not here makes robots.txt be requested again.
func TestRobotsRenewedWithoutACopy(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		r.links("http://a.example/")
		v := r.visit()
		origin := v.Robots[0].Origin
		r.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: origin, State: crawl.RobotsParsed, Renewed: true, Digest: []byte("x"), Status: 304, Fresh: time.Hour}}})
		if o := r.origin("a.example"); o.Copy == crawl.RobotsParsed {
			t.Error("rules that are not here count as known")
		}
	})
}

// A Retry-After of a robots.txt applies to its host, but only if the host itself gave it.
func TestRetryAfterOfRobots(t *testing.T) {
	for _, own := range []bool{true, false} {
		inRig(t, spec(), func(r *rig) {
			r.links("http://a.example/")
			v := r.visit()
			ev := crawl.Event{Robots: []crawl.Robots{{Origin: canon.URL("http://a.example/").Origin(), State: crawl.RobotsUnreachable, Status: 503, RetryAfter: time.Hour}}}
			if own {
				ev.Visit = v.ID
			}
			r.event(ev)
			if wait := time.Until(r.Ledger.Hosts["a.example"].Due); (wait == time.Hour) != own {
				t.Errorf("own %v: due in %v", own, wait)
			}
		})
	}
}
