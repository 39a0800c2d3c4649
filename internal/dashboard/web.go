package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/mcpserver"
	"github.com/curtsy/curtsy/internal/searchweb"
	"github.com/curtsy/curtsy/internal/semaphore"
)

// Ask calls do with the crawl as it is to be asked now. do may be called again when the crawl began
// or ended to run meanwhile. It is called from many goroutines.
type Ask func(ctx context.Context, do func(context.Context, *asker.Crawl) error) error

// Of asks one crawl, which stays as it is.
func Of(c *asker.Crawl) Ask {
	return func(ctx context.Context, do func(context.Context, *asker.Crawl) error) error { return do(ctx, c) }
}

// Options say what a Web shows, and to whom.
type Options struct {
	Ask  Ask
	Name string // of the crawl, for people
	// Typed is what a command of curtsy needs behind it so that it is about this crawl, with a
	// blank before: " --dir /srv/crawl"; "": nothing.
	Typed string
	// Token is what somebody must know to see anything; "": nothing. It must not be "" where
	// others than this machine's user reach the port.
	Token string
	// Hosts are the names by which it may be asked, beside addresses and localhost, without port.
	Hosts []string
	// Metrics says that somebody else serves /metrics, /livez, /readyz and /debug/ beside it.
	Metrics bool
	// Searches count the searches asked for here; nil: nobody does.
	Searches *searchweb.Metrics
	Log      *slog.Logger // nil: silent

	AtOnce  int           // questions worked on at the same time; 0: 8
	Queue   int           // questions that may wait for that; 0: 4 times AtOnce
	Streams int           // pages followed live at the same time; 0: 32
	Timeout time.Duration // of a question, waiting included; 0: 10 s
	Beat    time.Duration // between two looks of a page that is followed live; 0: 1 s
}

// Web answers HTTP requests. It may be used by many goroutines.
type Web struct {
	o         Options
	mux       *http.ServeMux
	search    *searchweb.Web
	mcp       *mcpserver.Server
	key       []byte               // signs what browsers keep for us
	tries     tries                // of tokens that are wrong
	ended     ended                // sessions that have logged out
	semaphore *semaphore.Semaphore // of questions
	streams   chan struct{}        // holds a token for each page followed live
	catalog   catalogue

	rankings rankings // of the overview
}

// New makes a Web.
func New(o Options) *Web {
	o.AtOnce = cmp.Or(o.AtOnce, 8)
	o.Queue = cmp.Or(o.Queue, 4*o.AtOnce)
	o.Streams = cmp.Or(o.Streams, 32)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Beat = cmp.Or(o.Beat, time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	w := &Web{
		o: o, mux: http.NewServeMux(), key: signingKey(o.Token),
		semaphore: semaphore.New(o.AtOnce, o.Queue, o.Timeout), streams: make(chan struct{}, o.Streams),
	}
	w.catalog.ask, w.catalog.log, w.catalog.wait = o.Ask, o.Log, tableWait
	w.search = searchweb.New(searchweb.Options{
		Crawl: searches{o.Ask}, Name: o.Name, Frame: searchFrame(o), Log: o.Log, Metrics: o.Searches, AtOnce: o.AtOnce, Queue: o.Queue, Timeout: o.Timeout,
	})
	w.mcp = mcpserver.New(mcpserver.Options{Ask: o.Ask.Assistants(), Name: o.Name, Log: o.Log, Semaphore: w.semaphore})
	for _, p := range pages {
		w.mux.HandleFunc("GET "+p.path, func(rw http.ResponseWriter, r *http.Request) { w.page(rw, r, &p) })
	}
	for _, a := range actions {
		w.mux.HandleFunc("POST "+a.path, func(rw http.ResponseWriter, r *http.Request) { w.action(rw, r, &a) })
	}
	for from, to := range moved {
		w.mux.HandleFunc("GET "+from, func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, (&url.URL{Path: to, RawQuery: r.URL.RawQuery}).String(), http.StatusMovedPermanently)
		})
	}
	w.mux.HandleFunc("GET "+loginPath, w.loginPage)
	w.mux.HandleFunc("POST "+loginPath, w.login)
	w.mux.HandleFunc("POST /logout", w.logout)
	w.mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if _, found := w.mux.Handler(&http.Request{Method: http.MethodGet, URL: r.URL, Host: r.Host}); found != "/" {
			rw.Header().Set("Allow", "GET, HEAD")
			w.fail(rw, r, &problem{Status: http.StatusMethodNotAllowed, Text: "This page can only be read."})
			return
		}
		w.fail(rw, r, notFound("There is no page at this address."))
	})
	return w
}

// Serves reports whether a path is the dashboard's, so that another may serve the rest.
func (w *Web) Serves(path string) bool {
	return !w.o.Metrics || path != "/metrics" && path != "/livez" && path != "/readyz" && !strings.HasPrefix(path, "/debug/")
}

// signingKey is one that follows from the token, so that a browser that knows it stays known when
// the process begins anew. Without a token it is another each time.
func signingKey(token string) []byte {
	if token == "" {
		token = rand.Text()
	}
	sum := sha256.Sum256([]byte("curtsy dashboard\x00" + token))
	return sum[:]
}

// searches is Ask as the search page knows a crawl.
type searches struct{ ask Ask }

func (s searches) Search(ctx context.Context, r crawl.SearchRequest) (a crawl.SearchAnswer, err error) {
	err = s.ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		a, err = c.Search(ctx, r)
		return err
	})
	return a, err
}

func (s searches) Page(ctx context.Context, url, content string) (rec crawl.PageRecord, found bool, err error) {
	err = s.ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		rec, found, err = c.Page(ctx, url, content)
		return err
	})
	return rec, found, err
}

// waitAtMost is how long a client may take for an answer, or to send a form.
const waitAtMost = 30 * time.Second

// ServeHTTP answers a request. Nothing it sends may be kept by a cache, framed, or read by the
// scripts of other origins; what a page is allowed beyond that its handler says.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	// Who takes an answer in drops does not hold it for ever. An error means that there is no
	// connection, as in tests.
	_ = http.NewResponseController(rw).SetWriteDeadline(time.Now().Add(w.o.Timeout + waitAtMost))
	h := rw.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// Not no-referrer: with it a browser says of our own forms that their origin is unknown.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Content-Security-Policy", policy)
	if bad := w.stranger(r); bad != nil {
		// No page, which would need a style: nothing at all is shown to a stranger.
		http.Error(rw, bad.Text, bad.Status)
		return
	}
	if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, staticPath) {
		w.static(rw, r)
		return
	}
	if r.URL.Path == mcpPath {
		w.assistant(rw, r)
		return
	}
	s, bad := w.enter(rw, r)
	if bad != nil {
		w.turnAway(rw, r, s, bad)
		return
	}
	if w.search.Serves(r.URL.Path) {
		w.search.ServeHTTP(rw, r) // before the mux, which changes paths that hold a URL
		return
	}
	w.mux.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), sessionKey{}, s)))
}

// policy lets a page be styled by our style, run our script, show our pictures, and send its forms
// to us.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// asking calls do when there is room for one more question, with a context that ends in time. The
// error is semaphore.ErrBusy when there is none.
func (w *Web) asking(ctx context.Context, do func(context.Context, *asker.Crawl) error) error {
	return w.semaphore.Do(ctx, func(ctx context.Context) error { return w.o.Ask(ctx, do) })
}
