package dashboard

import (
	"context"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// updatesView is what updates.html shows.
type updatesView struct {
	crawl.Paged[crawl.UpdatesInfo]
	cursorLinks
	Q, Source string
	Sources   []string
}

var updatesSources = []string{"rup", "indexnow", "websub", "feed", "sitemap"}

func updates(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	q := crawl.UpdatesQuery{Filter: r.field("q"), Source: r.field("source")}
	q.After, q.Limit = r.URL.Query().Get("after"), perPage
	rows, err := questions.UpdatesPage.Ask(ctx, c, q)
	v := updatesView{Paged: rows, cursorLinks: linksOf(r, rows.Next), Q: q.Filter, Source: q.Source, Sources: updatesSources}
	return v, listProblem(err, q.After, "")
}
