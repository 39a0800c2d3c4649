package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Frame is what layout.html shows around a page, and the page. A Server fills in all but Title,
// Live, Stopped, Notes and V.
type Frame struct {
	Title    string
	Crawl    string
	Nav      []Link
	Live     bool     // browsers with scripts follow the page
	Stopped  bool     // the crawl is not running
	Notes    []string // what to know about the page
	Done     string   // what the last form did
	CSRF     string
	LoggedIn bool
	Metrics  bool   // there is a /metrics
	Typed    string // Options.Typed
	Now      time.Time
	V        any // the view: what the template of the page shows
}

// Link is a link to a page in the navigation, or a group of links. On marks the page that is shown,
// and its group. Separate marks the first link of a set.
type Link struct {
	Text, Path   string
	On, Separate bool
	Sub          []Link
}

// navigate returns a copy of a menu in which the page at path is On.
func navigate(menu []Link, path string) []Link {
	all := slices.Clone(menu)
	for i := range all {
		n := &all[i]
		n.Sub = navigate(n.Sub, path)
		n.On = n.Path == path || slices.ContainsFunc(n.Sub, func(s Link) bool { return s.On })
	}
	return all
}

//go:embed templates
var templates embed.FS

const (
	layoutFile  = "layout.html"
	loginFile   = "login.html"
	problemFile = "problem.html"
)

// Templates are the templates of pages, each with the layout around it. They are parsed when the
// first one is used. If they were parsed when a process starts, every command would start later.
type Templates struct {
	parse func() map[string]*template.Template
}

// NewTemplates takes the templates of pages from the folder templates of a file system. files are
// their names. Each file defines "main". shared is the file with the parts that several pages use.
// funcs are the functions that the templates use, besides static, time and moment.
func NewTemplates(folder fs.FS, files []string, shared string, funcs template.FuncMap) *Templates {
	return &Templates{parse: sync.OnceValue(func() map[string]*template.Template {
		layout := template.New(layoutFile).Funcs(template.FuncMap{"static": StaticURL, "time": Clock, "moment": Moment}).Funcs(funcs)
		layout = template.Must(layout.ParseFS(templates, "templates/"+layoutFile))
		layout = template.Must(layout.ParseFS(folder, "templates/"+shared))
		all := map[string]*template.Template{layoutFile: layout}
		for _, file := range files {
			all[file] = template.Must(template.Must(layout.Clone()).ParseFS(folder, "templates/"+file))
		}
		for _, file := range []string{loginFile, problemFile} {
			all[file] = template.Must(template.Must(layout.Clone()).ParseFS(templates, "templates/"+file))
		}
		return all
	})}
}

// Of is the template of a page, by its file.
func (t *Templates) Of(file string) *template.Template { return t.parse()[file] }

// Bar is the part of the frame that a page with a layout of its own shows at its top.
type Bar struct {
	HTML  template.HTML
	Style string
	Icon  string // path of the icon; "": none
}

// Bar is the navigation for the page at a path.
func (s *Server) Bar(path string) Bar {
	style, err := static.ReadFile("static/bar.css")
	if err != nil {
		panic(err) // it is embedded
	}
	icon, err := StaticURL("icon.svg")
	if err != nil {
		panic(err)
	}
	var bar bytes.Buffer
	if err := s.o.Pages.Of(layoutFile).ExecuteTemplate(&bar, "bar", Frame{Crawl: s.o.Name, Nav: navigate(s.o.Menu, path)}); err != nil {
		panic(err) // it shows names and paths only
	}
	return Bar{HTML: template.HTML(bar.String()), Style: string(style), Icon: icon}
}

// Complete fills in what a frame shows of the request.
func (s *Server) Complete(f *Frame, r *http.Request) { s.complete(f, r, sessionOf(r.Context())) }

func (s *Server) complete(f *Frame, r *http.Request, ses *session) {
	f.Crawl, f.Nav, f.CSRF, f.Now = s.o.Name, navigate(s.o.Menu, r.URL.Path), s.sessions.csrf(ses), time.Now()
	f.Metrics, f.Typed = s.o.Metrics, s.o.Typed
	f.LoggedIn = s.o.Token != "" && ses.in
	if s.o.Token != "" && !ses.in {
		f.Crawl, f.Nav = "", nil // an unknown client learns nothing
	}
}

// Render writes a page.
func (s *Server) Render(rw http.ResponseWriter, r *http.Request, file string, f Frame) {
	s.render(rw, r, sessionOf(r.Context()), http.StatusOK, file, f)
}

// Fail writes a problem as a page.
func (s *Server) Fail(rw http.ResponseWriter, r *http.Request, p *Problem) {
	p.Head(rw.Header())
	s.render(rw, r, sessionOf(r.Context()), p.Status, problemFile, Frame{Title: http.StatusText(p.Status), V: p})
}

// render writes a page. A browser that is not known yet gets its cookie with it.
func (s *Server) render(rw http.ResponseWriter, r *http.Request, ses *session, status int, file string, f Frame) {
	s.complete(&f, r, ses)
	f.Done = s.sessions.takeDone(rw, r, ses)
	var body bytes.Buffer
	if err := s.o.Pages.Of(file).Execute(&body, f); err != nil {
		s.o.Log.Error("a page cannot be written", "path", r.URL.Path, "err", err)
		http.Error(rw, "The page cannot be written. The server’s log has the reason.", http.StatusInternalServerError)
		return
	}
	if ses.fresh {
		s.sessions.setCookie(rw, r, ses)
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = rw.Write(body.Bytes())
	}
}
