package updates

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// submits submits URLs of a.example with a key.
func (o *open) submits(key string, all ...string) {
	o.t.Helper()
	s := crawl.IndexNow{Key: key, KeyURL: canon.URL("http://a.example/" + key + ".txt"), Received: time.Now()}
	s.Origin = s.KeyURL.Origin()
	for _, u := range all {
		s.URLs = append(s.URLs, canon.URL(u))
	}
	o.check(o.indexnow.Apply(&s, time.Now()))
}

// info is what is shown of the submissions for a.example.
func (o *open) info() crawl.UpdatesInfo {
	h, i := o.Host("a.example")
	info, _ := o.indexnow.Info(h, &h.Origins[i])
	return info
}

// holds answers a request for a key file, which contains body.
func (o *open) holds(e crawl.AuxRequest, body string) {
	o.t.Helper()
	k := crawl.KeyFile{Key: body}
	if body == "" {
		k.Reason = "its key file: HTTP 404"
	}
	o.answered(crawl.Answer{Aux: e, KeyFile: &k})
}

// What is submitted with a key counts when the site is seen to have the key, and at once while the
// key is believed. URLs of other sites never count.
func TestIndexNowProved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		begin := time.Now()
		o.submits("12345678", "http://a.example/new", "http://b.example/other")
		o.Reopen()
		if e := o.waiting(); e.Kind != crawl.AuxIndexNow || e.URL != "http://a.example/12345678.txt" {
			t.Errorf("asked for %+v", e)
		}
		if len(o.Accepted) != 0 {
			t.Fatalf("accepted before the key was seen: %+v", o.Accepted)
		}
		time.Sleep(time.Hour)
		o.holds(o.waiting(), "12345678")
		if len(o.Accepted) != 1 {
			t.Fatalf("accepted %+v", o.Accepted)
		}
		l := o.Accepted[0]
		if len(l.URLs) != 1 || l.URLs[0] != "http://a.example/new" || l.Source != crawl.SourceIndexNow || l.Mods[0] != begin.Unix() {
			t.Errorf("accepted %+v", l)
		}
		o.submits("12345678", "http://a.example/newer")
		if h, _ := o.Host("a.example"); len(o.Accepted) != 2 || len(h.Aux) != 0 {
			t.Errorf("accepted %+v, and %d requests wait", o.Accepted, len(h.Aux))
		}
		if got := o.info(); got.State != "proved" || got.Reported != 2 || got.Strange != 1 {
			t.Errorf("%+v", got)
		}
		time.Sleep(KeyLife)
		o.submits("12345678", "http://a.example/newest")
		if len(o.Accepted) != 2 {
			t.Error("an old key is still believed")
		}
		o.waiting()
	})
}

// A key file with another key, or none, proves nothing.
func TestIndexNowDisproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, body := range []string{"", "87654321"} {
			o := opened(t, shardtest.Spec())
			o.Link(0, "http://a.example/")
			o.submits("12345678", "http://a.example/new")
			o.holds(o.waiting(), body)
			if got := o.info(); len(o.Accepted) != 0 || got.State != "refused" || got.Strange != 1 || got.Reason == "" {
				t.Errorf("a key file with %q: %+v", body, got)
			}
		}
	})
}

// A key file that cannot be fetched at the moment does not lose the submissions that wait for it:
// it is requested again when its site submits again.
func TestIndexNowLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		o.submits("12345678", "http://a.example/one")
		o.answered(crawl.Answer{Aux: o.waiting(), KeyFile: &crawl.KeyFile{Reason: "its key file: HTTP 503", Again: true}})
		if h, _ := o.Host("a.example"); len(h.Aux) != 0 || o.info().State != "asking" || o.info().Strange != 0 {
			t.Errorf("%+v", o.info())
		}
		o.submits("12345678", "http://a.example/two")
		o.holds(o.waiting(), "12345678")
		if got := o.info(); got.State != "proved" || got.Reported != 2 || got.Strange != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// Nobody can cause more than three requests a day for key files of a site, or more waiting
// submissions than the bound; a submission with a wrong key, or for a host that the crawl does not
// know, has no effect.
func TestUsage_8_33_Flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.check(o.indexnow.Apply(&crawl.IndexNow{Origin: canon.URL("http://z.example/").Origin(), Key: "12345678", KeyURL: "http://z.example/12345678.txt",
			URLs: []canon.URL{"http://z.example/"}, Received: time.Now()}, time.Now()))
		if len(o.Ledger.Hosts) != 0 {
			t.Errorf("a host that nobody links to is known: %v", o.Ledger.Hosts)
		}
		o.Link(0, "http://a.example/")
		asked := 0
		for round := range 8 {
			for i := range 100 {
				var all []string
				for j := range 200 {
					all = append(all, fmt.Sprintf("http://a.example/%d/%d/%s", i, j, strings.Repeat("x", 100)))
				}
				o.submits(fmt.Sprintf("key-%05d", i%50), all...)
			}
			h, _ := o.Host("a.example")
			if n := len(h.Aux); n > MaxTries {
				t.Fatalf("%d auxiliary requests", n)
			}
			time.Sleep(time.Minute)
			for len(h.Aux) > 0 {
				asked++
				o.holds(h.Aux[0], "")
			}
			if round == 3 {
				o.Reopen()
			}
		}
		if asked != MaxTries {
			t.Errorf("%d key files were asked for within minutes", asked)
		}
		if got := o.info(); got.Reported != 0 || len(o.Accepted) != 0 || got.State != "refused" || got.Strange != 8*100*200 || got.Reason == "" {
			t.Errorf("%+v", got)
		}
		time.Sleep(24 * time.Hour)
		o.submits("12345678", "http://a.example/new")
		if got := o.info(); got.State != "asking" {
			t.Errorf("the next day: %+v", got)
		}

		// The waiting submissions of one key are bounded.
		for i := range 30 {
			var all []string
			for j := range 1000 {
				all = append(all, fmt.Sprintf("http://a.example/%d", i*1000+j))
			}
			o.submits("12345678", all...)
		}
		h, i := o.Host("a.example")
		r, err := o.indexnow.Of(h, h.Origins[i].Origin)
		if err != nil || len(r.IndexNowWaiting) != 1 || r.IndexNowWaiting[0].URLs != MaxURLs {
			t.Errorf("%d keys wait; %v", len(r.IndexNowWaiting), err)
		}
		waits := func() (n int) {
			o.Commit()
			return o.Ledger.Tx.Bucket(store.BucketIndexNowURLs).Stats().KeyN
		}
		if n := waits(); n != 11 { // and the previous one
			t.Errorf("%d parts wait", n)
		}
		time.Sleep(WaitLife + 25*time.Hour) // nobody has requested the file
		o.upkeep()
		if n := waits(); n != 0 {
			t.Errorf("%d parts wait after a week", n)
		}
	})
}
