package wellknown

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// The robots.txt files of one registered domain cause few requests a day to another host, also
// when the file is opened again between them. Beyond that they count as not available.
func TestRobotsProxiesADay(t *testing.T) {
	r := newRoom(t, func(s *shardtest.Shard) []hosts.Feature {
		return []hosts.Feature{NewRobotsProxy(s.Features, s.Ledger).Feature()}
	})
	now, n := time.Now(), 0
	// next redirects another robots.txt of a domain to b.example, and returns what is answered at
	// once.
	next := func(domain string) (answers []crawl.Answer) {
		t.Helper()
		n++
		e := crawl.AuxRequest{
			Kind: crawl.AuxRobots, URL: canon.URL(fmt.Sprintf("http://b.example/%d", n)), Hop: 1,
			Origin: canon.Origin{Scheme: "http", Host: canon.Host(fmt.Sprintf("h%d.%s", n, domain)), Port: 80},
		}
		for range 2 { // a request that waits is not counted again
			if err := r.Features.AddAux(e, now); err != nil {
				t.Fatal(err)
			}
			events, _ := r.Sent()
			for _, ev := range events[0] {
				answers = append(answers, ev.Answers...)
			}
		}
		return answers
	}
	aDay := func(when string) {
		t.Helper()
		for range MaxProxiedADay {
			if got := next("evil.example"); len(got) != 0 {
				t.Fatalf("%s, request %d: answered with %+v", when, n, got)
			}
		}
	}
	over := func(when string) {
		t.Helper()
		got := next("evil.example")
		if len(got) != 2 || got[0].Robots.State != crawl.RobotsUnavailable || got[0].Robots.Fresh != robots.MaxAge ||
			!strings.Contains(got[0].Robots.Reason, "evil.example to b.example") {
			t.Errorf("%s: %+v, want unavailable", when, got)
		}
	}
	aDay("the first day")
	over("past the limit")
	if got := next("other.example"); len(got) != 0 {
		t.Errorf("of another domain: %+v", got)
	}
	r.Reopen()
	over("opened again")
	if h, _ := r.Host("b.example"); len(h.Aux) != MaxProxiedADay+1 {
		t.Errorf("%d requests wait, want %d", len(h.Aux), MaxProxiedADay+1)
	}
	now = now.Add(24 * time.Hour)
	aDay("the next day")
	over("past the limit of the next day")
	if keys := r.Ledger.Tx.Bucket(store.BucketRobotsProxy).Inspect().KeyN; keys != 1 {
		t.Errorf("%d counts are stored, want that of today", keys)
	}
}
