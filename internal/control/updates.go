package control

import (
	"context"
	"reflect"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Updates changes how the crawl uses the change reports of a site. to returns the next spec and a
// sentence about it. It may be called more than once, and it must not modify anything that the spec
// shares with the one before. Updates returns when the spec is written. The shard of the site does
// the rest.
func Updates(ctx context.Context, c *asker.Crawl, by By, site canon.Origin, to func(crawl.Spec) (crawl.Spec, string, error)) (string, error) {
	if c.Stopped() {
		return "", ErrNotRunning
	}
	now, err := service.ReadSpec(ctx, c.Bucket)
	if err != nil {
		return "", err
	}
	_, text, err := to(now)
	if err != nil {
		return "", err
	}
	a := action{what: actionUpdates, on: site.String(), more: text, host: site.Host}
	_, err = change(ctx, c, by, a, func(s crawl.Spec) (crawl.Spec, bool, error) {
		next, _, err := to(s)
		return next, !reflect.DeepEqual(next, s), err
	})
	return text, err
}
