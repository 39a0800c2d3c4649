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

// mirrorsView is what mirrors.html shows.
type mirrorsView struct {
	crawl.Paged[crawl.MirrorInfo]
	cursorLinks
	Q, State string
	States   []string
}

var mirrorStates = []string{"main", "mirror", "unconfirmed"}

func mirrors(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	q := crawl.MirrorsQuery{Filter: r.field("q"), State: r.field("state")}
	q.After, q.Limit = r.URL.Query().Get("after"), perPage
	rows, err := questions.MirrorsPage.Ask(ctx, c, q)
	v := mirrorsView{Paged: rows, cursorLinks: linksOf(r, rows.Next), Q: q.Filter, State: q.State, States: mirrorStates}
	return v, listProblem(err, q.After, "")
}
