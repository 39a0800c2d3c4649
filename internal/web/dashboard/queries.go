package dashboard

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/queryreport"
	"github.com/curtsy/curtsy/internal/webtext"
)

// queriesView is what queries.html shows.
type queriesView struct {
	Show    string // a key of selections
	Days    int
	Rows    []queryRow
	All     int    // rows with those that are not shown
	Trouble string // why there is no report; "": there is one
	None    bool   // nothing was recorded
	// Choices are links to the other selections, and Periods to other numbers of days.
	Choices, Periods []queryChoice
}

type queryChoice struct {
	Text, URL string
	On        bool
}

// queryRow is a query of the report.
type queryRow struct {
	queryreport.Query
	SearchURL string
}

// selections are those of the page, in their order.
var selections = []struct {
	name, text string
	which      queryreport.Which
}{
	{"frequent", "Frequent", queryreport.Frequent}, {"no-results", "Without results", queryreport.NoResults}, {"not-opened", "No hit opened", queryreport.NotOpened},
}

// queryRows is how many queries are shown.
const queryRows = 100

func queries(_ context.Context, _ *asker.Crawl, r *request) (any, error) {
	v := queriesView{Show: r.field("show"), Days: 30}
	if d, err := strconv.Atoi(r.field("days")); err == nil && d > 0 && d <= queryreport.MaxDays {
		v.Days = d
	}
	which := queryreport.Frequent
	for _, s := range selections {
		if s.name == v.Show {
			which = s.which
		}
	}
	address := func(show string, days int) string {
		return "/queries?" + url.Values{"show": {show}, "days": {strconv.Itoa(days)}}.Encode()
	}
	for _, s := range selections {
		v.Choices = append(v.Choices, queryChoice{s.text, address(s.name, v.Days), s.which == which})
		if s.which == which {
			v.Show = s.name
		}
	}
	for _, d := range []int{1, 7, 30, queryreport.MaxDays} {
		text := strconv.Itoa(d) + " days"
		if d == 1 {
			text = "Today"
		}
		v.Periods = append(v.Periods, queryChoice{text, address(v.Show, d), d == v.Days})
	}
	if r.queries == "" {
		v.None = true
		return v, nil
	}
	all, err := queryreport.Read(r.queries, v.Days)
	switch {
	case errors.Is(err, queryreport.ErrNone):
		v.None = true
	case err != nil:
		v.Trouble = webtext.Clean(err.Error())
	}
	all = queryreport.Select(all, which)
	v.All = len(all)
	for _, q := range all[:min(len(all), queryRows)] {
		v.Rows = append(v.Rows, queryRow{q, "/search?" + url.Values{"q": {q.Query}}.Encode()})
	}
	return v, nil
}
