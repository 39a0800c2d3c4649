package asker

import (
	"context"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/paging"
)

// HostsPage is a page of the list of hosts. Where shards of a crawl that runs do not answer, the
// page is of the others' hosts, and the error an ask.ErrIncomplete. It may be asked for as often as
// a person looks: with 10⁵ hosts it takes about a tenth of a second.
func (c *Crawl) HostsPage(ctx context.Context, q crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) {
	return paged[crawl.HostRow](ctx, c, "hosts-page", q, q.Paging, crawl.HostSorts)
}

// MirrorsPage is a page of the list of mirrors.
func (c *Crawl) MirrorsPage(ctx context.Context, q crawl.MirrorsQuery) (crawl.Paged[crawl.MirrorInfo], error) {
	return paged[crawl.MirrorInfo](ctx, c, "mirrors-page", q, q.Paging, crawl.MirrorSorts)
}

// UpdatesPage is a page of the list of sites that tell what changed on them.
func (c *Crawl) UpdatesPage(ctx context.Context, q crawl.UpdatesQuery) (crawl.Paged[crawl.UpdatesInfo], error) {
	return paged[crawl.UpdatesInfo](ctx, c, "updates-page", q, q.Paging, crawl.UpdatesSorts)
}

// PagesPage is a page of the list of stored pages, the newest first. Its counts begin with "type:"
// and "lang:", or are crawl.CountPartial.
func (c *Crawl) PagesPage(ctx context.Context, q crawl.PagesQuery) (crawl.Paged[crawl.PageLine], error) {
	q.Descending = true
	return paged[crawl.PageLine](ctx, c, "pages-page", q, q.Paging, crawl.PageSorts)
}

// paged puts a page of a list together.
func paged[T any](ctx context.Context, c *Crawl, question string, req any, p crawl.Paging, sorts []string) (crawl.Paged[T], error) {
	m, err := paging.NewMerger[T](p, sorts...)
	if err != nil {
		return crawl.Paged[T]{}, err
	}
	err = gather(ctx, c, question, req, func(part paging.Part[T]) error {
		m.Add(part)
		return nil
	})
	return m.Page(), err
}
