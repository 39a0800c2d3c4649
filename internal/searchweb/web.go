package searchweb

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/semaphore"
)

// Crawl is who is asked: an asker.Crawl, or another that keeps its rules. An answer with parts
// missing comes with an ask.ErrIncomplete. Its methods are called from many goroutines.
type Crawl interface {
	Search(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error)
	Page(ctx context.Context, url, content string) (rec crawl.PageRecord, found bool, err error)
}

// Options say what a Web shows.
type Options struct {
	Crawl Crawl
	Name  string // of the crawl, for people
	Home  string // link to a page about the crawl; "": there is none
	Frame Frame
	Log   *slog.Logger // nil: silent
	// Metrics count the searches; nil: nobody does. Several may share them.
	Metrics *Metrics

	AtOnce  int           // questions worked on at the same time; 0: 8
	Queue   int           // questions that may wait for that; 0: 4 times AtOnce
	Timeout time.Duration // of a question, waiting included; 0: 10 s
}

// Web answers HTTP requests. It may be used by many goroutines.
type Web struct {
	o         Options
	mux       *http.ServeMux
	semaphore *semaphore.Semaphore // of questions
	look      *template.Template
	policy    string
}

// New makes a Web.
func New(o Options) *Web {
	o.AtOnce = cmp.Or(o.AtOnce, 8)
	o.Queue = cmp.Or(o.Queue, 4*o.AtOnce)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Web{o: o, mux: http.NewServeMux(), semaphore: semaphore.New(o.AtOnce, o.Queue, o.Timeout)}
	w.look, w.policy = pageWith(o.Frame)
	for _, r := range w.routes() {
		w.mux.HandleFunc(r.path, r.serve)
	}
	return w
}

// route is one thing that is served.
type route struct {
	path  string
	serve http.HandlerFunc
}

// routes are all of them. Pages are served beside the mux, see ServeHTTP.
func (w *Web) routes() []route {
	return []route{
		{"/search", w.html},
		{"/opensearch.xml", w.openSearch},
		{"/api/openapi.json", w.openAPI},
		{"/api/v1/search", w.search},
		{"/api/search", w.search}, // stays when there is a v2
		{"/api/v1/pages", w.page},
		{"/api/", func(rw http.ResponseWriter, r *http.Request) {
			problem{Status: http.StatusNotFound, Detail: "nothing is here; /api/openapi.json lists what there is"}.send(rw)
		}},
	}
}

// pagesPath is followed by the URL of a page.
const pagesPath = "/api/v1/pages/"

// Serves reports whether a path is one of a Web's.
func (w *Web) Serves(path string) bool {
	return path == "/search" || path == "/opensearch.xml" || path == "/api" || strings.HasPrefix(path, "/api/")
}

// waitAtMost is how long a client may take for an answer.
const waitAtMost = 30 * time.Second

// ServeHTTP answers a request. Nothing it sends may be kept by a cache, framed, or read by the
// scripts of other origins.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	// Who takes an answer in drops does not hold it for ever. An error means that there is no
	// connection, as in tests.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(w.o.Timeout + waitAtMost))
	h := rw.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow") // a page of results is no page of the web
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		problem{Status: http.StatusMethodNotAllowed, Detail: "only GET and HEAD are answered"}.send(rw)
		return
	}
	// The mux would take the two slashes of a URL in the path for one.
	if strings.HasPrefix(r.URL.EscapedPath(), pagesPath) {
		w.page(rw, r)
		return
	}
	w.mux.ServeHTTP(rw, r)
}

// failed is the problem behind an error. about is what was asked for, for the log.
func (w *Web) failed(ctx context.Context, about string, err error) *problem {
	var missing *ask.IncompleteError
	switch {
	case errors.Is(err, semaphore.ErrBusy):
		return &problem{Status: http.StatusServiceUnavailable, Detail: "too many requests at once: try again in a moment", retry: 1}
	case errors.Is(err, ask.ErrNobody), errors.As(err, &missing):
		w.o.Log.Warn("nobody answered", "question", about, "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Detail: "no process that stores this crawl's pages answers at the moment", retry: 5}
	case errors.Is(err, context.DeadlineExceeded):
		w.o.Log.Warn("no answer in time", "question", about, "err", err)
		return &problem{Status: http.StatusServiceUnavailable, Detail: "no answer came in time", retry: 5}
	case ctx.Err() != nil: // whoever asked has gone
		return &problem{Status: http.StatusServiceUnavailable, Detail: "the request was cancelled"}
	}
	// What went wrong may name files: that is for the log.
	w.o.Log.Error("a question failed", "question", about, "err", err)
	return &problem{Status: http.StatusInternalServerError, Detail: "the request failed; the server's log has the reason"}
}
