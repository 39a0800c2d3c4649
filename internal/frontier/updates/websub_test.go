package updates

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	testFeed = "http://a.example/feed.xml"
	testHub  = "http://hub.example/"
)

// names has a feed of a.example name a hub.
func (o *open) names(feed, hub string) {
	o.t.Helper()
	h, _ := o.Host("a.example")
	o.check(o.websub.Names(h, canon.URL(feed), 1, &crawl.Feed{Hub: canon.URL(hub), Self: canon.URL(feed)}, time.Now()))
}

// topics is how many subscriptions are stored.
func (o *open) topics() int {
	o.t.Helper()
	o.Commit()
	return o.Ledger.Tx.Bucket(store.BucketWebSub).Stats().KeyN
}

// posted returns the request to a hub that was sent, and its form.
func (o *open) posted() (e crawl.AuxRequest, form url.Values) {
	o.t.Helper()
	o.upkeep()
	events, _ := o.Sent()
	if len(events[0]) != 1 || len(events[0][0].Aux) != 1 {
		o.t.Fatalf("sent %+v, want one request", events)
	}
	e = events[0][0].Aux[0]
	h, _ := o.Host(e.URL.Host())
	dressed := e
	if ok, err := o.Features.Kinds[e.Kind].Dress(h, time.Now())(&dressed); !ok || err != nil {
		o.t.Fatal(ok, err)
	}
	form, err := url.ParseQuery(dressed.Form)
	o.check(err)
	return e, form
}

// A subscription counts once the hub has verified it, until its lease ends, and its deliveries are
// links like those of the feed. The message to the hub's shard has neither callback nor secret.
func TestWebSubIsSubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, updatesSpec())
		o.Link(0, "http://a.example/")
		o.names(testFeed, testHub)
		e, form := o.posted()
		if form.Get("hub.mode") != "subscribe" || form.Get("hub.topic") != testFeed || len(form.Get("hub.secret")) != 64 || e.Form != "" || e.URL != testHub {
			t.Errorf("%+v with %v", e, form)
		}
		apply := func(w crawl.WebSub) {
			t.Helper()
			w.Topic, w.N, w.Received = testFeed, 1, time.Now()
			o.check(o.websub.Apply(&w, time.Now()))
		}
		delivery := crawl.WebSub{Mode: crawl.WebSubDeliver, URLs: []canon.URL{"http://a.example/new"}, Mods: []int64{time.Now().Unix()}}
		apply(delivery)
		if len(o.Accepted) != 0 || o.websub.Pushed(testFeed) {
			t.Errorf("accepted before the hub has verified: %+v", o.Accepted)
		}
		question := crawl.WebSubQuestion{Topic: testFeed, N: 1, Mode: "subscribe"}
		if !o.websub.Intends(&question, time.Now()) || o.websub.Intends(&crawl.WebSubQuestion{Topic: testFeed, N: 2, Mode: "subscribe"}, time.Now()) {
			t.Error("the hub asks for what was requested, and under its number only")
		}
		apply(crawl.WebSub{Mode: "subscribe", Lease: 24 * time.Hour})
		o.Reopen()
		apply(delivery)
		if len(o.Accepted) != 1 || len(o.Accepted[0].URLs) != 1 || o.Accepted[0].Source != crawl.SourceWebSub || !o.websub.Pushed(testFeed) {
			t.Errorf("accepted %+v", o.Accepted)
		}
		time.Sleep(24*time.Hour + time.Second)
		apply(delivery)
		if len(o.Accepted) != 1 || o.websub.Pushed(testFeed) {
			t.Error("it counts after its lease")
		}
	})
}

// A hub that refuses is asked again a week later.
func TestWebSubIsDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, updatesSpec())
		o.Link(0, "http://a.example/")
		o.names(testFeed, testHub)
		o.posted()
		o.check(o.websub.Apply(&crawl.WebSub{Topic: testFeed, N: 1, Mode: "denied"}, time.Now()))
		time.Sleep(Refused - time.Minute)
		o.names(testFeed, testHub)
		o.upkeep()
		if events, _ := o.Sent(); len(events) != 0 {
			t.Errorf("asked too early: %+v", events)
		}
		time.Sleep(2 * time.Minute)
		if _, form := o.posted(); form.Get("hub.mode") != "subscribe" {
			t.Errorf("%v", form)
		}
	})
}

// Any site can cause a limited number of subscriptions, at a limited number of hubs; a feed only
// counts for its own origin; and without a public URL no hub is requested.
func TestWebSubLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, updatesSpec())
		o.Link(0, "http://a.example/")
		o.names(testFeed, testHub)
		h, _ := o.Host("a.example")
		o.check(o.websub.Names(h, "http://a.example/other", 1, &crawl.Feed{Hub: testHub, Self: "http://b.example/feed"}, time.Now()))
		if n := o.topics(); n != 1 {
			t.Errorf("a feed speaks for another: %d", n)
		}
		o.names("http://a.example/"+strings.Repeat("x", 512), testHub)
		for i := range 2 * MaxPerDomain {
			o.names(fmt.Sprintf("http://a.example/%d", i), testHub)
		}
		if n := o.topics(); n != MaxPerDomain {
			t.Errorf("%d topics of a domain", n)
		}
		for i := range MaxPerHub + 10 {
			o.names(fmt.Sprintf("http://d%d.example/feed", i), testHub)
		}
		if n := o.topics(); n != MaxPerHub {
			t.Errorf("%d topics at a hub", n)
		}
		for i := range MaxHubs + 10 {
			o.names(fmt.Sprintf("http://e%d.example/feed", i), fmt.Sprintf("http://hub%d.example/", i))
		}
		if n := o.topics(); n != MaxPerHub+MaxHubs-1 {
			t.Errorf("%d topics", n)
		}
		for _, change := range []func(*crawl.Spec){
			func(s *crawl.Spec) { s.UpdatesWebSub = "" }, func(s *crawl.Spec) { s.Feeds = false }, func(s *crawl.Spec) { s.Recrawl = false },
		} {
			spec := updatesSpec()
			change(&spec)
			o := opened(t, spec)
			o.Link(0, "http://a.example/")
			if o.names(testFeed, testHub); o.topics() != 0 {
				t.Errorf("subscribed with %+v", spec)
			}
		}
	})
}
