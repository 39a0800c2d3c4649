package frontier

import (
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/pkg/canon"
)

const testHub = "http://hub.example/"

func webSubSpec() crawl.Spec {
	spec := feedSpec()
	spec.Updates, spec.UpdatesWebSub = true, "https://crawler.example/hooks"
	return spec
}

// hubbed reads the feed of a new bench, which names a hub.
func hubbed(t *testing.T, spec crawl.Spec) *bench {
	b := newBench(t, spec)
	b.links(0, "", "http://a.example/")
	b.announces("http://a.example/", 1, testFeed)
	v, ok := b.nextAux(crawl.AuxFeed, time.Minute)
	if !ok {
		t.Fatal("the feed is not read")
	}
	b.reads(v, crawl.Feed{Status: 200, Read: true, Entries: 1, Digest: 1, ETag: `"1"`, Hub: testHub, Self: testFeed})
	return b
}

// posted waits for the next request to the hub, and answers it.
func (b *bench) posted(within time.Duration, m crawl.RUP) (url.Values, bool) {
	b.t.Helper()
	b.outboxToLog()
	for end := time.Now().Add(within); !time.Now().After(end); {
		v, ok := b.nextAux(crawl.AuxWebSub, min(within, 30*time.Minute))
		b.outboxToLog()
		if !ok {
			continue
		}
		if v.Host != "hub.example" || len(v.URLs) != 0 {
			b.t.Fatalf("%+v", v)
		}
		f, err := url.ParseQuery(v.Aux[0].Form)
		if err != nil {
			b.t.Fatal(err)
		}
		e := v.Aux[0]
		e.Form = ""
		b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: e, RUP: m}}})
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Done: []crawl.AuxRequest{e}}})
		b.commit()
		return f, true
	}
	return nil, false
}

func (b *bench) again() {
	b.commit()
	b.crash()
	b.open()
	b.passes()
}

// WebSub §5, §7: the hub of a feed is requested in a visit to its own host; the subscription counts
// after the verification by the hub, is renewed before it ends, also by an owner that takes the
// shard over, and ended when it is not wanted any more. Neither callback nor secret is in the
// shard's file or log.
func TestWebSub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := hubbed(t, webSubSpec())
		intends := func(mode string) bool {
			return b.s.WebSub.Intends(&crawl.WebSubQuestion{Topic: testFeed, N: 1, Mode: mode}, time.Now())
		}
		left := func() bool {
			return b.s.WebSub.Left(&crawl.WebSubQuestion{Topic: testFeed, N: 1, Mode: crawl.WebSubDeliver})
		}
		deliver := func(w crawl.WebSub) {
			w.Topic, w.N, w.Received = testFeed, 1, time.Now()
			b.event(crawl.Event{WebSub: []crawl.WebSub{w}})
		}
		f, ok := b.posted(time.Hour, crawl.RUP{Status: 202})
		if !ok || f.Get("hub.mode") != "subscribe" || f.Get("hub.topic") != testFeed || !strings.HasPrefix(f.Get("hub.callback"), "https://crawler.example/hooks/websub/1/") || len(f.Get("hub.secret")) != 64 {
			t.Fatalf("%v", f)
		}
		b.again()
		if got := b.updates(crawl.SourceWebSub); got.State != "asking" || got.Requests != 1 || !intends("subscribe") || intends("unsubscribe") {
			t.Errorf("%+v", got)
		}
		// Before the verification no delivery of the hub counts, and afterwards none with another
		// number.
		deliver(crawl.WebSub{Mode: crawl.WebSubDeliver, URLs: []canon.URL{"http://a.example/early"}, Mods: []int64{0}})
		deliver(crawl.WebSub{Mode: "subscribe", Lease: 24 * time.Hour})
		b.event(crawl.Event{WebSub: []crawl.WebSub{{Topic: testFeed, N: 2, Mode: crawl.WebSubDeliver, URLs: []canon.URL{"http://a.example/other"}, Mods: []int64{0}}}})
		if got := b.updates(crawl.SourceWebSub); got.State != "subscribed" || got.Strange != 1 || got.Reported != 0 || !intends("subscribe") || intends("unsubscribe") {
			t.Errorf("%+v", got)
		}
		deliver(crawl.WebSub{Mode: crawl.WebSubDeliver, URLs: []canon.URL{"http://a.example/new", "http://b.example/foreign"}, Mods: []int64{time.Now().Unix(), 0}})
		b.again()
		if got := b.updates(crawl.SourceWebSub); got.Reported != 2 || got.Sooner != 1 || got.Reports != 1 || len(b.s.Ledger.Hosts) != 2 {
			t.Errorf("%+v; hosts %d", got, len(b.s.Ledger.Hosts))
		}
		// A delivery that is not a feed makes the feed be read at once; otherwise it is read once a
		// day.
		time.Sleep(2 * time.Minute)
		deliver(crawl.WebSub{Mode: crawl.WebSubDeliver})
		v, ok := b.nextAux(crawl.AuxFeed, 2*time.Minute)
		if !ok {
			t.Fatalf("the feed is not read: %+v, %+v, %v", b.updates(crawl.SourceFeed), b.updates(crawl.SourceWebSub), b.s.Ledger.Hosts["a.example"].Aux)
		}
		b.reads(v, crawl.Feed{Status: 304, NotModified: true})
		if next := *b.updates(crawl.SourceFeed).Next; time.Until(next) < 20*time.Hour {
			t.Errorf("a feed that a hub reports is read in %v", time.Until(next))
		}
		time.Sleep(updates.Patience)
		if intends("subscribe") {
			t.Error("confirmed long after it was asked for")
		}
		// Renewed before the lease ends.
		began := time.Now()
		f, ok = b.posted(24*time.Hour, crawl.RUP{Status: 202})
		if passed := time.Since(began); !ok || f.Get("hub.mode") != "subscribe" || passed > 23*time.Hour || passed < 12*time.Hour || b.updates(crawl.SourceWebSub).State != "subscribed" {
			t.Fatalf("%v after %v", f, passed)
		}
		deliver(crawl.WebSub{Mode: "subscribe"})
		b.respec(func(s *crawl.Spec) { s.Updates = false })
		f, ok = b.posted(time.Hour, crawl.RUP{Status: 202})
		if !ok || f.Get("hub.mode") != "unsubscribe" || f.Has("hub.secret") || !intends("unsubscribe") || left() {
			t.Fatalf("%v", f)
		}
		deliver(crawl.WebSub{Mode: "unsubscribe"})
		if got := b.updates(crawl.SourceWebSub); got.Source != "" || intends("unsubscribe") || !left() {
			t.Errorf("%+v", got)
		}
		b.again()
		secrets := []string{f.Get("hub.callback"), strings.Split(f.Get("hub.callback"), "/")[6]}
		for _, e := range b.log {
			for _, s := range secrets {
				if strings.Contains(string(e.Data), s) {
					t.Errorf("in the log: %q", e.Data)
				}
			}
		}
	})
}

