package frontier

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// channel returns the record of what a source reports about http://a.example.
func (b *bench) channel(by crawl.Source) urls.Channel {
	b.t.Helper()
	h := b.s.Ledger.Hosts["a.example"]
	c, err := b.s.Recrawl.Channel(h, &h.Origins[0], by)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

// updates returns the line of `curtsy updates` about a.example and a source; empty if there is
// none.
func (b *bench) updates(source crawl.Source) (info crawl.UpdatesInfo) {
	for _, u := range b.s.Account.UpdatesInfos(b.s.Ledger.Hosts["a.example"]) {
		if u.Source == source.String() {
			info = u
		}
	}
	return info
}

const testFeed = "http://a.example/feed.xml"

func feedSpec() crawl.Spec {
	spec := testSpec("http://a.example/")
	spec.Recrawl, spec.Feeds = true, true
	return spec
}

// announces makes a page announce feeds.
func (b *bench) announces(page string, depth int, urls ...string) {
	b.t.Helper()
	ev := crawl.Event{}
	for _, u := range urls {
		ev.Aux = append(ev.Aux, crawl.AuxRequest{Kind: crawl.AuxFeed, URL: canon.URL(u), Origin: canon.URL(page).Origin(), Hop: depth})
	}
	b.event(ev)
}

// nextAux waits for the next auxiliary request of a kind and returns its visit; everything else
// that is granted meanwhile is answered as unchanged.
func (b *bench) nextAux(kind crawl.AuxKind, within time.Duration) (v crawl.Visit, ok bool) {
	b.t.Helper()
	step, begin := time.Minute, time.Now()
	for end := begin.Add(within); !time.Now().After(end); time.Sleep(max(min(b.untilDue(), step), time.Second)) {
		if time.Since(begin) > 2*time.Hour { // for waits of days, larger steps suffice
			step = 10 * time.Minute
		}
		if err := b.s.Features.Upkeep(time.Now()); err != nil {
			b.t.Fatal(err)
		}
		for _, v := range b.grant(1) {
			i := slices.IndexFunc(v.Aux, func(e crawl.AuxRequest) bool { return e.Kind == kind })
			if i >= 0 {
				v.Aux[0], v.Aux[i] = v.Aux[i], v.Aux[0]
			}
			for _, e := range v.Aux[min(i+1, 1):] { // these stay unanswered
				b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Partial: true, Done: []crawl.AuxRequest{e}}})
			}
			if i >= 0 {
				v.Aux = v.Aux[:1]
				return v, true
			}
			b.answer(v, says(version(1)))
		}
	}
	return v, false
}

// reads answers an auxiliary request for a feed.
func (b *bench) reads(v crawl.Visit, f crawl.Feed, links ...crawl.Links) {
	b.t.Helper()
	f.Scope = b.s.Ledger.Judge.Spec.ScopeHash()
	a := crawl.Answer{Aux: v.Aux[0], Feed: &f}
	b.event(crawl.Event{Visit: v.ID, Links: links})
	b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{a}})
	b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Done: v.Aux[:1]}})
	b.commit()
}

