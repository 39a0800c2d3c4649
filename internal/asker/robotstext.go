package asker

import (
	"context"
	"errors"
	"fmt"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// RobotsText is the copy of the robots.txt of a URL's origin. found is false when no shard that
// answers has one; the error is an ask.ErrIncomplete when others do not answer.
func (c *Crawl) RobotsText(ctx context.Context, url string) (t crawl.RobotsText, found bool, err error) {
	if _, err := canon.Parse(url); err != nil {
		return t, false, fmt.Errorf("%s: %w", url, err)
	}
	err = gather(ctx, c, "robots-text", map[string]string{"url": url}, func(part crawl.RobotsText) error {
		t, found = part, true
		return nil
	})
	if found && errors.Is(err, ask.ErrIncomplete) {
		err = nil // the one shard that has the origin has answered
	}
	return t, found, err
}
