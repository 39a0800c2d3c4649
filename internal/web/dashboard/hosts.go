package dashboard

import (
	"context"
	"net/url"
	"slices"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/web"
)

// hostsView is what hosts.html shows.
type hostsView struct {
	crawl.Paged[crawl.HostRow]
	Filter, State, Reason, Has string
	States, Kinds              []string // to choose from
	Columns                    []hostColumn
	First, Next                string // addresses; "": there is no such page
}

// hostColumn is a column of the list by which the list can be sorted.
type hostColumn struct {
	Name, Class string
	Path        string // of the list in this order, or reversed; "": it cannot be sorted so
	Order       string // the value of aria-sort; "": the list is not sorted by this column
}

// hostColumns are the columns, and the word by which the list is sorted by each.
var hostColumns = []struct{ name, sort, class string }{
	{"host", "host", ""}, {"state", "state", ""}, {"queued", "queued", "n"}, {"requests", "fetched", "n"}, {"stored", "stored", "n"}, {"failed", "failed", "n"},
	{"delay", "delay", "n"}, {"time left", "left", "n"}, {"delay set by", "source", ""}, {"next request", "next_due", ""}, {"has", "", ""}, {"why", "reason", ""},
}

func hosts(ctx context.Context, c *asker.Crawl, r *request) (any, error) {
	q := crawl.HostsQuery{Filter: r.field("q"), State: r.field("state"), Reason: r.field("reason"), Has: r.field("has")}
	q.Sort, q.Descending, q.After, q.Limit = r.field("sort"), r.field("down") != "", r.URL.Query().Get("after"), perPage
	if q.Sort != "" && !slices.Contains(questions.HostsPage.Sorts.Words(), q.Sort) || q.Has != "" && !slices.Contains(crawl.HostHas, q.Has) ||
		q.State != "" && !slices.Contains(crawl.HostStates, q.State) {
		return nil, web.Wrong("There is no such column or state.")
	}
	rows, err := questions.HostsPage.Ask(ctx, c, q)
	v := hostsView{Paged: rows, Filter: q.Filter, State: q.State, Reason: q.Reason, Has: q.Has, States: crawl.HostStates, Kinds: crawl.HostHas}
	with := func(change ...string) string { return addressWith(r, change...) }
	for _, col := range hostColumns {
		h := hostColumn{Name: col.name, Class: col.class}
		switch {
		case col.sort == "":
		case col.sort == q.Sort || q.Sort == "" && col.sort == questions.HostsPage.Sorts[0].Word:
			h.Order, h.Path = "ascending", with("sort", col.sort, "down", "1", "after", "")
			if q.Descending {
				h.Order, h.Path = "descending", with("sort", col.sort, "down", "", "after", "")
			}
		case col.class == "n": // people look for the greatest numbers
			h.Path = with("sort", col.sort, "down", "1", "after", "")
		default:
			h.Path = with("sort", col.sort, "down", "", "after", "")
		}
		v.Columns = append(v.Columns, h)
	}
	if q.After != "" {
		v.First = with("after", "")
	}
	if rows.Next != "" {
		v.Next = with("after", rows.Next)
	}
	return v, listProblem(err, q.After, q.Filter)
}

// cursorLinks are the addresses of the pages of a list with a cursor; "" means that there is no
// such page.
type cursorLinks struct{ First, NextPage string }

// linksOf makes them; next is the cursor of the next page.
func linksOf(r *request, next string) (t cursorLinks) {
	if r.URL.Query().Get("after") != "" {
		t.First = addressWith(r, "after", "")
	}
	if next != "" {
		t.NextPage = addressWith(r, "after", next)
	}
	return t
}

// addressWith is the address of this page with some fields changed: names and values in turn; ""
// removes a field.
func addressWith(r *request, change ...string) string {
	q := url.Values{}
	for name, all := range r.URL.Query() {
		if len(all) > 0 && all[len(all)-1] != "" {
			q.Set(name, all[len(all)-1])
		}
	}
	for i := 0; i+1 < len(change); i += 2 {
		if q.Del(change[i]); change[i+1] != "" {
			q.Set(change[i], change[i+1])
		}
	}
	if len(q) == 0 {
		return r.URL.Path
	}
	return r.URL.Path + "?" + q.Encode()
}
