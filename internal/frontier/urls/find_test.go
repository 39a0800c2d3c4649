package urls

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
)

// TestHashCollisionKeepsBoth: two URLs with the same hash stay two URLs. Find continues with the
// next URL of that hash.
func TestHashCollisionKeepsBoth(t *testing.T) {
	t.Parallel()
	s := openShard(t, testSpec())
	const one, two = canon.URL("http://a.example/one"), canon.URL("http://a.example/two")
	s.insert(one, Verdict{Class: crawl.Queued})
	h, key, _ := s.find(one)
	hash := store.SeenHash(one)
	if k, v := s.urls.Find(h.ID, hash, two); v != nil {
		t.Errorf("a new URL is found as %x", k)
	}
	// As if it had the same hash.
	r := Record{URL: two, Class: crawl.Queued, Order: s.Meta.NextOrder()}
	s.must(s.PutKnown(h.ID, hash, r.Order), s.urls.PutNew(h.ID, &r))
	for u, want := range map[canon.URL][]byte{one: key, two: store.URLKey(nil, h.ID, r.Order)} {
		if k, v := s.urls.Find(h.ID, hash, u); v == nil || !slices.Equal(k, want) {
			t.Errorf("%s is found as %x, want %x", u, k, want)
		}
	}
}

// TestStretch goes through all records in stretches of any size. Those that are changed are
// written.
func TestStretch(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 7, 10, 11} {
		s := openShard(t, testSpec())
		for i := range 10 {
			s.insert(canon.URL(fmt.Sprintf("http://%c.example/%d", 'a'+i%2, i)), Verdict{Class: crawl.Stored})
		}
		stretches := 0
		for from, first := []byte(nil), true; first || from != nil; first = false {
			var err error
			stretches++
			from, err = s.urls.Stretch(from, n, func(h *hosts.Host, key []byte, r *Record) (bool, error) {
				if h.Name != r.URL.Host() || store.KeyOrder(key) != r.Order {
					t.Errorf("%s is a URL of %s, at %x", r.URL, h.Name, key)
				}
				r.Depth++
				return r.Order%2 == 0, nil
			})
			s.must(err)
		}
		if want := (10 + n - 1) / n; stretches != want {
			t.Errorf("%d records in %d stretches of %d, want %d", 10, stretches, n, want)
		}
		s.must(s.urls.EachRecord(func(_ *hosts.Host, _ []byte, r *Record) (bool, error) {
			if want := int(1 - r.Order%2); r.Depth != want {
				t.Errorf("of stretches of %d: %s has depth %d, want %d", n, r.URL, r.Depth, want)
			}
			return false, nil
		}))
	}
}

// TestClosedNames: a domain may have only so many names. The URLs of a further name are refused,
// and queued when there may be more.
func TestClosedNames(t *testing.T) {
	t.Parallel()
	spec := testSpec()
	spec.MaxHosts = 3
	s := openShard(t, spec)
	link := func(i int) *hosts.Host {
		t.Helper()
		h, err := s.urls.LinkedHost(canon.Host(fmt.Sprintf("n%d.site.example", i)), false)
		s.must(err)
		return h
	}
	var closed, leftOut int
	for i := range 50 {
		s.urls.CountPage()
		switch h := link(i); {
		case h == nil:
			leftOut++
		case h.Closed:
			closed++
			u := canon.URL("http://" + string(h.Name) + "/")
			r := Record{URL: u, Order: s.Meta.NextOrder()}
			s.OriginOf(h, u.Origin())
			s.must(s.urls.Insert(h, &r, s.urls.Decide(&r, h)), s.urls.PutNew(h.ID, &r))
			if r.Class != crawl.Refused || r.Reason != crawl.ReasonHosts {
				t.Fatalf("%s is %v, %s", u, r.Class, r.Reason)
			}
		}
	}
	if closed != 3*hosts.ClosedPerHost || leftOut != 50-3-closed {
		t.Errorf("%d names are closed, %d are left out", closed, leftOut)
	}
	s.check()
	if h := link(0); h == nil || h.Closed {
		t.Error("a name that is known is closed")
	}
	s.respec(func(spec *crawl.Spec) { spec.MaxHosts = 10 })
	for more := true; more; {
		var err error
		more, err = s.urls.OpenPass(time.Time{})
		s.must(err)
	}
	if d, err := s.DomainOf("site.example"); err != nil || d.Hosts != 10 || d.Closed != int64(closed)-7 || s.Meta.Counts.Queued != 7 {
		t.Errorf("with a larger limit: %+v, %v; %d URLs queued", d, err, s.Meta.Counts.Queued)
	}
	s.check()
	if more, err := s.urls.OpenPass(time.Time{}); more || err != nil {
		t.Errorf("the pass is not over: %v, %v", more, err)
	}
}
