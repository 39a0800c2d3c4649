package dashboard

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
	"github.com/curtsy/curtsy/internal/web/mcp"
	"github.com/curtsy/curtsy/internal/web/search"
)

// Ask calls do with the crawl as it can be asked now. It may call do again if the crawl has started
// or ended in between. It is called from many goroutines.
type Ask func(ctx context.Context, do func(context.Context, *asker.Crawl) error) error

// Of asks one crawl, which stays as it is.
func Of(c *asker.Crawl) Ask {
	return func(ctx context.Context, do func(context.Context, *asker.Crawl) error) error { return do(ctx, c) }
}

// Assistants asks the crawl as package mcp does.
func (a Ask) Assistants() mcp.Ask {
	return func(ctx context.Context, do func(context.Context, mcp.Crawl) error) error {
		return a(ctx, func(ctx context.Context, c *asker.Crawl) error { return do(ctx, c) })
	}
}

// Options say what a Web shows, and to whom.
type Options struct {
	Ask  Ask
	Name string // of the crawl, for people
	// Typed is what a command of curtsy needs at its end to be about this crawl, with a blank
	// before it, for example " --dir /srv/crawl"; "" means nothing.
	Typed string
	// Token is what a client must know to see anything; "" means that none is needed. It must not
	// be "" if others than the user of this machine can reach the port.
	Token string
	// Hosts are the names by which it may be asked, without port, besides addresses and localhost.
	Hosts []string
	// Proxies are the proxies whose X-Forwarded-For and X-Forwarded-Proto count.
	Proxies []netip.Prefix
	// Metrics reports that another handler serves /metrics, /livez, /readyz and /debug/ on this
	// port.
	Metrics bool
	// Searches count the searches that are asked for here; nil means that they are not counted.
	Searches *search.Metrics
	Log      *slog.Logger // nil: silent
	// Recorder records the searches that are asked for here; nil means that they are not recorded.
	Recorder search.Recorder
	// Queries is the file with recorded queries that the page about them shows; it may be missing.
	// "": none.
	Queries string

	AtOnce  int           // questions answered at the same time; 0: 8
	Queue   int           // questions that may wait for that; 0: 4 times AtOnce
	Streams int           // pages followed live at the same time; 0: 32
	Timeout time.Duration // of a question, waiting included; 0: 10 s
	Beat    time.Duration // between two looks of a page that is followed live; 0: 1 s
}

// Web answers HTTP requests. It may be used by many goroutines.
type Web struct {
	o       Options
	server  *web.Server
	streams chan struct{} // holds a token for each page followed live
	catalog catalogue

	rankings rankings // of the overview
}

// mcpPath is where assistants ask, over streamable HTTP.
const mcpPath = "/mcp"

// New makes a Web.
func New(o Options) *Web {
	o.Streams = cmp.Or(o.Streams, 32)
	o.Beat = cmp.Or(o.Beat, time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	limits := web.Limits{AtOnce: o.AtOnce, Queue: o.Queue, Timeout: o.Timeout}
	w := &Web{o: o, streams: make(chan struct{}, o.Streams)}
	w.server = web.New(web.Options{
		Name: o.Name, Typed: o.Typed, Token: o.Token, Hosts: o.Hosts, Proxies: o.Proxies, Metrics: o.Metrics, Log: o.Log,
		Menu: menu, Pages: pageTemplates, Texts: &texts, Limits: limits,
	})
	w.catalog.ask, w.catalog.log, w.catalog.wait = o.Ask, o.Log, tableWait
	w.server.Mount(search.New(search.Options{
		Crawl: searches{o.Ask}, Name: o.Name, Bar: w.server.Bar("/search"), Log: o.Log, Metrics: o.Searches, Limits: limits, Recorder: o.Recorder,
	}))
	w.server.Programs(mcpPath, mcp.New(mcp.Options{Ask: o.Ask.Assistants(), Name: o.Name, Log: o.Log, Semaphore: w.server.Semaphore()}))
	for _, p := range pages {
		w.server.Handle("GET "+p.path, func(rw http.ResponseWriter, r *http.Request) { w.page(rw, r, &p) })
		if p.path == searchRulesPath {
			w.server.Handle("POST "+previewRulesPath, func(rw http.ResponseWriter, r *http.Request) {
				if bad := w.server.Form(rw, r); bad != nil {
					w.server.Fail(rw, r, bad)
					return
				}
				w.page(rw, r, &p)
			})
		}
	}
	for _, a := range actions {
		w.server.Handle("POST "+a.path, func(rw http.ResponseWriter, r *http.Request) { w.action(rw, r, &a) })
	}
	for from, to := range moved {
		w.server.Handle("GET "+from, func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, (&url.URL{Path: to, RawQuery: r.URL.RawQuery}).String(), http.StatusMovedPermanently)
		})
	}
	return w
}

// texts are what the dashboard says if a question has no answer.
var texts = web.Texts{
	Failed:    "The request failed. The server’s log has the reason.",
	Busy:      "Too many requests at once. Try again in a moment.",
	Nobody:    "No process of this crawl answers at the moment.",
	Late:      "No answer came in time.",
	Cancelled: "The request was cancelled.",
	Command:   "curtsy status",
}

// Serves reports whether the dashboard answers a path, so that another handler can serve the rest.
func (w *Web) Serves(path string) bool { return w.server.Serves(path) }

// ServeHTTP answers a request.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.server.ServeHTTP(rw, r) }

// searches is Ask as the search page knows a crawl.
type searches struct{ ask Ask }

func (s searches) Search(ctx context.Context, r crawl.SearchRequest) (a crawl.SearchAnswer, err error) {
	err = s.ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		a, err = c.Search(ctx, r)
		return err
	})
	return a, err
}

func (s searches) Suggest(ctx context.Context, r crawl.SuggestRequest) (a crawl.SuggestAnswer, err error) {
	err = s.ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		a, err = c.Suggest(ctx, r)
		return err
	})
	return a, err
}

func (s searches) Fields(ctx context.Context) (fields query.Schema, err error) {
	err = s.ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		fields, err = c.Fields(ctx)
		return err
	})
	return fields, err
}

func (s searches) Page(ctx context.Context, url, content string) (rec crawl.PageRecord, found bool, err error) {
	err = s.ask(ctx, func(ctx context.Context, c *asker.Crawl) (err error) {
		rec, found, err = c.Page(ctx, url, content)
		return err
	})
	return rec, found, err
}

// asking calls do as soon as the server can answer one more question, with a context that ends in
// time. The error is web.ErrBusy if it cannot.
func (w *Web) asking(ctx context.Context, do func(context.Context, *asker.Crawl) error) error {
	return w.server.Semaphore().Do(ctx, func(ctx context.Context) error { return w.o.Ask(ctx, do) })
}
