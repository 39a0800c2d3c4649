package visit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A visit remembers links within bounds, however long they are; what it forgets is offered again.
func TestRememberedLinksAreBounded(t *testing.T) {
	cfg, err := NewConfig(crawl.Spec{Name: "t", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy"})
	if err != nil {
		t.Fatal(err)
	}
	var o outlinks
	o.reset(1)
	long := strings.Repeat("l", 2000)
	for page := range 10 {
		var links []canon.URL
		for i := range 5000 {
			links = append(links, canon.URL(fmt.Sprintf("http://h.test/%s/%d/%d", long, page, i)))
		}
		o.add(cfg, "http://h.test/", 1, 0, links)
		o.drop(0)
		size := 0
		for u := range o.seen {
			size += len(u)
		}
		if size > maxKnown || size < maxKnown/4 && page > 0 && len(o.seen) < 100 {
			t.Fatalf("page %d: %d links of %d bytes remembered", page, len(o.seen), size)
		}
	}
	o.reset(1)
	if o.known != 0 || len(o.seen) != 0 {
		t.Errorf("%d bytes of links remembered in the next visit", o.known)
	}
}

func TestSplitLinks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var links []crawl.Links
		want := 0
		for range r.IntN(20) {
			l := crawl.Links{FoundOn: canon.URL(strings.Repeat("f", r.IntN(100)))}
			for range r.IntN(50) {
				l.URLs = append(l.URLs, canon.URL(fmt.Sprint(want, strings.Repeat("u", r.IntN(300)))))
				want++
			}
			links = append(links, l)
		}
		limit, got := 500+r.IntN(5000), 0
		splitLinks(links, limit, func(part []crawl.Links) bool {
			if n := len(crawl.AppendEvent(nil, &crawl.Event{Links: part})); n > limit+500 {
				t.Errorf("a part of %d bytes, limit %d", n, limit)
			}
			for _, l := range part {
				for _, u := range l.URLs {
					if !strings.HasPrefix(string(u), fmt.Sprint(got)) {
						t.Fatalf("link %d is %s", got, u)
					}
					got++
				}
			}
			return true
		})
		if got != want {
			t.Fatalf("%d of %d links", got, want)
		}
	}
}