// A hub that refuses, or does not verify, is requested after longer and longer times, and finally
// once a week.
func TestWebSubRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := hubbed(t, webSubSpec())
		if _, ok := b.posted(time.Hour, crawl.RUP{Status: 403, Reason: "HTTP 403: no"}); !ok {
			t.Fatal("not asked")
		}
		if _, ok := b.posted(24*time.Hour, crawl.RUP{Status: 202}); ok {
			t.Error("asked again within a day")
		}
		if got := b.updates(crawl.SourceWebSub); got.Reason != "HTTP 403: no" || got.Requests != 1 {
			t.Errorf("%+v", got)
		}
		f, ok := b.posted(10*24*time.Hour, crawl.RUP{Status: 202})
		if !ok {
			t.Fatal("not asked after a week")
		}
		b.event(crawl.Event{WebSub: []crawl.WebSub{{Topic: testFeed, N: 1, Mode: "denied", Reason: "full", Received: time.Now()}}})
		if got := b.updates(crawl.SourceWebSub); got.State != "refused" || got.Reason != "the hub refuses: full" {
			t.Errorf("%+v; %v", got, f)
		}
	})
}

// When hubs should deliver to another public URL they are informed at once, and no subscription
// counts before its verification.
func TestWebSubMovesWithItsURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := hubbed(t, webSubSpec())
		deliver := func() {
			b.event(crawl.Event{WebSub: []crawl.WebSub{{Topic: testFeed, N: 1, Mode: "subscribe", Lease: 24 * time.Hour, Received: time.Now()}}})
		}
		if _, ok := b.posted(time.Hour, crawl.RUP{Status: 202}); !ok {
			t.Fatal("not asked")
		}
		deliver()
		b.respec(func(s *crawl.Spec) { s.MaxPages = 5000 })
		if _, ok := b.posted(time.Hour, crawl.RUP{Status: 202}); ok || b.updates(crawl.SourceWebSub).State != "subscribed" {
			t.Fatal("asked again, and nothing has changed")
		}
		b.respec(func(s *crawl.Spec) { s.UpdatesWebSub = "https://elsewhere.example" })
		f, ok := b.posted(time.Hour, crawl.RUP{Status: 202})
		if !ok || f.Get("hub.mode") != "subscribe" || !strings.HasPrefix(f.Get("hub.callback"), "https://elsewhere.example/websub/1/") {
			t.Fatalf("%v, %v", ok, f)
		}
		if got := b.updates(crawl.SourceWebSub); got.State != "asking" {
			t.Errorf("%+v", got)
		}
		deliver()
		if got := b.updates(crawl.SourceWebSub); got.State != "subscribed" {
			t.Errorf("%+v", got)
		}
	})
}

// The hub of a feed is the one that this feed names, not that of another feed of its origin; and
// once a day it may be another.
func TestWebSubHubMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := hubbed(t, webSubSpec())
		if _, ok := b.posted(time.Hour, crawl.RUP{Status: 202}); !ok {
			t.Fatal("not asked")
		}
		names := func(feed canon.URL, hub canon.URL, want canon.URL) {
			t.Helper()
			if err := b.s.WebSub.Names(b.s.Ledger.Hosts["a.example"], feed, 1, &crawl.Feed{Hub: hub, Self: testFeed}, time.Now()); err != nil {
				t.Fatal(err)
			}
			b.commit()
			if v := b.s.Ledger.Tx.Bucket(store.BucketWebSub); v.Stats().KeyN != 1 {
				t.Errorf("%d topics", v.Stats().KeyN)
			} else if _, r := v.Cursor().First(); !strings.Contains(string(r), `"hub":"`+string(want)+`"`) {
				t.Errorf("%s, want %s", r, want)
			}
		}
		names(testFeed, "http://hub2.example/", testHub)
		time.Sleep(25 * time.Hour)
		names("http://a.example/~mallory/feed", "http://hub2.example/", testHub)
		left := func(n int) bool {
			return b.s.WebSub.Left(&crawl.WebSubQuestion{Topic: testFeed, N: n, Mode: crawl.WebSubDeliver})
		}
		if left(1) {
			t.Error("the hub is left while the feed names it")
		}
		names(testFeed, "http://hub2.example/", "http://hub2.example/")
		if !left(1) || left(2) {
			t.Errorf("the hub before is left: %v, the other: %v", left(1), left(2))
		}
		names(testFeed, testHub, "http://hub2.example/")
	})
}
