package dashboard

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/webtext"
)

// page is a page of the dashboard.
type page struct {
	path  string // as http.ServeMux knows it, for example "/host/{host}"
	title string // of the browser's window; a view of one thing has a title of its own (titled)
	file  string // its template in templates/, which defines "main"
	live  bool   // followed by browsers that can
	view  func(context.Context, *asker.Crawl, *request) (any, error)
}

// pages are all pages but search, which is a face of its own.
var pages = []page{
	{path: "/{$}", title: "Overview", file: "overview.html", live: true, view: overview},
	{path: "/pages", title: "Pages", file: "pages.html", view: storedPages},
	{path: "/hosts", title: "Hosts", file: "hosts.html", live: true, view: hosts},
	{path: "/host/{host}", title: "Host", file: "host.html", live: true, view: host},
	{path: "/log", title: "Log", file: "log.html", live: true, view: logPage},
	{path: "/explain", title: "Explain a URL", file: "explain.html", view: explain},
	{path: "/robots", title: "robots.txt", file: "robots.html", view: robotsText},
	{path: "/copy", title: "Stored text", file: "cached.html", view: cached},
	{path: "/datasets", title: "Datasets", file: "datasets.html", view: datasets},
	{path: "/dataset/{id}", title: "Dataset", file: "dataset.html", view: dataset},
	{path: "/mirrors", title: "Mirrors", file: "mirrors.html", view: mirrors},
	{path: "/updates", title: "Updates", file: "updates.html", view: updates},
	{path: "/feeds", title: "Feeds to other systems", file: "feeds.html", live: true, view: feeds},
	{path: "/queries", title: "Queries", file: "queries.html", view: queries},
	{path: "/mobile-robots", title: "Mobile robots", file: "mobilerobots.html", live: true, view: mobileRobots},
	{path: searchRulesPath, title: "Search rules", file: "searchrules.html", view: searchRules},
	{path: "/settings", title: "Settings", file: "settings.html", view: settingsPage},
}

// searchRulesPath is the page of search rules. Its form is sent to previewRulesPath for a preview,
// which is the same page.
const (
	searchRulesPath  = "/search-rules"
	previewRulesPath = "/do/preview-search-rules"
)

// moved are earlier addresses of pages, and where the pages are now.
var moved = map[string]string{"/agents": "/mobile-robots"}

// request is the input of a view.
type request struct {
	*http.Request
	now       time.Time
	catalogue *catalogue
	typed     string // Options.Typed
	rankings  *rankings
	queries   string // Options.Queries
}

// refreshing is a view that may be incomplete. refresh returns after how many seconds the browser
// asks again, or 0 if the view is complete.
type refreshing interface{ refresh() int }

// titled is a view that has a title of its own.
type titled interface{ title() string }

// menu is the navigation.
var menu = []web.Link{
	{Text: "Overview", Path: "/"}, {Text: "Search", Path: "/search"}, {Text: "Pages", Path: "/pages"}, {Text: "Hosts", Path: "/hosts"}, {Text: "Log", Path: "/log"},
	{Text: "Datasets", Path: "/datasets", Separate: true},
	{Text: "More", Separate: true, Sub: []web.Link{
		{Text: "Explain a URL", Path: "/explain"}, {Text: "Search rules", Path: searchRulesPath}, {Text: "Mirrors", Path: "/mirrors"}, {Text: "Updates", Path: "/updates"}, {Text: "Mobile robots", Path: "/mobile-robots"},
		{Text: "Feeds", Path: "/feeds"}, {Text: "Queries", Path: "/queries"},
	}},
	{Text: "Settings", Path: "/settings", Separate: true},
}

//go:embed templates
var templates embed.FS

// pageTemplates are the templates of all pages.
var pageTemplates = web.NewTemplates(templates, files(), "parts.html", words)

// files are the templates of pages.
func files() (all []string) {
	for _, p := range pages {
		all = append(all, p.file)
	}
	return all
}

// view asks for what a page shows. The frame names the parts that are missing.
func (w *Web) view(r *http.Request, p *page) (web.Frame, error) {
	f := web.Frame{Title: p.title, Live: p.live}
	err := w.asking(r.Context(), func(ctx context.Context, c *asker.Crawl) (err error) {
		f.Stopped = c.Stopped()
		f.V, err = p.view(ctx, c, &request{r, time.Now(), &w.catalog, w.o.Typed, &w.rankings, w.o.Queries})
		return err
	})
	var parts *ask.IncompleteError
	if errors.As(err, &parts) && f.V != nil && len(parts.Missing) < parts.Shards {
		f.Notes, err = append(f.Notes, missing(parts)), nil
	}
	if t, ok := f.V.(titled); ok && err == nil {
		f.Title = t.title()
	}
	return f, err
}

// missing is the note on a page that lacks shards.
func missing(e *ask.IncompleteError) string {
	s := "Part of the crawl does not answer at the moment (shard"
	if len(e.Missing) > 1 {
		s += "s"
	}
	return s + " " + webtext.Numbers(e.Missing) + "). The page shows the rest."
}

// page answers with a page, or as an event stream for as long as the client reads it.
func (w *Web) page(rw http.ResponseWriter, r *http.Request, p *page) {
	if p.live && web.WantsStream(r) {
		w.stream(rw, r, p)
		return
	}
	f, err := w.view(r, p)
	if err != nil {
		w.server.Fail(rw, r, w.server.ProblemOf(r.Context(), r.URL.Path, err))
		return
	}
	if v, ok := f.V.(refreshing); ok && v.refresh() > 0 {
		rw.Header().Set("Refresh", strconv.Itoa(v.refresh()))
	}
	w.server.Render(rw, r, p.file, f)
}
