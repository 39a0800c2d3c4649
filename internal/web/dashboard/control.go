package dashboard

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
)

// Errors in a form. Browsers check most of these before they send it.
var (
	errDelay     = errors.New("A delay is a number of seconds from 0 to 600. To wait longer, pause the host.")
	errConfirm   = errors.New("Nothing was forgotten: tick the box to confirm it.")
	errNoSeed    = errors.New("Type at least one URL, one per line.")
	errManySeeds = errors.New("These are too many URLs for one form. Use curtsy seed.")
)

// maxSeedsTyped is how many seeds a form accepts.
const maxSeedsTyped = 200

func pauseHost(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	return control.PauseHost(ctx, c, by, form.Get("host"))
}

func resumeHost(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	return control.ResumeHost(ctx, c, by, form.Get("host"))
}

// delayHost sets a delay. If the site demands a longer one, that one stays.
func delayHost(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	s, err := strconv.ParseFloat(strings.TrimSpace(form.Get("seconds")), 64)
	if err != nil || !(s >= 0 && s <= crawl.MaxHostDelay.Seconds()) {
		return "", errDelay
	}
	return control.DelayHost(ctx, c, by, form.Get("host"), time.Duration(s*float64(time.Second)))
}

func retryHost(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	return control.Retry(ctx, c, by, []string{form.Get("host")})
}

func forget(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	undo := form.Get("undo") != ""
	if !undo && form.Get("sure") == "" {
		return "", errConfirm
	}
	return control.Forget(ctx, c, by, form.Get("what"), undo)
}

func refetch(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	return control.Refetch(ctx, c, by, form.Get("url"))
}

func addSeeds(ctx context.Context, c *asker.Crawl, form url.Values, by control.By) (string, error) {
	urls := strings.Fields(form.Get("urls"))
	switch {
	case len(urls) == 0:
		return "", errNoSeed
	case len(urls) > maxSeedsTyped:
		return "", errManySeeds
	}
	return control.AddSeeds(ctx, c, by, urls)
}
