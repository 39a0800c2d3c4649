package schedule

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A visit has the URLs of one host, those with the lowest depth first. The host has no other visit
// before that one ends.
func TestGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		if got := o.grant(9); len(got) != 0 {
			t.Fatalf("an empty shard grants %+v", got)
		}
		o.Link(2, "http://a.example/deep")
		o.Link(0, "http://a.example/")
		o.Link(1, "http://a.example/one", "http://a.example/two", "https://a.example/secure")
		v := o.one()
		want := []canon.URL{"http://a.example/", "http://a.example/one", "http://a.example/two", "https://a.example/secure", "http://a.example/deep"}
		if got := urlsOf(v); v.Host != "a.example" || !slices.Equal(got, want) || v.Delay != time.Second || v.Lease != times.Lease {
			t.Errorf("granted %v of %s, want %v", got, v.Host, want)
		}
		if len(v.Robots) != 2 || v.Robots[0].State != crawl.RobotsUnavailable {
			t.Errorf("the visit knows of the robots.txt of its origins: %+v", v.Robots)
		}
		if o.URLs.InFlight != int64(len(want)) || o.visits.Outstanding[v.ID] == nil {
			t.Errorf("%d URLs in flight", o.URLs.InFlight)
		}
		o.Link(1, "http://a.example/three")
		o.Link(1, "http://b.example/")
		if v := o.one(); v.Host != "b.example" {
			t.Errorf("two visits to %s at the same time", v.Host)
		}
		o.visits.EndVisit(o.visits.Outstanding[v.ID])
		if n := o.URLs.InFlight; n != 1 {
			t.Errorf("%d URLs in flight after the visit, want that of the other host", n)
		}
	})
}

// No visit takes longer than a request for visits may wait, however slow its host is.
func TestGrantFitsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			delay time.Duration
			most  int64 // pages of a host; 0: no limit
			want  int
		}{
			{delay: time.Second, want: int(min(polite.VisitSpan/time.Second, polite.MaxVisitURLs))},
			{delay: polite.VisitSpan / 3, want: 3},
			{delay: 2 * polite.VisitSpan, want: 1},
			{delay: time.Second, most: 2, want: 2},
		} {
			spec := shardtest.Spec()
			spec.Delay, spec.MaxPagesPerHost = c.delay, c.most
			o := opened(t, spec)
			for i := range polite.MaxVisitURLs + 9 {
				o.Link(0, fmt.Sprintf("http://a.example/%d", i))
			}
			if got := len(o.one().URLs); got != c.want {
				t.Errorf("%+v: %d URLs in a visit", c, got)
			}
		}
	})
}

// A paused crawl grants nothing, and neither does one whose page budget is spent.
func TestGrantMayNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := shardtest.Spec()
		spec.Paused = true
		o := opened(t, spec)
		o.Link(0, "http://a.example/")
		if got := o.grant(1); len(got) != 0 || !o.visits.NextDue(time.Now()).IsZero() {
			t.Errorf("a paused crawl grants %+v", got)
		}
		o = opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		o.Ledger.NoPagesUntil(time.Now().Add(time.Minute))
		if got := o.grant(1); len(got) != 0 {
			t.Errorf("a spent budget grants %+v", got)
		}
		time.Sleep(time.Minute)
		o.one()
	})
}

// A lease that is renewed goes on. One that is not ends, and its host then waits for a whole delay.
func TestLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		o.Link(0, "http://b.example/")
		visits := o.grant(2)
		time.Sleep(times.OwnerLease - time.Second)
		unknown := crawl.VisitID{Epoch: 7}
		if got := o.visits.Renew([]crawl.VisitID{visits[0].ID, unknown}, time.Now()); !slices.Equal(got.Lost, []crawl.VisitID{unknown}) || got.Lease != times.Lease {
			t.Errorf("renewed: %+v, want all but the unknown visit", got)
		}
		time.Sleep(2 * time.Second)
		now := time.Now()
		if err := o.visits.Expire(now); err != nil {
			t.Fatal(err)
		}
		if o.visits.Outstanding[visits[0].ID] == nil || o.visits.Outstanding[visits[1].ID] != nil || len(o.visits.Expired) != 1 {
			t.Errorf("outstanding %v, expired %v", o.visits.Outstanding, o.visits.Expired)
		}
		if n := o.visits.Slots(now); n != 2 {
			t.Errorf("%d pages count against the budget, want the running one and the expired one", n)
		}
		h, _ := o.Host(visits[1].Host)
		if want := now.Add(time.Second); !h.Due.Equal(want) || h.Visit != nil {
			t.Errorf("its host is due at %v, want %v", h.Due, want)
		}
		o.visits.Ended(visits[1].ID)
		if n := o.visits.Slots(now); n != 1 {
			t.Errorf("%d pages count against the budget once its outcome has arrived", n)
		}
	})
}

