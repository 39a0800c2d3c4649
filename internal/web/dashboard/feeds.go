package dashboard

import (
	"cmp"
	"context"
	"slices"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/feed"
)

// feedsView is what feeds.html shows.
type feedsView struct{ Rows []feedRow }

// feedRow is a system that is kept in step with the stored pages.
type feedRow struct {
	feed.State
	Waits int // shards of which it has nothing yet
}

// Failing reports whether the last attempt to send something has failed.
func (r feedRow) Failing() bool { return r.Trouble != "" }

// DeadFile is the name of the file with the changes that the system has refused.
func (r feedRow) DeadFile() string { return feed.DeadFile("", r.Sink) }

func feeds(ctx context.Context, c *asker.Crawl, _ *request) (any, error) {
	rows, err := feedRows(ctx, c)
	return feedsView{rows}, err
}

// feedRows are the feeds of a crawl, first those that fail, then those that are furthest behind.
func feedRows(ctx context.Context, c *asker.Crawl) (rows []feedRow, err error) {
	all, err := feed.List(ctx, c)
	for _, s := range all {
		rows = append(rows, feedRow{State: s, Waits: max(0, c.Spec.Shards-s.Shards)})
	}
	first := func(r feedRow) int {
		if r.Failing() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(rows, func(a, b feedRow) int { return cmp.Or(first(a)-first(b), cmp.Compare(b.Behind, a.Behind)) })
	return rows, err
}

// failingFeeds are those that an operator should look at. If they cannot be read, the overview
// shows none: the page of feeds says why.
func failingFeeds(ctx context.Context, c *asker.Crawl) []feedRow {
	rows, _ := feedRows(ctx, c)
	return slices.DeleteFunc(rows, func(r feedRow) bool { return !r.Failing() })
}
