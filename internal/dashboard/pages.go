package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
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
	nav   string // in the navigation; "": it is not there
	file  string // its template in templates/, which defines "main"
	live  bool   // followed by browsers that can
	view  func(context.Context, *asker.Crawl, *request) (any, error)
}

// pages are all of them, in the order of the navigation. Search is one by itself.
var pages = []page{
	{path: "/{$}", title: "Overview", nav: "Overview", file: "overview.html", live: true, view: overview},
	{path: "/hosts", title: "Hosts", nav: "Hosts", file: "hosts.html", live: true, view: hosts},
	{path: "/host/{host}", title: "Host", file: "host.html", live: true, view: host},
	{path: "/explain", title: "What became of a URL", nav: "Explain", file: "explain.html", view: explain},
	{path: "/robots", title: "robots.txt", file: "robots.html", view: robotsText},
	{path: "/copy", title: "Copy of a page", file: "cached.html", view: cached},
	{path: "/datasets", title: "Datasets", nav: "Datasets", file: "datasets.html", view: datasets},
	{path: "/dataset/{id}", title: "Dataset", file: "dataset.html", view: dataset},
	{path: "/mirrors", title: "Mirrors", nav: "Mirrors", file: "mirrors.html", view: mirrors},
	{path: "/updates", title: "Updates", nav: "Updates", file: "updates.html", view: updates},
	{path: "/agents", title: "Mobile agents", nav: "Agents", file: "agents.html", view: agents},
	{path: "/log", title: "Log", nav: "Log", file: "log.html", live: true, view: logPage},
	{path: "/settings", title: "Settings", nav: "Settings", file: "settings.html", view: settings},
}

// request is what a view is asked.
type request struct {
	*http.Request
	now       time.Time
	catalogue *catalogue
	typed     string // Options.Typed
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
	Notes    []string // what to know of the page
	Done     string   // what the last control did
	CSRF     string
	LoggedIn bool
	Metrics  bool   // there is a /metrics
	Typed    string // Options.Typed
	Now      time.Time
	V        any // the view
}

// navigation is a link to a page; On marks the one that is shown.
type navigation struct {
	Text, Path string
	On         bool
}

// navigate lists the pages for a path that is shown.
func navigate(path string) (all []navigation) {
	add := func(text, to string) {
		all = append(all, navigation{text, to, to == path})
	}
	for _, p := range pages {
		if p.nav == "" {
			continue
		}
		to := p.path
		if to == "/{$}" {
			to = "/"
		}
		add(p.nav, to)
		if to == "/" {
			add("Search", "/search")
		}
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
		f.V, err = p.view(ctx, c, &request{r, time.Now(), &w.catalog, w.o.Typed})
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
		http.Error(rw, "The page cannot be written; the log of the server says why.", http.StatusInternalServerError)
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
