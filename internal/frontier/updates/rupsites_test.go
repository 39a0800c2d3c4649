package updates

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/rup"
)

// testInfo is the /rupinfo.txt of a.example.
var testInfo = rup.Info{
	CGI: "http://a.example/cgi-bin/rup", Latency: []rup.Unit{rup.Week, rup.Day}, MaxQuerySpan: rup.Span{N: 7, Unit: rup.Day},
}

// asks returns the request to a.example that waits, and its form.
func (o *open) asks() (e crawl.AuxRequest, form url.Values) {
	o.t.Helper()
	e = o.waiting()
	h, _ := o.Host("a.example")
	if e.Kind != crawl.AuxRUP || e.Form != "" {
		o.t.Fatalf("asks for %+v", e)
	}
	dressed := e
	if ok, err := o.Features.Kinds[e.Kind].Dress(h, time.Now())(&dressed); !ok || err != nil {
		o.t.Fatal(ok, err)
	}
	form, err := url.ParseQuery(dressed.Form)
	o.check(err)
	return e, form
}

// site is the record of a.example.
func (o *open) site() *RUPSite {
	o.t.Helper()
	r := o.sites.Sites[canon.URL("http://a.example/").Origin()]
	if r == nil {
		o.t.Fatal("the site is not known")
	}
	return r
}

// registered opens a shard with a site that has accepted our registration. It reports by the day.
func registered(t *testing.T) *open {
	t.Helper()
	o := opened(t, updatesSpec())
	o.Link(0, "http://a.example/")
	e, _ := o.asks()
	if e.URL != "http://a.example/rupinfo.txt" {
		t.Fatalf("asks for %+v first", e)
	}
	body, err := testInfo.Text()
	o.check(err)
	o.answered(crawl.Answer{Aux: e, RUP: crawl.RUP{Status: 200, Body: body}})
	time.Sleep(time.Second)
	o.upkeep()
	e, form := o.asks()
	if form.Get("Action") == "" || e.URL != "http://a.example/cgi-bin/rup" {
		t.Fatalf("registers with %v at %s", form, e.URL)
	}
	o.answered(crawl.Answer{Aux: e, RUP: crawl.RUP{Status: 200, Key: "key"}})
	if r := o.site(); !r.Registered() || r.Agreed.Duration() != 24*time.Hour {
		t.Fatalf("%+v", r)
	}
	return o
}

// mails applies a report that was mailed to an address, with URLs that have changed.
func (o *open) mails(address string, number uint64, all ...canon.URL) {
	o.t.Helper()
	rep := crawl.Report{Origin: canon.URL("http://a.example/").Origin(), Address: address, Number: number, Parts: 1, Received: time.Now()}
	rep.Links = []crawl.Links{{FoundOn: "http://a.example/", Depth: 1, URLs: all}}
	o.check(o.sites.ApplyReport(&rep, time.Now()))
}

// A site with RUP is asked for its /rupinfo.txt, and then we register. From then on its reports are
// links, also for the next owner of the shard. Those of other addresses and of other sites are not.
func TestRUPSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := registered(t)
		o.Reopen()
		r := o.site()
		if !r.Registered() || r.Info.IsZero() || r.CGI == "" || r.Address == "" {
			t.Fatalf("opened again: %+v", r)
		}
		o.mails("curtsy+x@crawler.example", 1, "http://a.example/forged")
		if len(o.Accepted) != 0 || r.Strange != 1 {
			t.Errorf("a forged report: %+v, %+v", o.Accepted, r)
		}
		o.mails(r.Address, 1, "http://a.example/new", "http://b.example/foreign")
		if len(o.Accepted) != 1 || len(o.Accepted[0].URLs) != 1 || o.Accepted[0].URLs[0] != "http://a.example/new" || o.Accepted[0].Source != crawl.SourceRUP {
			t.Errorf("accepted %+v", o.Accepted)
		}
		o.mails(r.Address, 1, "http://a.example/again")
		if len(o.Accepted) != 1 {
			t.Errorf("the same report counts twice: %+v", o.Accepted)
		}
		if got := o.sites.Info(r); got.Channel != "mail" || got.State != "registered" || got.Reported != 1 || got.LastSequence != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A site without RUP is asked again a week later. An answer that is not awaited changes nothing.
func TestRUPAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, updatesSpec())
		o.Link(0, "http://a.example/")
		e, _ := o.asks()
		stray := e
		stray.Hop = rupRegister
		o.check(o.Features.ApplyAnswer(&crawl.Answer{Aux: stray, RUP: crawl.RUP{Status: 200, Key: "key"}}, time.Now(), time.Now()))
		if r := o.site(); r.Registered() || r.Requests != 0 {
			t.Errorf("an answer to no question: %+v", r)
		}
		o.answered(crawl.Answer{Aux: e, RUP: crawl.RUP{Status: 404, Reason: "HTTP 404"}})
		h, i := o.Host("a.example")
		ask := func() int {
			t.Helper()
			o.check(o.Features.AskOrigin(h, i, time.Now()))
			return len(h.Aux)
		}
		if len(o.sites.Sites) != 0 || ask() != 0 {
			t.Errorf("%d sites, %d requests", len(o.sites.Sites), len(h.Aux))
		}
		time.Sleep(rupAbsent)
		o.check(h.Origins[i].NoRobots(time.Now(), 24*time.Hour))
		if ask() != 1 {
			t.Error("not asked again")
		}
	})
}

// A failure that may be temporary is tried again, later and later.
func TestRUPRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, updatesSpec())
		o.Link(0, "http://a.example/")
		for try := 1; try <= 3; try++ {
			e, _ := o.asks()
			o.answered(crawl.Answer{Aux: e, RUP: crawl.RUP{Status: 503, Reason: "HTTP 503", Retry: true}})
			r := o.site()
			if want := time.Now().Add(polite.RetryRUP.After(try)); r.Tries != try || !r.Retry.Equal(want) {
				t.Errorf("try %d: %d tries, the next at %v, want %v", try, r.Tries, r.Retry, want)
			}
			time.Sleep(time.Until(r.Retry) - time.Second)
			o.upkeep()
			if h, _ := o.Host("a.example"); len(h.Aux) != 0 {
				t.Fatalf("try %d: asked too early", try)
			}
			time.Sleep(2 * time.Second)
			h, i := o.Host("a.example")
			o.check(h.Origins[i].NoRobots(time.Now(), 24*time.Hour))
			o.upkeep()
		}
		o.asks()
	})
}

// The reports of a site vouch for the pages that they do not name, for four latencies.
func TestRUPVouches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := registered(t)
		fetched := time.Now().Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(fetched))
		page := func(class crawl.Class) int64 {
			h, _ := o.Host("a.example")
			return o.sites.VouchedUntil(h, &urls.Record{URL: "http://a.example/p", Class: class, FetchedAt: fetched.UnixMilli(), Again: urls.Again{Pace: 5}})
		}
		if got, want := page(crawl.Stored), fetched.Add(rupPeriod*24*time.Hour).Unix(); got != want {
			t.Errorf("vouched for until %d, want %d", got, want)
		}
		if got := page(crawl.Failed); got != 0 {
			t.Errorf("vouched for a page that is not stored: %d", got)
		}
		time.Sleep(2 * 24 * time.Hour)
		o.mails(o.site().Address, 1)
		if got, want := page(crawl.Stored), time.Now().Add(rupPeriod*24*time.Hour).Unix(); got != want {
			t.Errorf("after a report vouched for until %d, want %d", got, want)
		}
		o.check(o.sites.Reindex(o.site(), time.Now()))
		if got := page(crawl.Stored); got != 0 {
			t.Errorf("vouched for until %d although all pages are to be fetched again", got)
		}
	})
}
