package wellknown

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A feed is read again after half of its interval if it has changed, and after one and a half if it
// has not, between Least and Most. It may ask for a pause of a day at most. A feed whose changes a
// hub delivers is read once a day.
func TestFeedIntervals(t *testing.T) {
	const feed = canon.URL("http://a.example/feed")
	pushed, hub := false, canon.URL("")
	var feeds *Feeds
	r := newRoom(t, func(s *shardtest.Shard) []hosts.Feature {
		feeds = NewFeeds(s.Features, s.Ledger, s.Polite, s.URLs, Hubs{
			Named:  func(_ *hosts.Host, _ canon.URL, _ int, f *crawl.Feed, _ time.Time) error { hub = f.Hub; return nil },
			Pushed: func(canon.URL) bool { return pushed },
		})
		return []hosts.Feature{feeds.Feature()}
	})
	r.respec(func(s *crawl.Spec) { s.Recrawl, s.Feeds = true, true })
	h, o := r.visited("a.example")
	e := crawl.AuxRequest{Kind: crawl.AuxFeed, URL: feed, Origin: o.Origin, Hop: 1}
	r.add(e)
	if len(h.Aux) != 1 {
		t.Fatalf("%+v, want a feed that is announced to be read at once", h.Aux)
	}
	now, digest := time.Now(), uint64(0)
	// reads answers a request, and returns when the feed is read again.
	reads := func(changed bool, f crawl.Feed) time.Duration {
		t.Helper()
		if changed {
			digest++
		}
		f.Status, f.Read, f.Digest = 200, true, digest
		r.answer(h, crawl.Answer{Aux: e, Feed: &f}, now)
		record, known, err := feeds.record(feedKey(h.ID, &e))
		if err != nil || !known {
			t.Fatalf("known: %v, %v", known, err)
		}
		return record.Due.Sub(now).Round(time.Second)
	}
	for i, tt := range []struct {
		changed bool
		feed    crawl.Feed
		want    time.Duration
	}{
		{true, crawl.Feed{}, First},
		{true, crawl.Feed{}, First / 2},
		{true, crawl.Feed{}, Least},
		{true, crawl.Feed{}, Least},
		{false, crawl.Feed{}, Least * 3 / 2},
		{true, crawl.Feed{MinInterval: 6 * time.Hour}, 6 * time.Hour},
		{true, crawl.Feed{MinInterval: 1000 * time.Hour}, mostRest},
		{true, crawl.Feed{Hub: "http://hub.example/"}, Least},
	} {
		if got := reads(tt.changed, tt.feed); got != tt.want {
			t.Errorf("after reading %d: again in %v, want %v", i+1, got, tt.want)
		}
	}
	if hub != "http://hub.example/" {
		t.Errorf("the feed names the hub %q", hub)
	}
	for range 40 {
		if got := reads(false, crawl.Feed{}); got > Most {
			t.Fatalf("again in %v, want at most %v", got, Most)
		}
	}
	for range 20 {
		reads(true, crawl.Feed{})
	}
	if pushed = true; reads(true, crawl.Feed{}) != pushedRest {
		t.Errorf("the changes are delivered: again in %v, want %v", reads(true, crawl.Feed{}), pushedRest)
	}
}
