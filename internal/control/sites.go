package control

import (
	"context"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/internal/siterules"
)

// ApplySites gives a running crawl the site rules in a text and submits the seeds that they name.
// It returns the spec when it is written, and whether it differs from the one before. All processes
// of the crawl follow it at once; asker.Crawl.SitesApplied shows how far they are. Applying the
// same rules again is no change, but submits the seeds again.
func ApplySites(ctx context.Context, c *asker.Crawl, by By, text settings.Sites) (spec crawl.Spec, changed bool, err error) {
	if _, err := siterules.Of(&crawl.Spec{Sites: string(text)}); err != nil {
		return spec, false, err
	}
	to := Settings(func(s crawl.Spec) (crawl.Spec, error) {
		s.Sites = string(text)
		return s, nil
	})
	a := action{what: actionSettings, on: "settings", more: "site rules applied"}
	changed, err = change(ctx, c, by, a, func(s crawl.Spec) (crawl.Spec, bool, error) {
		next, what, err := to.set(s)
		if err == nil {
			next, err = withSeeds(next)
		}
		spec = next
		return next, len(what) > 0 || len(next.Seeds) > len(s.Seeds), err
	})
	if err != nil {
		return spec, false, err
	}
	return spec, changed, submitRuleSeeds(ctx, c, string(text))
}
