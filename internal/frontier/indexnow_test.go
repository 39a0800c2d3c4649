package frontier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/pkg/canon"
)

// reported submits URLs of a.example with a key.
func (b *bench) reported(key string, urls ...string) {
	b.t.Helper()
	s := crawl.IndexNow{Key: key, KeyURL: canon.URL("http://a.example/" + key + ".txt"), Received: time.Now()}
	s.Origin = s.KeyURL.Origin()
	for _, u := range urls {
		s.URLs = append(s.URLs, canon.URL(u))
	}
	b.event(crawl.Event{Reported: []crawl.IndexNow{s}})
}

// holds answers the auxiliary request for a key file with a body.
func (b *bench) holds(v crawl.Visit, body string) {
	b.t.Helper()
	k := crawl.KeyFile{Key: body}
	if body == "" {
		k.Reason = "its key file: HTTP 404"
	}
	b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: v.Aux[0], KeyFile: &k}}})
	b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Done: v.Aux}})
	b.commit()
}

func (b *bench) indexNow() (info crawl.UpdatesInfo) {
	h := b.s.ledger.Hosts["a.example"]
	for _, u := range b.s.Account.UpdatesInfos(h) {
		if u.Source == "indexnow" {
			info = u
		}
	}
	return info
}

// Formats §8.33: what is submitted counts once the site is seen to have the key, also when all
// that knew of it crashed between; then it is asked for no sooner than its delay allows.
func TestUsage_8_33_Proved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Recrawl = true
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		again := func() { // opened again after a crash
			b.commit()
			b.crash()
			b.open()
			b.passes()
		}
		b.reported("12345678", "http://a.example/new", "http://a.example/", "http://b.example/other")
		b.reported("12345678", "http://a.example/new", "http://a.example/newer")
		again()
		if got := b.indexNow(); got.State != "asking" || got.Reported != 0 {
			t.Errorf("%+v", got)
		}
		if v := b.grant(1); len(v) != 0 {
			t.Fatalf("asked at once, before its delay: %+v", v)
		}
		time.Sleep(2 * time.Second)
		v := b.grant(1)
		if len(v) != 1 || len(v[0].URLs) != 0 || len(v[0].Aux) != 1 || v[0].Aux[0].URL != "http://a.example/12345678.txt" || v[0].Aux[0].Kind != crawl.AuxIndexNow {
			t.Fatalf("%+v", v)
		}
		b.holds(v[0], "12345678")
		again()
		if got := b.indexNow(); got.State != "proved" || got.Reported != 4 || got.Strange != 1 {
			t.Errorf("%+v", got)
		}
		var urls []string
		for range 3 {
			time.Sleep(2 * time.Hour)
			for _, v := range b.grant(1) {
				for _, u := range v.URLs {
					urls = append(urls, string(u.URL))
				}
				b.finish(v, crawl.Stored, "")
			}
		}
		all := strings.Join(urls, " ")
		for _, u := range []string{"http://a.example/new", "http://a.example/newer"} {
			if !strings.Contains(all+" ", u+" ") {
				t.Errorf("%s is not asked for: %s", u, all)
			}
		}
		// The key is known now, for a week: no more requests for it.
		b.reported("12345678", "http://a.example/newest")
		for _, e := range b.s.ledger.Hosts["a.example"].Aux {
			t.Errorf("asked for %+v", e)
		}
		if got := b.indexNow(); got.Reported != 5 {
			t.Errorf("%+v", got)
		}
		// After a week it is requested again, whatever others have submitted since.
		time.Sleep(updates.KeyLife)
		for i := range 5 {
			b.reported(fmt.Sprintf("other-%d", i), "http://a.example/x")
		}
		b.reported("12345678", "http://a.example/last")
		asked := 0
		for _, e := range b.s.ledger.Hosts["a.example"].Aux {
			if e.Kind == crawl.AuxIndexNow {
				asked++
			}
		}
		if got := b.indexNow(); got.State != "asking" || got.Reported != 5 || asked != updates.MaxTries+1 {
			t.Errorf("after a week: %+v, asked for %d", got, asked)
		}
	})
}

