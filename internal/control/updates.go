package control

import (
	"context"
	"reflect"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Updates changes what is wanted of a site that tells what changed on it. to makes the next spec,
// perhaps more than once, and says in a sentence what that is; it must not change what the one
// before shares. Updates returns once that is written; the site's shard does the rest.
func Updates(ctx context.Context, c *asker.Crawl, by By, site canon.Origin, to func(crawl.Spec) (crawl.Spec, string, error)) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
	}
	now, err := service.ReadSpec(ctx, c.Bucket)
	if err != nil {
		return "", err
	}
	_, said, err := to(now)
	if err != nil {
		return "", err
	}
	a := action{what: actionUpdates, on: site.String(), more: said, host: site.Host}
	_, err = change(ctx, c, by, a, func(s crawl.Spec) (crawl.Spec, bool, error) {
		next, _, err := to(s)
		return next, !reflect.DeepEqual(next, s), err
	})
	return said, err
}
