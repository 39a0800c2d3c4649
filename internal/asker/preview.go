package asker

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// Preview estimates what another spec would make of a running crawl, and changes nothing. now is
// the current spec. It is an error if frontiers do not answer. If indexers do not answer, the
// Preview says so.
func (c *Crawl) Preview(ctx context.Context, now, next crawl.Spec) (crawl.Preview, error) {
	urls, _, err := questions.Judge.Ask(ctx, c, next)
	if err != nil {
		return crawl.Preview{}, err
	}
	var links crawl.SpecEffect
	uncounted := false
	if now.LinkText() != next.LinkText() && !next.NoLinks {
		links, _, err = questions.JudgeLinks.Ask(ctx, c, next)
		if ctx.Err() != nil {
			return crawl.Preview{}, ctx.Err()
		}
		uncounted = err != nil
	}
	p := crawl.NewPreview(urls, links)
	p.LinksUncounted = uncounted
	// The stored pages have links that were in scope and not followed. Sitemaps may have named some
	// of them, and these are known already.
	p.About = p.About || uncounted || now.NoLinks && !next.NoLinks
	return p, nil
}