// A key file that cannot be fetched at the moment does not lose the submissions that wait for it:
// it is requested again when its site submits again, and a submission counts from its last time.
func TestIndexNowLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		spec.Recrawl = true
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		b.reported("12345678", "http://a.example/one")
		time.Sleep(time.Minute)
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: v.Aux[0], KeyFile: &crawl.KeyFile{Reason: "its key file: HTTP 503", Again: true}}}})
		b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Done: v.Aux}})
		b.commit()
		if got := b.indexNow(); got.State != "asking" || got.Strange != 0 || len(b.s.ledger.Hosts["a.example"].Aux) != 0 {
			t.Errorf("%+v", got)
		}
		b.reported("12345678", "http://a.example/two")
		time.Sleep(time.Minute)
		v = b.grant(1)[0]
		b.holds(v, "12345678")
		if got := b.indexNow(); got.State != "proved" || got.Reported != 2 || got.Strange != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Nobody can cause more than three requests a day for key files of a site, or more waiting
// submissions than the bound; a submission with a wrong key, or for a host that the crawl does not
// know, has no effect.
func TestUsage_8_33_Flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.event(crawl.Event{Reported: []crawl.IndexNow{{Origin: canon.URL("http://z.example/").Origin(), Key: "12345678", KeyURL: "http://z.example/12345678.txt",
			URLs: []canon.URL{"http://z.example/"}, Received: time.Now()}}})
		if len(b.s.ledger.Hosts) != 0 {
			t.Errorf("a host that nobody links to is known: %v", b.s.ledger.Hosts)
		}
		b.links(0, "", "http://a.example/")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		asked := 0
		for round := range 8 {
			for i := range 100 {
				var urls []string
				for j := range 200 {
					urls = append(urls, fmt.Sprintf("http://a.example/%d/%d/%s", i, j, strings.Repeat("x", 100)))
				}
				b.reported(fmt.Sprintf("key-%05d", i%50), urls...)
			}
			if n := len(b.s.ledger.Hosts["a.example"].Aux); n > updates.MaxTries {
				t.Fatalf("%d auxiliary requests", n)
			}
			time.Sleep(time.Minute)
			for _, v := range b.grant(1) {
				if len(v.URLs) > 0 {
					t.Fatalf("%+v", v)
				}
				for _, e := range v.Aux {
					asked++
					k := crawl.KeyFile{Reason: "its key file: HTTP 404"}
					b.event(crawl.Event{Visit: v.ID, Answers: []crawl.Answer{{Aux: e, KeyFile: &k}}})
				}
				b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Requests: len(v.Aux), Done: v.Aux}})
				b.commit()
			}
			if round == 3 {
				b.crash()
				b.open()
				b.passes()
			}
		}
		if asked != updates.MaxTries {
			t.Errorf("%d key files were asked for within minutes", asked)
		}
		if got := b.indexNow(); got.Reported != 0 || got.State != "refused" || got.Strange != 8*100*200 || got.Reason == "" {
			t.Errorf("%+v", got)
		}
		time.Sleep(24 * time.Hour)
		b.reported("12345678", "http://a.example/new")
		if got := b.indexNow(); got.State != "asking" {
			t.Errorf("the next day: %+v", got)
		}

		// The waiting submissions of one key are bounded.
		for i := range 30 {
			var urls []string
			for j := range 1000 {
				urls = append(urls, fmt.Sprintf("http://a.example/%d", i*1000+j))
			}
			b.reported("12345678", urls...)
		}
		h := b.s.ledger.Hosts["a.example"]
		r, err := b.s.IndexNow.Of(h, h.Origins[0].Origin)
		if err != nil || len(r.IndexNowWaiting) != 1 || r.IndexNowWaiting[0].URLs != updates.MaxURLs {
			t.Errorf("%d keys wait; %v", len(r.IndexNowWaiting), err)
		}
		waits := func() (n int) { return b.s.ledger.Tx.Bucket(store.BucketIndexNowURLs).Stats().KeyN }
		b.commit()
		if n := waits(); n != 11 { // and the previous one

			t.Errorf("%d parts wait", n)
		}
		time.Sleep(updates.WaitLife + 25*time.Hour) // nobody has requested the file
		if err := b.s.Features.Upkeep(time.Now()); err != nil {
			t.Fatal(err)
		}
		b.commit()
		if n := waits(); n != 0 {
			t.Errorf("%d parts wait after a week", n)
		}
	})
}
