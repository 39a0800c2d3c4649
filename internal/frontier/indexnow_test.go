package frontier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
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
	h := b.s.Ledger.Hosts["a.example"]
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
		for _, e := range b.s.Ledger.Hosts["a.example"].Aux {
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
		for _, e := range b.s.Ledger.Hosts["a.example"].Aux {
			if e.Kind == crawl.AuxIndexNow {
				asked++
			}
		}
		if got := b.indexNow(); got.State != "asking" || got.Reported != 5 || asked != updates.MaxTries+1 {
			t.Errorf("after a week: %+v, asked for %d", got, asked)
		}
	})
}
