package asker

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Preview says what another spec would make of a crawl that runs, which stays as it is. now is the
// spec of now. That frontiers do not answer is an error; that indexers do not is in the answer.
func (c *Crawl) Preview(ctx context.Context, now, next crawl.Spec) (crawl.Preview, error) {
	var urls, links crawl.SpecEffect
	add := func(to *crawl.SpecEffect) func(crawl.SpecEffect) error {
		return func(part crawl.SpecEffect) error { to.Merge(part); return nil }
	}
	if err := gather(ctx, c, "judge", next, add(&urls)); err != nil {
		return crawl.Preview{}, err
	}
	uncounted := false
	if now.LinkText() != next.LinkText() && !next.NoLinks {
		err := gather(ctx, c, "judge-links", next, add(&links))
		if ctx.Err() != nil {
			return crawl.Preview{}, ctx.Err()
		}
		uncounted = err != nil
	}
	p := crawl.NewPreview(urls, links)
	p.LinksUncounted = uncounted
	// Of the links that were in scope and not followed, sitemaps may have named some, which are
	// known.
	p.About = p.About || uncounted || now.NoLinks && !next.NoLinks
	return p, nil
}
