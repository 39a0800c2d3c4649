package asker

import (
	"context"
	"errors"

	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Rules returns the site rules of the crawl as they are now, nil if it has none. Rules that this
// version cannot read count as none.
func (c *Crawl) Rules(ctx context.Context) (*siterules.Rules, error) {
	spec := &c.Spec
	if c.Bucket != nil {
		switch now, err := service.ReadSpec(ctx, c.Bucket); {
		case err == nil:
			spec = &now
		case !errors.Is(err, service.ErrNoSpec): // otherwise the asker was given the spec
			return nil, err
		}
	}
	rules, err := siterules.Of(spec)
	if err != nil {
		return nil, nil
	}
	return rules, nil
}

// Fields returns the fields of the site rules, by which searches can filter and sort.
func (c *Crawl) Fields(ctx context.Context) (query.Schema, error) {
	rules, err := c.Rules(ctx)
	if err != nil {
		return nil, err
	}
	schema := query.Schema{}
	for _, f := range rules.Schema() {
		schema[f.Name] = f.Type
	}
	return schema, nil
}
