package shard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Recent never knows a URL that was not added, or not at such a depth, also after texts were
// overwritten. It knows nearly all of the latest.
func TestRecentIsNeverWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var recent Recent
	depths := map[canon.URL]int{}
	var order []canon.URL
	missed, asked := 0, 0
	for i := range 60_000 {
		// Neighbours differ in one digit, and have the same length.
		u := canon.URL(fmt.Sprintf("http://h.test/%s/%07d", strings.Repeat("p", i%200), i))
		depth := r.IntN(20)
		recent.add(u, depth)
		depths[u] = depth
		order = append(order, u)
		if !recent.known(u, depth) || recent.known(u, depth-1) {
			t.Fatalf("%s was just added at depth %d", u, depth)
		}
		some := order[max(0, i-r.IntN(2*recentSlots))]
		at := depths[some]
		if nearer := r.IntN(20); nearer < at && recent.known(some, nearer) {
			t.Fatalf("%s is known at depth %d, although it was added at %d", some, nearer, at)
		}
		if canon.URL(string(some)+"0") != some && recent.known(some+"0", 1000) {
			t.Fatalf("%s0 is known", some)
		}
		if i > 1000 {
			asked++
			if last := order[i-1000]; !recent.known(last, depths[last]) {
				missed++
			}
		}
	}
	if missed > asked/50 {
		t.Errorf("%d of %d URLs that were added a thousand URLs before are not known", missed, asked)
	}
	if len(recent.texts) != mostRecentTexts || recent.next < 4*mostRecentTexts {
		t.Errorf("%d bytes of texts after %d", len(recent.texts), recent.next)
	}
}

// A URL that is added again keeps its smallest depth, and is stored once.
func TestRecentKeepsTheSmallestDepth(t *testing.T) {
	var recent Recent
	for _, depth := range []int{7, 3, 9} {
		recent.add("http://h.test/a", depth)
	}
	if !recent.known("http://h.test/a", 3) || recent.known("http://h.test/a", 2) || recent.next != int64(len("http://h.test/a")) {
		t.Errorf("known at 3: %v, at 2: %v, in %d bytes", recent.known("http://h.test/a", 3), recent.known("http://h.test/a", 2), recent.next)
	}
}

// The longest URL is remembered, a longer one is not.
func TestRecentIsLimited(t *testing.T) {
	var recent Recent
	longest := canon.URL("http://h.test/" + strings.Repeat("l", maxRecentURL-len("http://h.test/")))
	recent.add(longest, 1)
	recent.add(longest+"l", 1)
	if !recent.known(longest, 1) || recent.known(longest+"l", 1) {
		t.Errorf("of %d bytes: %v, one more: %v", len(longest), recent.known(longest, 1), recent.known(longest+"l", 1))
	}
}

// The text decides, and not the hash.
func TestRecentComparesTexts(t *testing.T) {
	var recent Recent
	recent.add("http://h.test/a", 1)
	set, i, _, _ := recent.find("http://h.test/a")
	other, _, next, tag := recent.find("http://h.test/b")
	other[next] = set[i]
	other[next].tag = tag
	if recent.known("http://h.test/b", 1) {
		t.Error("another URL with the same hash is known")
	}
}