// A feed that pages announce is read at once and then as often as it changes, with its last
// validators, also by an owner that takes the shard over after a crash. New URLs in it are queued
// at its depth; those that it reports as changed are fetched again soon.
func TestFeedIsReadAsOftenAsItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, feedSpec())
		b.links(0, "", "http://a.example/")
		b.announces("http://a.example/", 3, testFeed)
		b.announces("http://a.example/", 1, testFeed)
		v, ok := b.nextAux(crawl.AuxFeed, time.Minute)
		if !ok || len(v.Aux) != 1 || v.Aux[0].URL != testFeed || v.Aux[0].ETag != "" {
			t.Fatalf("%+v", v)
		}
		reported := func(mod time.Time, urls ...canon.URL) crawl.Links {
			l := crawl.Links{FoundOn: testFeed, Depth: 1, Source: crawl.SourceFeed, URLs: urls}
			for range urls {
				l.Mods = append(l.Mods, mod.Unix())
			}
			return l
		}
		b.reads(v, crawl.Feed{Status: 200, Read: true, Entries: 1, Digest: 1, ETag: `"1"`}, reported(time.Now(), "http://a.example/new"))
		if got := b.updates(crawl.SourceFeed); got.State != "read" || got.Reported != 1 || got.Requests != 1 || got.Sooner != 1 || got.Channel != "poll" {
			t.Errorf("%+v", got)
		}
		last, digest := time.Now(), uint64(1)
		round := func(f crawl.Feed, links ...crawl.Links) time.Duration {
			t.Helper()
			b.commit()
			b.crash()
			b.open()
			b.passes()
			v, ok := b.nextAux(crawl.AuxFeed, 20*24*time.Hour)
			if !ok || v.Aux[0].ETag != fmt.Sprintf(`"%d"`, digest) || v.Aux[0].Hop != 1 {
				t.Fatalf("%+v, %v", v, ok)
			}
			passed := time.Since(last)
			last = time.Now()
			if f.Read {
				digest++
				f.Digest, f.ETag = digest, fmt.Sprintf(`"%d"`, digest)
			}
			b.reads(v, f, links...)
			return passed.Round(time.Minute)
		}
		var waits []time.Duration
		for range 5 {
			waits = append(waits, round(crawl.Feed{Status: 200, Read: true, Entries: 1}, reported(time.Now(), "http://a.example/")))
		}
		for range 19 {
			waits = append(waits, round(crawl.Feed{Status: 304, NotModified: true}))
		}
		text := fmt.Sprint(waits)
		if !strings.HasPrefix(text, "[1h0m0s 30m0s 15m0s 15m0s 15m0s 15m0s 23m0s ") || waits[len(waits)-1] > wellknown.Most+time.Hour || waits[len(waits)-1] < wellknown.Most/2 {
			t.Errorf("waits: %v", waits)
		}
		// What the feed reported about the root was wrong each time: the page was the same.
		if c := b.channel(crawl.SourceFeed); c.Looked == 0 || c.Confirmed != 0 || b.channel(crawl.SourceSitemap).Looked != 0 {
			t.Errorf("%+v", c)
		}
		if got := b.updates(crawl.SourceFeed); got.Requests != 25 || got.Wrong == 0 || got.Wrong != got.Looked {
			t.Errorf("%+v", got)
		}
		// It is not read if that is switched off.
		b.respec(func(s *crawl.Spec) { s.Feeds = false })
		if v, ok := b.nextAux(crawl.AuxFeed, 20*24*time.Hour); ok {
			t.Errorf("%+v", v)
		}
		b.respec(func(s *crawl.Spec) { s.Feeds = true })
		if _, ok := b.nextAux(crawl.AuxFeed, time.Hour); !ok {
			t.Error("it is not read again")
		}
	})
}

// A feed that repeatedly reports pages as changed that were not loses its trust; a sitemap of the
// same origin does not.
func TestFeedThatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := freshBench(t)
		say := func(by crawl.Source) {
			b.event(crawl.Event{Links: []crawl.Links{{Depth: 1, Source: by, URLs: []canon.URL{"http://a.example/"}, Mods: []int64{time.Now().Unix()}}}})
		}
		n := 0
		for began := time.Now(); time.Since(began) < 30*24*time.Hour; time.Sleep(time.Hour) {
			say(crawl.SourceFeed)
			for _, v := range b.grant(1) {
				b.answer(v, says(same))
				n++
			}
		}
		if c := b.channel(crawl.SourceFeed); !c.Distrusted() || n < urls.HintsTried || n > urls.HintsTried+10 {
			t.Errorf("asked for %d times in 30 days on the word of a feed: %+v", n, c)
		}
		say(crawl.SourceSitemap)
		time.Sleep(2 * time.Hour)
		if v := b.grant(1); len(v) != 1 {
			t.Errorf("a sitemap lost its trust because of a feed: %+v", v)
		}
	})
}

