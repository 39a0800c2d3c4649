package publish

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A visit remembers so many links; what it forgets is offered again.
func TestRememberedLinksAreBounded(t *testing.T) {
	in, err := scope.New(scope.Spec{Kind: "any"})
	if err != nil {
		t.Fatal(err)
	}
	var o outlinks
	o.reset(1)
	offered := func(from, to int) (n int) {
		t.Helper()
		var links []canon.URL
		for i := from; i < to; i++ {
			links = append(links, canon.URL(fmt.Sprintf("http://h.test/%d", i)))
		}
		o.add(in, "http://h.test/", 1, 0, links)
		for _, l := range o.shards[0].links {
			n += len(l.URLs)
		}
		o.drop(0)
		if len(o.seen.slots) > mostSlots {
			t.Fatalf("%d slots", len(o.seen.slots))
		}
		return n
	}
	if n := offered(0, maxSeen); n != maxSeen {
		t.Errorf("%d of %d links were offered", n, maxSeen)
	}
	if n := offered(0, maxSeen); n != 0 {
		t.Errorf("%d of %d links were offered again", n, maxSeen)
	}
	if n := offered(maxSeen, maxSeen+1); n != 1 || o.seen.n != 1 {
		t.Errorf("%d links were offered, and %d are remembered, want 1 after one too many", n, o.seen.n)
	}
	if n := offered(0, maxSeen+1); n != maxSeen+1 {
		t.Errorf("%d of %d links were offered after they were forgotten", n, maxSeen+1)
	}
	o.reset(1)
	if n := offered(0, 10); n != 10 {
		t.Errorf("%d of 10 links were offered in the next visit", n)
	}
}

// seenLinks remembers what a map would, with the position that was set last.
func TestSeenLinksEqualAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s seenLinks
	m := map[canon.URL]position{}
	for range 20_000 {
		u, at := canon.URL(fmt.Sprint("http://h.test/", r.IntN(maxSeen))), position{r.Int32N(4), r.Int32N(4)}
		hash := hashOf(u)
		before, ok := m[u]
		switch got := s.find(hash); {
		case (got != nil) != ok || ok && *got != before:
			t.Fatalf("%s is remembered as %v, want %v, %v", u, got, before, ok)
		case ok:
			*got = at
		default:
			s.put(hash, at)
		}
		m[u] = at
	}
	if s.n != len(m) {
		t.Errorf("%d links are remembered, want %d", s.n, len(m))
	}
}

// A link is offered again only nearer to the seeds, or behind fewer redirects.
func TestNearerLinksAreOfferedAgain(t *testing.T) {
	in, err := scope.New(scope.Spec{Kind: "any"})
	if err != nil {
		t.Fatal(err)
	}
	var o outlinks
	o.reset(1)
	for i, c := range []struct {
		depth, redirects int
		offered          bool
	}{{3, 1, true}, {3, 1, false}, {4, 0, true}, {3, 1, true}, {2, 1, true}, {2, 0, true}, {3, 0, false}, {2, 2, false}} {
		o.add(in, "http://h.test/", c.depth, c.redirects, []canon.URL{"http://h.test/a"})
		if got := len(o.shards[0].links) > 0; got != c.offered {
			t.Errorf("%d: depth %d, %d redirects: offered is %v", i, c.depth, c.redirects, got)
		}
		o.drop(0)
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

// Few links of other shards come along with the outcome, up to so many for one shard and so many
// for all; own ones are in it anyway.
func TestFewLinksComeAlong(t *testing.T) {
	o := outlinks{shards: make([]shardLinks, crawl.MaxShards)}
	set := func(bytes ...int) {
		o.used = o.used[:0]
		for i := range o.shards {
			o.shards[i].bytes = 0
		}
		for i, n := range bytes {
			o.shards[i].bytes = n
			o.used = append(o.used, i)
		}
	}
	check := func(wantAlong, wantAlone int) {
		t.Helper()
		along, alone := o.carried(0)
		if len(along) != wantAlong || len(alone) != wantAlone {
			t.Errorf("%d shards' links come along and %d alone, want %d and %d", len(along), len(alone), wantAlong, wantAlone)
		}
	}
	set(100)
	check(0, 0)
	set(maxCarried+1, maxCarried, 0, 1)
	check(2, 0)
	set(0, maxCarried+1, 7)
	check(1, 1)
	full := []int{0}
	for range maxCarriedAll / maxCarried {
		full = append(full, maxCarried)
	}
	set(full...)
	check(maxCarriedAll/maxCarried, 0)
	set(append(full, 1)...)
	check(maxCarriedAll/maxCarried, 1)
}

// What comes along is not kept where own links are gathered: each shard's memory is used again.
func TestLinksOfOneTellAreNotThoseOfTheNext(t *testing.T) {
	o := outlinks{shards: make([]shardLinks, 2)}
	for i := range 3 {
		o.shards[0].grow("http://a.example/", i, 0)
	}
	o.drop(0) // leaves room behind what is gathered next
	o.shards[0].grow("http://a.example/1", 1, 0)
	o.shards[1].grow("http://a.example/1", 1, 0)
	last := &o.shards[1].links[0]
	last.URLs = append(last.URLs, "http://b.example/")
	told := o.of([]int{0, 1})
	o.shards[0].grow("http://a.example/2", 1, 0)
	again := &o.shards[0].links[1]
	again.URLs = append(again.URLs, "http://a.example/x")
	if got := told[1].URLs[0]; got != "http://b.example/" {
		t.Errorf("a link that comes along has become %s", got)
	}
}
