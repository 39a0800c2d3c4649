package urls

import (
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// TestStoredCopy: a 304 response changes only what it contains. A Last-Modified of the usual form
// is kept as a number, and any other as it is.
func TestStoredCopy(t *testing.T) {
	t.Parallel()
	const usual = "Tue, 15 Nov 1994 12:45:26 GMT"
	var c StoredCopy
	c.Update(&crawl.Result{Digest: 1, Likeness: 2, ETag: "a", LastModified: usual})
	if c.LastModified() != usual || c.Modified == 0 || c.ModifiedText != "" || c.Digest != 1 || c.Likeness != 2 || c.ETag != "a" {
		t.Errorf("%+v", c)
	}
	c.Update(&crawl.Result{NotModified: true, ETag: "b"})
	if c.LastModified() != usual || c.Digest != 1 || c.Likeness != 2 || c.ETag != "b" {
		t.Errorf("after a 304: %+v", c)
	}
	for _, other := range []string{"yesterday", "Tue, 15 Nov 1994 12:45:26 +0000", "Wed, 15 Nov 1994 12:45:26 GMT"} {
		if c.Update(&crawl.Result{NotModified: true, LastModified: other}); c.LastModified() != other || c.Modified != 0 {
			t.Errorf("%s: %+v", other, c)
		}
	}
	if c.Update(&crawl.Result{Digest: 9}); c != (StoredCopy{Digest: 9}) {
		t.Errorf("another page: %+v", c)
	}
}

// TestRankOf: links of pages come before entries of sitemaps, and those by the date of their
// change.
func TestRankOf(t *testing.T) {
	t.Parallel()
	l := crawl.Links{Source: crawl.SourceSitemap, Mods: []int64{1_700_000_000, 1_500_000_000, 0}}
	ranks := []uint16{RankOf(&crawl.Links{Source: crawl.SourcePage, Mods: l.Mods}, 0), RankOf(&l, 0), RankOf(&l, 1), RankOf(&l, 2), RankOf(&l, 3)}
	if !slices.IsSorted(ranks) || ranks[0] != 0 || ranks[1] == ranks[2] || ranks[2] == ranks[3] || ranks[3] != ranks[4] {
		t.Errorf("ranks %v", ranks)
	}
	l.Mods[1] = l.Mods[0] + 24*60*60
	if RankOf(&l, 0) != RankOf(&l, 1) {
		t.Error("within a month the order of arrival does not count")
	}
}

// TestLeavesCopy: which results leave the stored copy of a page valid.
func TestLeavesCopy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		res  crawl.Result
		want bool
	}{
		{crawl.Result{Class: crawl.Retry, Reason: crawl.ReasonHTTP5xx}, true},
		{crawl.Result{Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx}, false},
		{crawl.Result{Class: crawl.Failed, Reason: crawl.ReasonHTTP4xx, Kept: true}, true},
		{crawl.Result{Class: crawl.Failed, Reason: crawl.ReasonTimeout}, true},
		{crawl.Result{Class: crawl.Refused, Reason: crawl.ReasonRobots}, false},
		{crawl.Result{Class: crawl.Redirected, Reason: crawl.ReasonRedirect}, false},
		{crawl.Result{Class: crawl.Stored}, false},
	} {
		if got := LeavesCopy(&c.res); got != c.want {
			t.Errorf("%v, %s, kept %v: the copy stays %v", c.res.Class, c.res.Reason, c.res.Kept, got)
		}
	}
}
