package requests

import (
	"cmp"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/usage"
)

// TypesOf are the types that are stored of the answers of a URL: those of its site rules, or those
// of the crawl.
func (c *Config) TypesOf(u canon.URL) crawl.Types {
	if site := c.Sites.For(u); site != nil && len(site.Types) > 0 {
		return (&crawl.Spec{Types: site.Types}).TypeSet()
	}
	return c.Types
}

// PurposesOf are the purposes for which a URL is fetched. Site rules can only leave out purposes of
// the crawl: the files in which sites state their wishes are requested according to those. Other
// purposes in the rules count for nothing.
func (c *Config) PurposesOf(u canon.URL) usage.Purposes {
	if site := c.Sites.For(u); site != nil && len(site.Purposes) > 0 {
		if common := c.Purposes & (&crawl.Spec{Purposes: site.Purposes}).PurposeSet(); common != 0 {
			return common
		}
	}
	return c.Purposes
}

// Renders reports whether the scripts of any page are run.
func (c *Config) Renders() bool {
	return cmp.Or(c.spec.Render, crawl.RenderNever) != crawl.RenderNever || c.Sites.Renders()
}

// RenderOf says whether scripts of a page are run: crawl.RenderNever, RenderAuto or RenderAlways.
func (c *Config) RenderOf(u canon.URL) string {
	if site := c.Sites.For(u); site != nil && site.Render != "" {
		return site.Render
	}
	return cmp.Or(c.spec.Render, crawl.RenderNever)
}
