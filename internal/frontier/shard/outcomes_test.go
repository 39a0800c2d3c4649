package shard

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A result counts once, and its host may be visited again a delay later.
func TestAnOutcomeFreesItsHost(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		r.links("http://a.example/", "http://a.example/2")
		v := r.visit()
		r.report(v, stored)
		h := r.Ledger.Hosts["a.example"]
		if c := r.Ledger.Meta.Counts; c.Stored != 2 || c.Queued != 0 || h.Stored != 2 || h.Fetched != 2 {
			t.Errorf("%+v, host %d stored, %d fetched", c, h.Stored, h.Fetched)
		}
		if h.Visit != nil || len(r.Visits.Outstanding) != 0 || time.Until(h.Due) != time.Second {
			t.Errorf("visit %v, %d outstanding, due in %v", h.Visit, len(r.Visits.Outstanding), time.Until(h.Due))
		}
		r.wantClass("http://a.example/2", crawl.Stored, "")
	})
}

// A URL that failed for a moment is queued again, and given up after some attempts.
func TestRetriesEnd(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		r.links("http://a.example/")
		attempts := 0
		for r.Ledger.Meta.Counts.Failed == 0 && attempts < 20 {
			r.report(r.visit(), func(canon.URL) crawl.Result {
				return crawl.Result{Class: crawl.Retry, Reason: crawl.ReasonHTTP5xx, Status: 500}
			})
			attempts++
		}
		r.wantClass("http://a.example/", crawl.Failed, crawl.ReasonHTTP5xx)
		if attempts != 3 {
			t.Errorf("%d attempts", attempts)
		}
	})
}

// Redirects in a circle lead to no page.
func TestRedirectsInACircle(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		next := map[canon.URL]string{"http://a.example/1": "http://a.example/2", "http://a.example/2": "http://a.example/1"}
		r.links("http://a.example/1", "http://a.example/2")
		r.report(r.visit(), func(u canon.URL) crawl.Result {
			return crawl.Result{Class: crawl.Redirected, Reason: crawl.ReasonRedirect, Status: 302, Location: next[u]}
		})
		if c := r.Ledger.Meta.Counts; c.Redirected != 1 || c.Refused != 1 {
			t.Errorf("%+v, want one redirect, and one that leads back", c)
		}
	})
}

// What an indexer reports about a page counts if no newer visit has reported the page.
func TestReportsOfIndexers(t *testing.T) {
	const u = canon.URL("http://a.example/")
	for name, tt := range map[string]struct {
		event  func(crawl.VisitID) crawl.Event
		class  crawl.Class
		reason crawl.Reason
	}{
		"store failed": {func(crawl.VisitID) crawl.Event { return crawl.Event{StoreFailed: []string{string(u)}} }, crawl.Failed, crawl.ReasonStoreFailed},
		"removed":      {func(v crawl.VisitID) crawl.Event { return crawl.Event{Removed: []crawl.Unheld{{URL: u, Visit: v}}} }, crawl.Refused, crawl.ReasonNoindex},
		"skipped":      {func(v crawl.VisitID) crawl.Event { return crawl.Event{Skipped: []crawl.Unheld{{URL: u, Visit: v}}} }, crawl.Refused, crawl.ReasonSiteRule},
		"skipped by other rules": {func(v crawl.VisitID) crawl.Event {
			return crawl.Event{Skipped: []crawl.Unheld{{URL: u, Visit: v, Rules: 9}}}
		}, crawl.Queued, ""},
		"unreadable": {func(v crawl.VisitID) crawl.Event { return crawl.Event{Unreadable: []crawl.Unheld{{URL: u, Visit: v}}} }, crawl.Failed, crawl.ReasonUnreadable},
		"missing":    {func(v crawl.VisitID) crawl.Event { return crawl.Event{Missing: []crawl.Unheld{{URL: u, Visit: v}}} }, crawl.Queued, ""},
		"of an older visit": {func(v crawl.VisitID) crawl.Event {
			return crawl.Event{Removed: []crawl.Unheld{{URL: u, Visit: crawl.VisitID{Epoch: v.Epoch - 1, N: v.N}}}}
		}, crawl.Stored, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, spec(), func(r *rig) {
				r.links(u)
				v := r.visit()
				r.report(v, stored)
				r.event(tt.event(v.ID))
				r.wantClass(u, tt.class, tt.reason)
			})
		})
	}
}

// A page that was visited although its link is lost is accepted; one of another host is not.
func TestResultsForUnknownURLs(t *testing.T) {
	inRig(t, spec(), func(r *rig) {
		r.links("http://a.example/")
		v := r.visit()
		o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: 2}
		for _, u := range []canon.URL{"http://a.example/lost", "http://b.example/"} {
			o.Results = append(o.Results, crawl.Result{URL: u, Class: crawl.Stored, Status: 200, FetchedAt: time.Now()})
		}
		r.event(crawl.Event{Visit: v.ID, Outcome: o})
		r.wantClass("http://a.example/lost", crawl.Stored, "")
		if h, err := r.Ledger.HostNamed("b.example"); h != nil || err != nil {
			t.Errorf("b.example is known (%v)", err)
		}
	})
}
