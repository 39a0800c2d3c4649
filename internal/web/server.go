package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/curtsy/curtsy/internal/fair"
)

// Limits bound how many questions a face answers.
type Limits struct {
	AtOnce  int           // questions answered at the same time; 0: 8
	Queue   int           // questions that may wait for that; 0: 4 times AtOnce
	Timeout time.Duration // of a question, waiting included; 0: 10 s
}

// OrDefaults returns the limits with the defaults in place of zeros.
func (l Limits) OrDefaults() Limits {
	l.AtOnce = cmp.Or(l.AtOnce, 8)
	l.Queue = cmp.Or(l.Queue, 4*l.AtOnce)
	l.Timeout = cmp.Or(l.Timeout, 10*time.Second)
	return l
}

// Semaphore makes one with these limits, zeros replaced.
func (l Limits) Semaphore() *Semaphore {
	l = l.OrDefaults()
	return NewSemaphore(l.AtOnce, l.Queue, l.Timeout)
}

// Options configure a Server.
type Options struct {
	Name string // of the crawl, for people
	// Typed is what a command of curtsy needs at its end to be about this crawl, with a blank
	// before it, for example " --dir /srv/crawl"; "" means nothing.
	Typed string
	// Token is what a client must know to see anything; "" means that none is needed. It must not
	// be "" if others than the user of this machine can reach the port.
	Token string
	// Hosts are the names by which the server may be asked, without port, besides addresses and
	// localhost.
	Hosts []string
	// Proxies are the proxies whose X-Forwarded-For and X-Forwarded-Proto count.
	Proxies []netip.Prefix
	// Metrics reports that another handler serves /metrics, /livez, /readyz and /debug/ on this
	// port.
	Metrics bool
	Menu    []Link
	Pages   *Templates
	Texts   *Texts
	Log     *slog.Logger
	Limits  Limits
}

// Server decides who may see a crawl, and serves its faces to them. Its methods may be used by many
// goroutines, once the faces have been added.
type Server struct {
	o         Options
	sessions  *sessions
	tries     *fair.Rates[fair.Party] // of wrong tokens
	semaphore *Semaphore
	mux       *http.ServeMux
	faces     []Face
	programs  map[string]http.Handler // by path
}

// Face is a part of a Server that has paths of its own. It serves them to known clients only.
type Face interface {
	http.Handler
	// Serves reports whether a path is one of the face's.
	Serves(path string) bool
}

// New makes a Server with its login and the files of its pages.
func New(o Options) *Server {
	o.Limits = o.Limits.OrDefaults()
	s := &Server{
		o: o, sessions: newSessions(o.Proxies), tries: fair.NewRates[fair.Party](rate.Every(triesEvery), triesAtOnce, triesKept), semaphore: o.Limits.Semaphore(), mux: http.NewServeMux(), programs: map[string]http.Handler{},
	}
	s.mux.HandleFunc("GET "+loginPath, s.loginPage)
	s.mux.HandleFunc("POST "+loginPath, s.login)
	s.mux.HandleFunc("POST /logout", s.logout)
	s.mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if _, found := s.mux.Handler(&http.Request{Method: http.MethodGet, URL: r.URL, Host: r.Host}); found != "/" {
			rw.Header().Set("Allow", "GET, HEAD")
			s.Fail(rw, r, &Problem{Status: http.StatusMethodNotAllowed, Text: "This page can only be read."})
			return
		}
		s.Fail(rw, r, NotFound("There is no page at this address."))
	})
	return s
}

// Handle serves a pattern of http.ServeMux to known clients.
func (s *Server) Handle(pattern string, h http.HandlerFunc) { s.mux.HandleFunc(pattern, h) }

// Mount adds a face.
func (s *Server) Mount(f Face) { s.faces = append(s.faces, f) }

// Programs serves a path to programs, which send the token with each request.
func (s *Server) Programs(path string, h http.Handler) { s.programs[path] = h }

// Semaphore limits the questions of the server: those of its pages, and of the faces that use it.
func (s *Server) Semaphore() *Semaphore { return s.semaphore }

// Serves reports whether the server answers a path, so that another handler can serve the rest.
func (s *Server) Serves(path string) bool {
	return !s.o.Metrics || path != "/metrics" && path != "/livez" && path != "/readyz" && !strings.HasPrefix(path, "/debug/")
}

// policy lets a page use our style, script and pictures, and send its forms to us.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	// Not no-referrer: with it a browser reports that the origin of our own forms is unknown.
	Protect(rw, s.o.Limits.Timeout, "same-origin", policy)
	rw.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	program := s.programs[r.URL.Path]
	if bad := s.foreign(r, program != nil); bad != nil {
		// No page, which would need a style: an unknown client is shown nothing at all.
		http.Error(rw, bad.Text, bad.Status)
		return
	}
	if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, staticPath) {
		serveStatic(rw, r)
		return
	}
	if program != nil {
		s.program(rw, r, program)
		return
	}
	ses, bad := s.admit(r)
	if bad != nil {
		s.askForToken(rw, r, ses, bad)
		return
	}
	for _, f := range s.faces {
		if f.Serves(r.URL.Path) {
			f.ServeHTTP(rw, r) // before the mux, which changes paths that contain a URL
			return
		}
	}
	s.mux.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), sessionKey{}, ses)))
}

// Form reads the form of a request and checks that it is one of ours.
func (s *Server) Form(rw http.ResponseWriter, r *http.Request) *Problem {
	return s.sessions.form(rw, r, sessionOf(r.Context()))
}

// Done leads back to the page of a form, or to the page that its field "back" names, which shows
// what was done.
func (s *Server) Done(rw http.ResponseWriter, r *http.Request, done string) {
	s.sessions.leaveDone(rw, r, sessionOf(r.Context()), done)
	http.Redirect(rw, r, local(r.PostForm.Get("back")), http.StatusSeeOther)
}

// LoggedOut reports whether the browser that sent a request has logged out since.
func (s *Server) LoggedOut(r *http.Request) bool { return s.sessions.ended.has(sessionOf(r.Context())) }

// ProblemOf is the problem behind an error. question is what was asked, for the log.
func (s *Server) ProblemOf(ctx context.Context, question string, err error) *Problem {
	return s.o.Texts.Problem(ctx, s.o.Log, question, err)
}

// WantsStream reports whether a page is requested as an event stream.
func WantsStream(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream")
}
