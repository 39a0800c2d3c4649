package asker

import (
	"context"
	"errors"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/siterules"
)

// spec returns the spec of the crawl as it is now.
func (c *Crawl) spec(ctx context.Context) (*crawl.Spec, error) {
	if c.Bucket == nil {
		return &c.Spec, nil
	}
	switch now, err := service.ReadSpec(ctx, c.Bucket); {
	case err == nil:
		return &now, nil
	case !errors.Is(err, service.ErrNoSpec): // otherwise the asker was given the spec
		return nil, err
	}
	return &c.Spec, nil
}

// Rules returns the site rules of the crawl as they are now, nil if it has none. Rules that this
// version cannot read count as none.
func (c *Crawl) Rules(ctx context.Context) (*siterules.Rules, error) {
	spec, err := c.spec(ctx)
	if err != nil {
		return nil, err
	}
	rules, err := siterules.Of(spec)
	if err != nil {
		return nil, nil
	}
	return rules, nil
}

// Fields returns the fields of the site rules, by which searches can filter and sort.
func (c *Crawl) Fields(ctx context.Context) (query.Schema, error) {
	spec, err := c.spec(ctx)
	if err != nil {
		return nil, err
	}
	return fieldsOf(spec), nil
}

// fieldsOf are the fields of the site rules of a spec. Rules that this version cannot read have
// none.
func fieldsOf(spec *crawl.Spec) query.Schema {
	schema := query.Schema{}
	if rules, err := siterules.Of(spec); err == nil {
		for _, f := range rules.Schema() {
			schema[f.Name] = f.Type
		}
	}
	return schema
}
