package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
)

// page is a page of the dashboard.
type page struct {
	path  string // as http.ServeMux knows it, for example "/host/{host}"
	title string // in the browser's; a view that is of one thing gives its own by titled
	file  string // its template in templates/, which defines "main"
	live  bool   // followed by browsers that can
	view  func(context.Context, *asker.Crawl, *request) (any, error)
}

// pages are all of them but search, which is one by itself.
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
	{path: "/mobile-robots", title: "Mobile robots", file: "mobilerobots.html", view: mobileRobots},
	{path: "/settings", title: "Settings", file: "settings.html", view: settingsPage},
}

// moved are addresses that pages had before, and where they are now.
var moved = map[string]string{"/agents": "/mobile-robots"}

// request is what a view is asked.
type request struct {
	*http.Request
	now       time.Time
	catalogue *catalogue
	typed     string // Options.Typed
	rankings  *rankings
}

// refreshing is a view that is not whole yet: after so many seconds it is worth asking again; 0: it
// is whole.
type refreshing interface{ refresh() int }

// titled is a view that has a title of its own.
type titled interface{ title() string }

// frame is what layout.html shows around a page.
type frame struct {
	Title    string
	Crawl    string
	Nav      []navigation
	Live     bool
	Stopped  bool     // the crawl is not running
	Notes    []string // what to know of the page
	Done     string   // what the last control did
	CSRF     string
	LoggedIn bool
	Metrics  bool   // there is a /metrics
	Typed    string // Options.Typed
	Now      time.Time
	V        any // the view
}

// navigation is a link to a page, or a group of them. On marks the page that is shown, and its
// group; Apart the first of a set.
type navigation struct {
	Text, Path string
	On, Apart  bool
	Sub        []navigation
}

// menu is the navigation.
var menu = []navigation{
	{Text: "Overview", Path: "/"}, {Text: "Search", Path: "/search"}, {Text: "Pages", Path: "/pages"}, {Text: "Hosts", Path: "/hosts"}, {Text: "Log", Path: "/log"},
	{Text: "Datasets", Path: "/datasets", Apart: true},
	{Text: "More", Apart: true, Sub: []navigation{
		{Text: "Explain a URL", Path: "/explain"}, {Text: "Mirrors", Path: "/mirrors"}, {Text: "Updates", Path: "/updates"}, {Text: "Mobile robots", Path: "/mobile-robots"},
	}},
	{Text: "Settings", Path: "/settings", Apart: true},
}

// navigate is the menu for a path that is shown.
func navigate(path string) []navigation { return mark(menu, path) }

// mark returns a copy of a menu in which the page at path is On.
func mark(menu []navigation, path string) []navigation {
	all := slices.Clone(menu)
	for i := range all {
		n := &all[i]
		n.Sub = mark(n.Sub, path)
		n.On = n.Path == path || slices.ContainsFunc(n.Sub, func(s navigation) bool { return s.On })
	}
	return all
}

//go:embed templates
var templates embed.FS

// pageTemplates are those of all pages, by their files, each with the layout around it; the layout
// by itself has the parts that several pages share. They are read when the first is wanted, since
// every command would pay for that at its start.
var pageTemplates = sync.OnceValue(func() map[string]*template.Template {
	layout := template.Must(template.New(layoutFile).Funcs(words).ParseFS(templates, "templates/"+layoutFile, "templates/parts.html"))
	all := map[string]*template.Template{layoutFile: layout}
	add := func(file string) {
		all[file] = template.Must(template.Must(layout.Clone()).ParseFS(templates, "templates/"+file))
	}
	for _, p := range pages {
		add(p.file)
	}
	add(loginFile)
	add(problemFile)
	return all
})

const (
	layoutFile  = "layout.html"
	loginFile   = "login.html"
	problemFile = "problem.html"
)

// view asks for what a page shows. Parts that are missing are told of in the frame.
func (w *Web) view(r *http.Request, p *page) (frame, error) {
	f := frame{Title: p.title, Live: p.live}
	err := w.asking(r.Context(), func(ctx context.Context, c *asker.Crawl) (err error) {
		f.Stopped = c.Stopped()
		f.V, err = p.view(ctx, c, &request{r, time.Now(), &w.catalog, w.o.Typed, &w.rankings})
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

// page answers with a page, once or, as an event stream, for as long as somebody looks.
func (w *Web) page(rw http.ResponseWriter, r *http.Request, p *page) {
	if p.live && streams(r) {
		w.stream(rw, r, p)
		return
	}
	f, err := w.view(r, p)
	if err != nil {
		w.fail(rw, r, w.problemOf(r.Context(), r.URL.Path, err))
		return
	}
	if v, ok := f.V.(refreshing); ok && v.refresh() > 0 {
		rw.Header().Set("Refresh", strconv.Itoa(v.refresh()))
	}
	w.render(rw, r, sessionOf(r.Context()), http.StatusOK, p.file, f)
}

// complete fills in what a frame has of the request.
func (w *Web) complete(f *frame, r *http.Request, s *session) {
	f.Crawl, f.Nav, f.CSRF, f.Now = w.o.Name, navigate(r.URL.Path), w.csrf(s), time.Now()
	f.Metrics, f.Typed = w.o.Metrics, w.o.Typed
	f.LoggedIn = w.o.Token != "" && s.in
	if w.o.Token != "" && !s.in {
		f.Crawl, f.Nav = "", nil // a stranger is told nothing
	}
}

// render writes a page. A browser that is not known yet gets its cookie with it.
func (w *Web) render(rw http.ResponseWriter, r *http.Request, s *session, status int, file string, f frame) {
	w.complete(&f, r, s)
	f.Done = w.takeDone(rw, r, s)
	var body bytes.Buffer
	if err := pageTemplates()[file].Execute(&body, f); err != nil {
		w.o.Log.Error("a page cannot be written", "path", r.URL.Path, "err", err)
		http.Error(rw, "The page cannot be written. The server’s log has the reason.", http.StatusInternalServerError)
		return
	}
	if s.fresh {
		w.setCookie(rw, r, s)
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = rw.Write(body.Bytes())
	}
}
