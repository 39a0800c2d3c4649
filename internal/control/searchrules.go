package control

import (
	"context"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// ApplySearchRules gives a running crawl the search rules in a text; an empty text removes them. It
// reports whether they differ from those before. The next search uses them. No URL is decided about
// again, and no page is read.
func ApplySearchRules(ctx context.Context, c *asker.Crawl, by By, text string) (changed bool, err error) {
	return EditSearchRules(ctx, c, by, func(string) (string, error) { return text, nil })
}

// EditSearchRules is ApplySearchRules for a change of the rules that the crawl has: edit gets their
// text and returns the new one. It may be called more than once, if others change the crawl at the
// same time.
func EditSearchRules(ctx context.Context, c *asker.Crawl, by By, edit func(now string) (string, error)) (changed bool, err error) {
	a := action{what: actionSettings, on: "settings", more: "search rules applied"}
	return change(ctx, c, by, a, func(s crawl.Spec) (crawl.Spec, bool, error) {
		now := s.SearchRules
		if s.SearchRules, err = edit(now); err != nil {
			return s, false, err
		}
		_, err := searchrules.Of(&s)
		return s, s.SearchRules != now, err
	})
}
