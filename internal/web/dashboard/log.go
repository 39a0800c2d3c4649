package dashboard

import (
	"context"
	"slices"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/pkg/canon"
)

// logView is what log.html shows.
type logView struct {
	Host, Class, Reason, Wrong string
	Classes, Reasons           []string
	Lines                      []crawl.LogLine // the latest first
	Latest, Older              string          // addresses; "": there is no such page
}

// linesShown is how many lines of the crawl log are on a page.
const linesShown = 100

// logPage shows the crawl log. The page is live, so it follows the log.
func logPage(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	v := logView{Host: r.field("host"), Class: r.field("class"), Reason: r.field("reason"), Classes: crawl.LogClasses, Reasons: allReasons}
	q := crawl.LogQuery{Class: v.Class, Reason: v.Reason, Before: r.URL.Query().Get("before"), Limit: linesShown}
	if v.Class != "" && !slices.Contains(crawl.LogClasses, v.Class) {
		return nil, web.Wrong("The log has no such class of lines.")
	}
	if v.Host != "" {
		h, err := canon.ParseHost(v.Host)
		if err != nil {
			v.Wrong = "This is not a host name."
			return v, nil
		}
		q.Host = string(h)
	}
	page, err := c.Log(ctx, q)
	v.Lines = page.Lines
	slices.Reverse(v.Lines)
	if q.Before != "" {
		v.Latest = addressWith(r, "before", "")
	}
	if page.Before != "" {
		v.Older = addressWith(r, "before", page.Before)
	}
	return v, listProblem(err, q.Before, "")
}
