package asker

import (
	"context"
	"errors"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// HostsNamed calls each for those of the named hosts that the crawl knows. It waits for the shards
// of these hosts only.
func (c *Crawl) HostsNamed(ctx context.Context, names []string, each func(crawl.HostInfo) error) error {
	if len(names) == 0 {
		return nil
	}
	req := &questions.HostsRequest{}
	for _, name := range names {
		req.Hosts = append(req.Hosts, canon.Host(name))
	}
	return questions.Hosts.Each(ctx, c, req, func(h crawl.HostInfo) error {
		if !slices.Contains(names, h.Host) {
			return nil // an old frontier sends all its hosts
		}
		return each(h)
	})
}

// HostsPage asks questions.HostsPage. It is a method because mcpserver.Crawl is an interface.
func (c *Crawl) HostsPage(ctx context.Context, q crawl.HostsQuery) (crawl.Paged[crawl.HostRow], error) {
	return questions.HostsPage.Ask(ctx, c, q)
}

// CountPrefix counts what is known of an entry of Spec.Forgotten.
func (c *Crawl) CountPrefix(ctx context.Context, entry string) (crawl.PrefixCount, error) {
	req := questions.Under(entry)
	all, _, failed := questions.URLsUnder.Ask(ctx, c, req)
	pages, _, err := questions.PagesUnder.Ask(ctx, c, req)
	all.Add(pages)
	return all, errors.Join(failed, err)
}