// What is not a feed is not read for a week, and then only if it is announced again. What cannot be
// fetched is retried after longer and longer times. A limited number of feeds is known per host,
// and fewer of those on other hosts; a feed that is out of scope is not read, and none of a mirror.
func TestFeedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := feedSpec()
		spec.Scope = "domain"
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		b.announces("http://a.example/", 1, testFeed, "http://elsewhere.test/feed")
		v, ok := b.nextAux(crawl.AuxFeed, time.Minute)
		if !ok {
			t.Fatal("not read")
		}
		b.reads(v, crawl.Feed{Status: 404, Reason: "HTTP 404"})
		if got := b.updates(crawl.SourceFeed); got.State != "gone" || got.Reason == "" {
			t.Errorf("%+v", got)
		}
		b.announces("http://a.example/", 1, testFeed)
		if v, ok := b.nextAux(crawl.AuxFeed, wellknown.Gone+24*time.Hour); ok {
			t.Fatalf("%+v", v)
		}
		if b.updates(crawl.SourceFeed).Source != "" || len(b.s.Ledger.Hosts) != 1 {
			t.Errorf("known: %v", b.s.Ledger.Hosts)
		}
		b.announces("http://a.example/", 1, testFeed)
		var waits []time.Duration
		for last := time.Now(); len(waits) < 9; last = time.Now() {
			v, ok := b.nextAux(crawl.AuxFeed, 3*24*time.Hour)
			if !ok {
				break
			}
			waits = append(waits, time.Since(last))
			b.reads(v, crawl.Feed{Status: 503, Again: true, Reason: "overload"})
		}
		if len(waits) != 9 || waits[8] < 12*time.Hour || waits[2] > time.Hour {
			t.Errorf("tried after %v", waits)
		}
		if got := b.updates(crawl.SourceFeed); got.State != "gone" {
			t.Errorf("%+v", got)
		}

		var many []string
		for i := range 2 * wellknown.MaxOwn {
			many = append(many, fmt.Sprintf("http://a.example/feed-%d", i))
		}
		b.announces("http://a.example/", 1, many...)
		b.announces("http://www.a.example/", 1, many...)
		count := map[string]int{}
		for _, e := range b.s.Ledger.Hosts["a.example"].Aux {
			count[string(e.Origin.Host)]++
		}
		if count["a.example"] != wellknown.MaxOwn-1 || count["www.a.example"] != wellknown.MaxForeign {
			t.Errorf("%v", count)
		}
		if n := b.s.Ledger.Tx.Bucket(store.BucketFeeds).Stats().KeyN; n > wellknown.MaxOwn+wellknown.MaxForeign {
			t.Errorf("%d feeds are known", n)
		}
		b.respec(func(s *crawl.Spec) { s.Forgotten = []string{"http://a.example/feed-1"} })
		b.commit()
		for range 2 * wellknown.MaxOwn {
			v, ok := b.nextAux(crawl.AuxFeed, 5*time.Minute)
			if !ok {
				break
			}
			for _, e := range v.Aux {
				if strings.HasPrefix(string(e.URL), "http://a.example/feed-1") {
					t.Errorf("read although it is forgotten: %s", e.URL)
				}
			}
			b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: len(v.Aux), Done: v.Aux}})
		}
	})
}

// After a change of the clock, what was due in an hour is still due in an hour, and what a clock
// far ahead had postponed is read now.
func TestFeedsAndAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, feedSpec())
		b.links(0, "", "http://a.example/")
		b.announces("http://a.example/", 1, testFeed)
		v, _ := b.nextAux(crawl.AuxFeed, time.Minute)
		b.reads(v, crawl.Feed{Status: 200, Read: true, Entries: 1, Digest: 1})
		h := b.s.Ledger.Hosts["a.example"]
		next := func() time.Time { return *b.updates(crawl.SourceFeed).Next }
		due := next()
		if err := restore.ShiftTimes(b.s.Ledger.Tx, 400*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := next().Sub(due); got != 400*24*time.Hour {
			t.Errorf("moved by %v", got)
		}
		if k, _ := b.s.Ledger.Tx.Bucket(store.BucketFeedsDue).Cursor().First(); string(k[8:12]) != string(h.ID.Append(nil)) || !strings.Contains(string(k), testFeed) {
			t.Errorf("key %q", k)
		}
		b.s.Ledger.Changes++
		b.commit()
		b.crash()
		b.open()
		if _, ok := b.nextAux(crawl.AuxFeed, 2*time.Hour); !ok {
			t.Error("a feed is put off for a year")
		}
	})
}
