package search

import (
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// on sets the day on which a page was fetched; day 0 is none, as in rows that do not store since
// when they have their content.
func on(day int, p pages.Page) pages.Page {
	if day > 0 {
		p.FetchedAt = time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
	}
	return p
}

// A site cannot take over the hit of another site by copying its page, whatever the address of the
// copy is and whatever its other pages state. The result is the same if the two hosts are in one
// shard and if they are in two.
func TestCollapseCopiesOnOtherSites(t *testing.T) {
	const (
		own   = "https://owner.example/long/way"
		spam  = "https://s.ex/"
		third = "https://third.example/"
	)
	for _, c := range []struct {
		name string
		puts []pages.Page // one after the other
		want []string     // what is shown
	}{
		{"a shorter address", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(2, copyOf(spam, "", 3, "ibis"))}, []string{own}},
		{"nearer to a seed", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(2, copyOf(spam, "", 1, "ibis"))}, []string{own}},
		{"the original is fetched again", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(2, copyOf(spam, "", 1, "ibis")), on(3, copyOf(own, "", 3, "ibis"))},
			[]string{own}},
		{"its address had another page before", []pages.Page{on(1, copyOf(spam, "", 0, "heron")), on(2, copyOf(own, "", 3, "ibis")), on(3, copyOf(spam, "", 0, "ibis"))},
			[]string{own}},
		{"the original is from before this was noted", []pages.Page{copyOf(own, "", 3, "ibis"), on(1, copyOf(spam, "", 1, "ibis"))}, []string{own}},
		{"another page of its names it", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(2, copyOf(spam, "", 1, "ibis")), on(2, copyOf(spam+"b", spam, 1, "ibis too"))},
			[]string{own}},
		{"also one that was there first", []pages.Page{on(1, copyOf(spam+"b", spam, 1, "ibis too")), on(2, copyOf(own, "", 3, "ibis")), on(3, copyOf(spam, "", 1, "ibis"))},
			[]string{own}},
		{"it names another page of its own host", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(2, copyOf(spam, spam+"y", 1, "ibis")), on(1, copyOf(spam+"y", "", 1, "ibis spam"))},
			[]string{own, spam + "y"}},
		{"it names another page of the owner's", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(1, copyOf(own+"/2", "", 3, "ibis two")), on(2, copyOf(spam, own+"/2", 1, "ibis"))},
			[]string{own, own + "/2"}},
		{"a copy that was there first names the original", []pages.Page{on(1, copyOf(spam, own, 1, "ibis")), on(2, copyOf(own, "", 3, "ibis"))}, []string{own}},
		{"two copies name each other", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(2, copyOf(spam, third, 1, "ibis")), on(3, copyOf(third, spam, 1, "ibis"))},
			[]string{own}},
		{"the owner shows another of its addresses", []pages.Page{on(1, copyOf(own, "", 3, "ibis")), on(2, copyOf(spam, "", 1, "ibis")), on(3, copyOf("https://owner.example/", "", 2, "ibis"))},
			[]string{"https://owner.example/"}},
	} {
		for _, shards := range []int{1, 4} {
			t.Run(c.name, func(t *testing.T) {
				all, of := []*fixture{}, map[canon.Host]*fixture{}
				for range shards {
					all = append(all, newFixture(t))
				}
				for _, p := range c.puts {
					f := of[p.URL.Host()]
					if f == nil {
						f = all[len(of)%shards]
						of[p.URL.Host()] = f
					}
					f.add(p)
				}
				var parts []*Index
				for _, f := range all {
					parts = append(parts, f.Index)
				}
				var got []string
				for _, h := range ask(t, crawl.SearchRequest{Query: "ibis"}, parts...).Hits {
					got = append(got, h.URL)
				}
				slices.Sort(got)
				slices.Sort(c.want)
				if !slices.Equal(got, c.want) {
					t.Errorf("%d shards: got %q, want %q", shards, got, c.want)
				}
			})
		}
	}
}
