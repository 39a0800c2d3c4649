package search

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
)

// Crawl is what answers: an asker.Crawl, or another that keeps its rules. An answer that lacks
// shards comes with an ask.ErrIncomplete. Its methods are called from many goroutines.
type Crawl interface {
	Search(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error)
	Suggest(ctx context.Context, r crawl.SuggestRequest) (crawl.SuggestAnswer, error)
	// Fields are those by which searches can filter and sort.
	Fields(ctx context.Context) (query.Schema, error)
	Page(ctx context.Context, url, content string) (rec crawl.PageRecord, found bool, err error)
}

// Options say what a Web shows.
type Options struct {
	Crawl Crawl
	Name  string // of the crawl, for people
	Home  string // link to a page about the crawl; "": there is none
	Bar   web.Bar
	Log   *slog.Logger // nil: silent
	// Metrics count the searches; nil means that they are not counted. Several Webs may share them.
	Metrics *Metrics
	Limits  web.Limits
	// Origins are those whose pages may ask with the reader's browser, such as
	// https://docs.example.org. All others may not.
	Origins []string
	// Recorder records the searches; nil means that they are not recorded.
	Recorder Recorder
}

// Web answers HTTP requests. It may be used by many goroutines.
type Web struct {
	o         Options
	mux       *http.ServeMux
	semaphore *web.Semaphore // of questions
	look      *template.Template
	policy    string
	opens     *opens
}

// New makes a Web.
func New(o Options) *Web {
	o.Limits = o.Limits.OrDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Web{o: o, mux: http.NewServeMux(), semaphore: o.Limits.Semaphore(), opens: newOpens()}
	w.look, w.policy = pageWith(o.Bar)
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

// routes are all routes but those of pages, which ServeHTTP serves before the mux.
func (w *Web) routes() []route {
	return []route{
		{"/search", w.html},
		{openPath, w.open},
		{"/opensearch.xml", w.openSearch},
		{"/api/openapi.json", w.openAPI},
		{"/api/v1/search", w.search},
		{"/api/search", w.search}, // stays when there is a v2
		{similarPath, w.similar},
		{suggestPath, w.suggest},
		{boxPath, w.box},
		{"/api/v1/pages", w.page},
		{"/api/", func(rw http.ResponseWriter, r *http.Request) {
			web.SendProblem(rw, &web.Problem{Status: http.StatusNotFound, Text: "nothing is here; /api/openapi.json lists what there is"})
		}},
	}
}

// pagesPath is followed by the URL of a page.
const pagesPath = "/api/v1/pages/"

// Serves reports whether a path is one of a Web's.
func (w *Web) Serves(path string) bool {
	return path == "/search" || path == openPath || path == "/opensearch.xml" || path == boxPath || path == "/api" || strings.HasPrefix(path, "/api/")
}

// ServeHTTP answers a request.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	web.Protect(rw, w.o.Limits.Timeout, "no-referrer", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'")
	if w.share(rw, r) {
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		rw.Header().Set("Allow", "GET, HEAD")
		web.SendProblem(rw, &web.Problem{Status: http.StatusMethodNotAllowed, Text: "only GET and HEAD are answered"})
		return
	}
	// The mux would reduce the two slashes of a URL in the path to one.
	if strings.HasPrefix(r.URL.EscapedPath(), pagesPath) {
		w.page(rw, r)
		return
	}
	w.mux.ServeHTTP(rw, r)
}

// texts are what search says if a question has no answer.
var texts = web.Texts{
	Failed:    "the request failed; the server's log has the reason",
	Busy:      "too many requests at once: try again in a moment",
	Nobody:    "no process that stores this crawl's pages answers at the moment",
	Late:      "no answer came in time",
	Cancelled: "the request was cancelled",
}

// failed is the problem behind an error. question is what was asked, for the log.
func (w *Web) failed(ctx context.Context, question string, err error) *web.Problem {
	return texts.Problem(ctx, w.o.Log, question, err)
}