// The visits of a shard that is handed over go on under its next owner, with the same URLs.
func TestVisitsAreHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/", "http://a.example/x")
		v := o.one()
		if err := o.visits.Save(); err != nil {
			t.Fatal(err)
		}
		o.Reopen()
		list, err := TakeSaved(o.Ledger.Tx)
		if err != nil || len(list) != 1 {
			t.Fatalf("saved %+v, %v", list, err)
		}
		if err := o.visits.CarryOn(list, time.Now()); err != nil {
			t.Fatal(err)
		}
		h, _ := o.Host("a.example")
		got := o.visits.Outstanding[v.ID]
		if got == nil || got.Host != h || h.Visit != got || len(got.List) != 2 || got.List[0].URL != "http://a.example/" {
			t.Errorf("carried on as %+v", got)
		}
		if again, err := TakeSaved(o.Ledger.Tx); err != nil || len(again) != 0 {
			t.Errorf("the table is taken twice: %+v, %v", again, err)
		}
		if more := o.grant(1); len(more) != 0 {
			t.Errorf("its host has a second visit: %+v", more)
		}
	})
}

// A download is a visit without URLs: it waits for its turn at the host like any other.
func TestDownloadTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		h, i := o.Host("a.example")
		origin := h.Origins[i].Origin
		download := func() *crawl.Visit {
			v, err := o.visits.Download(origin, "", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		v := o.one()
		if d := download(); d != nil {
			t.Errorf("during another visit: %+v", d)
		}
		o.visits.EndVisit(o.visits.Outstanding[v.ID])
		h.DelayUntil(time.Now().Add(time.Second), "")
		if d := download(); d != nil {
			t.Errorf("before the delay of its host: %+v", d)
		}
		time.Sleep(time.Second + DownloadQuota)
		d := download()
		if d == nil || len(d.URLs) != 0 || len(d.Robots) != 1 || d.Host != "a.example" || h.Visit == nil {
			t.Fatalf("afterwards: %+v", d)
		}
	})
}

// What pages of one party need of another one has an allowance, which a restart does not renew.
// What they need of their own party has none.
func TestVisitsThatPagesNeedHaveAnAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://api.other.example/")
		h, i := o.Host("api.other.example")
		origin := h.Origins[i].Origin
		visit := func(by canon.Host) bool {
			v, err := o.visits.Download(origin, by, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if v != nil {
				o.visits.EndVisit(o.visits.Outstanding[v.ID])
				h.Due = time.Time{}
				h.Quota.TookVisit(false)
			}
			return v != nil
		}
		n := 0
		for range polite.CausedByPages.Burst + 5 {
			if visit("www.pages.example") {
				n++
			}
		}
		if n != polite.CausedByPages.Burst {
			t.Errorf("%d visits at once, not %d", n, polite.CausedByPages.Burst)
		}
		if visit("other-name.pages.example") {
			t.Error("another name of the same domain has an allowance of its own")
		}
		if !visit("www.other.example") || !visit("") || !visit("third.example") {
			t.Error("a page of the same domain, the operator, or another domain has to wait")
		}
		time.Sleep(polite.CausedByPages.Every)
		if !visit("www.pages.example") || visit("www.pages.example") {
			t.Error("it is not one more after its time")
		}
	})
}

// Names that pages invent are limited like those of links.
func TestNamesThatPagesInvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		n := 0
		for i := range 5000 {
			v, err := o.visits.Download(canon.Origin{Scheme: "http", Host: canon.Host(fmt.Sprintf("n%d.evil.example", i)), Port: 80}, "www.evil.example", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if v != nil {
				n++
			}
		}
		if n == 0 || n > 1000 {
			t.Errorf("%d of 5,000 names are visited", n)
		}
	})
}
