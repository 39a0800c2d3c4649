package fetcher

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/render/rendertest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// app is a web of several hosts, whose log shows every request.
type app struct {
	mu    sync.Mutex
	files map[string]http.HandlerFunc // by host and path
	log   []asked
	t     *testing.T
}

type asked struct {
	what      string // host and path with query
	at, until time.Time
	header    http.Header
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	n := len(a.log)
	a.log = append(a.log, asked{what: r.Host + r.URL.RequestURI(), at: time.Now(), header: r.Header})
	f := a.files[r.Host+r.URL.Path]
	a.mu.Unlock()
	if f != nil {
		f(w, r)
	} else {
		http.NotFound(w, r)
	}
	a.mu.Lock()
	a.log[n].until = time.Now()
	a.mu.Unlock()
}

// requests are the requests so far, without those for robots.txt.
func (a *app) requests() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.log {
		if !strings.HasSuffix(r.what, "/robots.txt") {
			all = append(all, r.what)
		}
	}
	return all
}

// polite fails the test if a host got a request earlier than delay after the last one.
func (a *app) polite(delay time.Duration) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	last := map[string]asked{}
	for _, r := range a.log {
		host, _, _ := strings.Cut(r.what, "/")
		if before, ok := last[host]; ok && r.at.Sub(before.until) < delay-time.Millisecond {
			a.t.Errorf("%s was asked %v after %s", r.what, r.at.Sub(before.until), before.what)
		}
		last[host] = r
	}
}

func html(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Etag", `"shell"`)
		io.WriteString(w, body)
	}
}

func text(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
}

const shell = `<!doctype html><html><head><title>App</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>`

// renderBubble runs a fetcher that renders all pages, in a bubble.
func renderBubble(t *testing.T, files map[string]http.HandlerFunc, change func(*crawl.Spec, *Options, *desk), f func(a *app, d *desk)) {
	virtual(t, func(t *testing.T) {
		a := &app{t: t, files: files}
		addr := origin(t, a.ServeHTTP)
		d := newDesk(t, 1)
		d.onDemand = func(crawl.VisitRequest) bool { return true }
		spec := testSpec(1, addr)
		spec.Render = crawl.RenderAlways
		opt := Options{Renderer: new(rendertest.Renderer)}
		if change != nil {
			change(&spec, &opt, d)
		}
		startFetcher(t, d, spec, opt)
		f(a, d)
	})
}

// visitOf is a visit to a.test with a delay of half a second.
func visitOf(t *testing.T, urls ...string) crawl.Visit {
	v := visitTo(t, urls...)
	v.Delay = 500 * time.Millisecond
	return v
}

func only(t *testing.T, out crawl.Outcome) crawl.Result {
	t.Helper()
	if len(out.Results) != 1 {
		t.Fatalf("%d results: %v", len(out.Results), out.Results)
	}
	return out.Results[0]
}

func TestRendered(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/":       html(shell),
		"a.test/app.js": text("text/javascript", "text hello\nfetch /data?q=%7e1\nfetch http://api.test/list\nlink /next\ngo /elsewhere\nimage /i.png\nmeta robots nosnippet\n"),
		"a.test/data":   text("application/json", `own data`),
		"api.test/list": text("application/json", `data of another host`),
	}
	renderBubble(t, files, nil, func(a *app, d *desk) {
		out := d.outcome(d.grant(visitOf(t, "http://a.test/")))
		r := only(t, out)
		if r.Class != crawl.Stored || r.Rendering != crawl.RenderingDone || !r.NoSnippet || r.ETag != "" || r.LastModified != "" {
			t.Errorf("result %+v", r)
		}
		if want := "1 requests of its scripts were left out: image is not loaded"; r.Rule != want {
			t.Errorf("note %q, not %q", r.Rule, want)
		}
		if out.Requests != 4 { // robots.txt, the page, its script and its data
			t.Errorf("%d requests are reported for the page's host", out.Requests)
		}
		p := d.pageOf("http://a.test/")
		body := string(unpack(t, p))
		for _, want := range []string{"<title>App</title>", "<p>hello</p>", "<p>own data</p>", "<p>data of another host</p>"} {
			if !strings.Contains(body, want) {
				t.Errorf("no %q in %s", want, body)
			}
		}
		if p.Rendering != crawl.RenderingDone || p.ContentType != "text/html" || p.Charset != "utf-8" || p.Directives&crawl.NoSnippet == 0 || p.ETag != "" {
			t.Errorf("page %+v", p)
		}
		links := d.links()
		for _, u := range []string{"http://a.test/next", "http://a.test/elsewhere"} {
			if l, ok := links[mustURL(t, u)]; !ok || l.Depth != 1 {
				t.Errorf("no link %s: %v", u, links)
			}
		}
		want := []string{"a.test/", "a.test/app.js", "a.test/data?q=%7e1", "api.test/list"}
		if got := a.requests(); !slices.Equal(got, want) {
			t.Errorf("requests %q, not %q", got, want)
		}
		a.polite(500 * time.Millisecond)
		for _, r := range a.log {
			if ref, origin := r.header.Get("Referer"), r.header.Get("Origin"); ref != "" || (origin != "") != (r.what == "api.test/list") {
				t.Errorf("%s: Referer %q, Origin %q", r.what, ref, origin)
			}
		}
	})
}

// The bundle of a site is requested once, and validated when it is not fresh any more.
func TestRenderedBundleIsRequestedOnce(t *testing.T) {
	validated := 0
	files := map[string]http.HandlerFunc{
		"a.test/app.js": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"1"`)
			w.Header().Set("Cache-Control", "max-age=100")
			if r.Header.Get("If-None-Match") == `"1"` {
				validated++
				w.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(w, "text from the bundle\nfetch /no-store\n")
		},
		"a.test/no-store": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			io.WriteString(w, "x")
		},
	}
	var urls []string
	for i := range 20 {
		files[fmt.Sprintf("a.test/%d", i)] = html(shell)
		urls = append(urls, fmt.Sprintf("http://a.test/%d", i))
	}
	renderBubble(t, files, nil, func(a *app, d *desk) {
		visit := func(urls []string) {
			for _, r := range d.outcome(d.grant(visitOf(t, urls...))).Results {
				if r.Class != crawl.Stored || r.Rendering != crawl.RenderingDone {
					t.Errorf("result %+v", r)
				}
			}
		}
		visit(urls[:10])
		time.Sleep(time.Minute * 2)
		visit(urls[10:])
		n := map[string]int{}
		for _, u := range a.requests() {
			n[u]++
		}
		if n["a.test/app.js"] != 2 || validated != 1 || n["a.test/no-store"] != 20 {
			t.Errorf("%d requests of the bundle, of which %d validate it; %d of what must not be stored", n["a.test/app.js"], validated, n["a.test/no-store"])
		}
	})
}

// What robots.txt forbids is not requested for a page, on its own host or on another, and the page
// is rendered without it.
func TestRenderedObeysRobots(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/robots.txt":   text("text/plain", "User-agent: *\nDisallow: /private/\n"),
		"api.test/robots.txt": text("text/plain", "User-agent: *\nDisallow: /\n"),
		"down.test/robots.txt": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		},
		"a.test/":       html(shell),
		"a.test/app.js": text("text/javascript", "text hello\nload /private/x.js\nfetch http://api.test/list\nfetch http://down.test/list\n"),
	}
	renderBubble(t, files, nil, func(a *app, d *desk) {
		r := only(t, d.outcome(d.grant(visitOf(t, "http://a.test/"))))
		if r.Class != crawl.Retry || r.Reason != crawl.ReasonRendering || !strings.Contains(r.Rule, "http://down.test") {
			t.Errorf("result %+v", r)
		}
		v := visitOf(t, "http://a.test/") // down.test might have answered by the last attempt
		v.URLs[0].Attempts = crawl.MaxAttempts - 1
		r = only(t, d.outcome(d.grant(v)))
		if r.Class != crawl.Stored || r.Rendering != crawl.RenderingDone {
			t.Errorf("result %+v", r)
		}
		for _, want := range []string{"3 requests", "robots: line 2: Disallow: /private/", "robots: line 2: Disallow: /;", "unreachable: robots.txt of http://down.test"} {
			if !strings.Contains(r.Rule+";", want) {
				t.Errorf("the note %q does not have %q", r.Rule, want)
			}
		}
		want := []string{"a.test/", "a.test/app.js", "a.test/"}
		if got := a.requests(); !slices.Equal(got, want) {
			t.Errorf("requests %q, not %q", got, want)
		}
	})
}

// The stricter statement of a page and of what its scripts made of it applies.
func TestRenderedDirectives(t *testing.T) {
	for _, tt := range []struct {
		name, page, script string
		want               string
		requests           int // besides robots.txt
	}{
		{"noindex of the page: nothing is rendered", `<meta name="robots" content="noindex">`, "", "refused/noindex", 1},
		{"noindex by a script", "", "meta robots noindex", "refused/noindex", 2},
		{"nofollow of the page", `<meta name="robots" content="nofollow">`, "", "stored", 2},
		{"nofollow by a script", "", "meta robots nofollow", "stored", 2},
		{"neither", "", "", "stored linked", 2},
	} {
		files := map[string]http.HandlerFunc{
			"a.test/":       html("<html><head>" + tt.page + `</head><body><a href="/raw">x</a><script src="/app.js"></script></body></html>`),
			"a.test/app.js": text("text/javascript", tt.script+"\nlink /made\n"),
		}
		renderBubble(t, files, nil, func(a *app, d *desk) {
			r := only(t, d.outcome(d.grant(visitOf(t, "http://a.test/"))))
			got := r.Class.String()
			if r.Reason != "" {
				got += "/" + string(r.Reason)
			}
			links := d.links()
			_, raw := links["http://a.test/raw"]
			_, made := links["http://a.test/made"]
			if raw && made {
				got += " linked"
			}
			if n := len(a.requests()); got != tt.want && !(tt.want == "refused/noindex" && strings.HasPrefix(got, tt.want)) || n != tt.requests {
				t.Errorf("%s: %s with %d requests, not %s with %d", tt.name, got, n, tt.want, tt.requests)
			}
			if strings.Contains(tt.name, "nofollow") && (raw || made) {
				t.Errorf("%s: links %v", tt.name, links)
			}
		})
	}
}

// A page whose rendering fails is stored as its server sent it, and the reason with it.
func TestRenderingFails(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/":       html(shell),
		"a.test/app.js": text("text/javascript", "crash"),
		"a.test/2":      html(`<p>two<script>text three</script>`),
	}
	renderBubble(t, files, nil, func(a *app, d *desk) {
		out := d.outcome(d.grant(visitOf(t, "http://a.test/", "http://a.test/2")))
		if len(out.Results) != 2 {
			t.Fatal(out.Results)
		}
		r := out.Results[0]
		if r.Class != crawl.Stored || r.Rendering != crawl.RenderingFailed || r.Rule != "rendering failed: its process crashed" || r.ETag != "" {
			t.Errorf("result %+v", r)
		}
		if p := d.pageOf("http://a.test/"); string(unpack(t, p)) != shell || p.Rendering != crawl.RenderingFailed || p.ETag != `"shell"` {
			t.Errorf("page %+v", p)
		}
		if r := out.Results[1]; r.Rendering != crawl.RenderingDone {
			t.Errorf("the page after it: %+v", r)
		}
	})
}

// An archive has what the server sent, not what scripts made of it, and what they requested.
func TestRenderedIsArchivedAsItCame(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/":       html(shell),
		"a.test/app.js": text("text/javascript", "text hello\nfetch http://api.test/data\nfetch /secret"),
		"api.test/data": text("application/json", "data"),
		"a.test/secret": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Robots-Tag", "noarchive")
			io.WriteString(w, "secret")
		},
	}
	set := func(s *crawl.Spec, _ *Options, _ *desk) { s.WARC = "warc" }
	renderBubble(t, files, set, func(a *app, d *desk) {
		if r := only(t, d.outcome(d.grant(visitOf(t, "http://a.test/")))); r.Rendering != crawl.RenderingDone {
			t.Errorf("result %+v", r)
		}
		p := d.pageOf("http://a.test/")
		if body := string(unpack(t, p)); !strings.Contains(body, "<p>hello</p>") || p.Capture == nil || p.Capture.OfPage {
			t.Fatalf("%s, capture %+v", body, p.Capture)
		}
		captured := func(c *crawl.Capture) string {
			b, err := s2.Decode(nil, c.Response)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if got := captured(p.Capture); !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, shell) || !strings.HasPrefix(string(p.Capture.Request), "GET / HTTP/1.1\r\n") {
			t.Errorf("the capture of the page: %s%s", p.Capture.Request, got)
		}
		all := map[canon.URL]string{}
		d.mu.Lock()
		for _, p := range d.pages {
			if p.Kind == crawl.KindCapture {
				all[p.URL] = captured(p.Capture)
			}
		}
		d.mu.Unlock()
		if !strings.HasSuffix(all["http://a.test/app.js"], "fetch /secret") || !strings.HasSuffix(all["http://api.test/data"], "data") || all["http://a.test/secret"] != "" {
			t.Errorf("captures %q", all)
		}
	})
}

// Without a renderer nothing is stored: the URL is granted again, after a pause.
func TestNoRenderer(t *testing.T) {
	files := map[string]http.HandlerFunc{"a.test/": html(shell), "a.test/app.js": text("text/javascript", "text hello")}
	down := new(rendertest.Renderer)
	down.Down.Store(true)
	set := func(_ *crawl.Spec, o *Options, _ *desk) { o.Renderer = down }
	renderBubble(t, files, set, func(a *app, d *desk) {
		out := d.outcome(d.grant(visitOf(t, "http://a.test/")))
		if r := only(t, out); r.Class != crawl.Returned || out.NotBefore != 30*time.Second {
			t.Errorf("result %+v, not before %v", r, out.NotBefore)
		}
		down.Down.Store(false)
		time.Sleep(30 * time.Second)
		if r := only(t, d.outcome(d.grant(visitOf(t, "http://a.test/")))); r.Rendering != crawl.RenderingDone {
			t.Errorf("result %+v", r)
		}
	})
}

// A visit whose pages need a renderer does not wait for one: it is returned before it requests
// anything.
func TestRenderersInUse(t *testing.T) {
	files := map[string]http.HandlerFunc{}
	for _, h := range []string{"a.test", "b.test"} {
		files[h+"/"] = html(shell)
		files[h+"/app.js"] = text("text/javascript", "text hello")
	}
	set := func(_ *crawl.Spec, o *Options, _ *desk) { o.Renderer = &rendertest.Renderer{Work: time.Minute} }
	renderBubble(t, files, set, func(a *app, d *desk) {
		first := d.grant(visitOf(t, "http://a.test/"))
		time.Sleep(10 * time.Second)
		out := d.outcome(d.grant(visitOf(t, "http://b.test/")))
		if r := only(t, out); r.Class != crawl.Returned || out.Requests != 0 || out.NotBefore != 2*time.Second {
			t.Errorf("result %+v of %d requests, not before %v", r, out.Requests, out.NotBefore)
		}
		if r := only(t, d.outcome(first)); r.Rendering != crawl.RenderingDone {
			t.Errorf("result %+v", r)
		}
		if r := only(t, d.outcome(d.grant(visitOf(t, "http://b.test/")))); r.Rendering != crawl.RenderingDone {
			t.Errorf("result %+v", r)
		}
	})
}

// Two pages that need something of each other's hosts do not wait for each other: the one that
// asked last is put back.
func TestRenderedCrosswise(t *testing.T) {
	files := map[string]http.HandlerFunc{}
	for h, other := range map[string]string{"a.test": "b.test", "b.test": "a.test"} {
		files[h+"/"] = html(shell)
		files[h+"/app.js"] = text("text/javascript", "fetch http://"+other+"/data\ntext hello")
		files[h+"/data"] = text("application/json", "data of "+h)
	}
	busy := map[string]bool{}
	var mu sync.Mutex
	set := func(_ *crawl.Spec, o *Options, d *desk) {
		o.Renders = 2
		d.onDemand = func(r crawl.VisitRequest) bool {
			mu.Lock()
			defer mu.Unlock()
			return !busy[string(r.Origin.Host)]
		}
	}
	renderBubble(t, files, set, func(a *app, d *desk) {
		busy["a.test"], busy["b.test"] = true, true
		va, vb := d.grant(visitOf(t, "http://a.test/")), d.grant(visitOf(t, "http://b.test/"))
		var ended crawl.VisitID
		for ended == (crawl.VisitID{}) {
			time.Sleep(time.Second)
			d.mu.Lock()
			for _, e := range d.events {
				if e.Outcome != nil && !e.Outcome.Partial {
					ended = e.Visit
				}
			}
			d.mu.Unlock()
		}
		mu.Lock()
		first, last := va, vb
		if ended == va {
			first, last = vb, va
			busy["a.test"] = false
		} else {
			busy["b.test"] = false
		}
		mu.Unlock()
		if r := only(t, d.outcome(last)); r.Class != crawl.Returned {
			t.Errorf("result %+v", r)
		}
		if r := only(t, d.outcome(first)); r.Rendering != crawl.RenderingDone || r.Rule != "" {
			t.Errorf("result %+v", r)
		}
	})
}

// A page that needs something of a host that must not be visited now is put back, with the pages of
// its host. After a time they are rendered without it.
func TestRenderedWaitsForAnotherHost(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/":        html(shell),
		"a.test/app.js":  text("text/javascript", "fetch http://busy.test/data\ntext hello"),
		"busy.test/data": text("application/json", "data"),
	}
	open := false
	var mu sync.Mutex
	set := func(_ *crawl.Spec, _ *Options, d *desk) {
		d.onDemand = func(crawl.VisitRequest) bool {
			mu.Lock()
			defer mu.Unlock()
			return open
		}
	}
	renderBubble(t, files, set, func(a *app, d *desk) {
		once := func() (crawl.Result, crawl.Outcome, time.Duration) {
			start := time.Now()
			out := d.outcome(d.grant(visitOf(t, "http://a.test/")))
			return only(t, out), out, time.Since(start)
		}
		r, out, took := once()
		if r.Class != crawl.Returned || out.NotBefore < elsewhereAgain/2 || out.NotBefore > elsewhereAgain*3/2 || took < elsewhereWait/2 {
			t.Errorf("at first: %+v, not before %v, after %v", r, out.NotBefore, took)
		}
		if r, out, took = once(); r.Class != crawl.Returned || out.NotBefore <= 0 || out.NotBefore > elsewhereAgain*3/2 || took > elsewhereWait/3 {
			t.Errorf("at once: %+v, not before %v, after %v", r, out.NotBefore, took)
		}
		began := time.Now()
		for r.Class == crawl.Returned && time.Since(began) < time.Hour {
			time.Sleep(out.NotBefore)
			r, out, _ = once()
		}
		if r.Class != crawl.Stored || r.Rendering != crawl.RenderingDone || !strings.Contains(r.Rule, "could not be visited") && !strings.Contains(r.Rule, "cannot be visited now") || time.Since(began) < elsewhereMost-5*time.Minute {
			t.Errorf("after %v: %+v", time.Since(began), r)
		}
		mu.Lock()
		open = true
		mu.Unlock()
		time.Sleep(elsewhereMost)
		if r, _, _ = once(); r.Rule != "" || r.Rendering != crawl.RenderingDone {
			t.Errorf("when it can be visited again: %+v", r)
		}
	})
}

// While no frontier answers, a page waits however long that takes. When one says for a time that
// the host must not be visited, it does not.
func TestElsewhereInVain(t *testing.T) {
	e, pair := new(elsewhere), hostPair{"a.test", "api.test"}
	now := time.Now()
	var later *visit.Later
	for range 100 {
		if err := e.failed(pair, now, false); !errors.As(err, &later) {
			t.Fatal(err)
		}
		if err := e.begin(pair, now.Add(later.Wait-1)); !errors.As(err, &later) || later.Wait != 1 {
			t.Fatalf("before the next attempt: %v", err)
		}
		now = now.Add(elsewhereAgain * 3 / 2)
		if err := e.begin(pair, now); err != nil {
			t.Fatalf("at the next attempt: %v", err)
		}
		now = now.Add(elsewhereWait)
	}
	began := now
	for errors.As(e.failed(pair, now, true), &later) {
		if now = now.Add(elsewhereAgain + elsewhereWait); now.Sub(began) > elsewhereMost+elsewhereWait {
			t.Fatal("it waits for ever")
		}
	}
	if now.Sub(began) < elsewhereMost-4*elsewhereWait {
		t.Errorf("it gives up after %v", now.Sub(began))
	}
	if err := e.begin(pair, now.Add(1)); err != errInVain {
		t.Errorf("the next page: %v", err)
	}
	e.succeeded(pair)
	if err := e.begin(pair, now.Add(1)); err != nil {
		t.Errorf("after a visit: %v", err)
	}
	for i := range 2 * mostInVain {
		_ = e.failed(hostPair{"a.test", hostN(i)}, now, true)
	}
	if n := len(e.inVain); n > mostInVain {
		t.Errorf("%d pairs are remembered", n)
	}
}

// A visit that ends while its page is rendered publishes nothing of it.
func TestRenderingEndsWithTheVisit(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/":       html(shell),
		"a.test/app.js": text("text/javascript", "fetch /data\ntext hello"),
	}
	set := func(_ *crawl.Spec, o *Options, d *desk) {
		o.Renderer = &rendertest.Renderer{Work: time.Hour}
		d.lose = true // renewals are refused
	}
	renderBubble(t, files, set, func(a *app, d *desk) {
		out := d.outcome(d.grant(visitOf(t, "http://a.test/")))
		if r := only(t, out); r.Class != crawl.Returned {
			t.Errorf("result %+v", r)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.pages) > 0 {
			t.Errorf("pages %v", d.pages)
		}
	})
}

// A host that is overloaded gets no further request of its page, which is tried again later.
func TestRenderedOverload(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/": html(shell),
		"a.test/app.js": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	}
	renderBubble(t, files, nil, func(a *app, d *desk) {
		out := d.outcome(d.grant(visitOf(t, "http://a.test/")))
		if r := only(t, out); r.Class != crawl.Retry || r.Reason != crawl.ReasonOverload || out.RetryAfter != 2*time.Minute || out.Overloads != 1 {
			t.Errorf("result %+v of %+v", r, out)
		}
		v := visitOf(t, "http://a.test/")
		v.URLs[0].Attempts = crawl.MaxAttempts - 1
		if r := only(t, d.outcome(d.grant(v))); r.Class != crawl.Stored || r.Rendering != crawl.RenderingFailed || !strings.Contains(r.Rule, "503") {
			t.Errorf("the last attempt: %+v", r)
		}
	})
}

// A host that stops answering while its page is rendered costs the page an attempt; otherwise it
// would be requested for ever.
func TestRenderedHostThatStopsAnswering(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/":       html(shell),
		"a.test/app.js": text("text/javascript", "fetch /slow1\nfetch /slow2\ntext hello"),
		"a.test/slow1":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"a.test/slow2":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	}
	renderBubble(t, files, nil, func(a *app, d *desk) {
		if r := only(t, d.outcome(d.grant(visitOf(t, "http://a.test/")))); r.Class != crawl.Retry || r.Reason != crawl.ReasonRendering {
			t.Errorf("result %+v", r)
		}
		v := visitOf(t, "http://a.test/")
		v.URLs[0].Attempts = crawl.MaxAttempts - 1
		if r := only(t, d.outcome(d.grant(v))); r.Class != crawl.Stored || r.Rendering != crawl.RenderingFailed {
			t.Errorf("the last attempt: %+v", r)
		}
	})
}

// A page may wait only so long for its requests, because it occupies a renderer.
func TestRenderedWithALongDelay(t *testing.T) {
	files := map[string]http.HandlerFunc{
		"a.test/robots.txt": text("text/plain", "User-agent: *\nCrawl-delay: 250\n"),
		"a.test/":           html(shell),
		"a.test/app.js":     text("text/javascript", "fetch /1\nfetch /2\nfetch /3\nfetch /4\nfetch /5\ntext hello"),
	}
	renderBubble(t, files, nil, func(a *app, d *desk) {
		id := d.grant(visitOf(t, "http://a.test/"))
		time.Sleep(time.Hour)
		r := only(t, d.outcome(id))
		if r.Class != crawl.Stored || r.Rendering != crawl.RenderingDone || !strings.Contains(r.Rule, "the page has waited 10m0s for its requests") {
			t.Errorf("result %+v", r)
		}
		a.polite(250 * time.Second)
	})
}

// A page at a public address cannot have anything requested of a private one, although the crawl
// may reach it.
func TestRenderedReachesNoIntranet(t *testing.T) {
	virtual(t, func(t *testing.T) {
		a := &app{t: t, files: map[string]http.HandlerFunc{
			"a.test/":            html(shell),
			"a.test/app.js":      text("text/javascript", "text hello\nfetch http://intranet.test/data\nfetch http://cdn.test/data"),
			"intranet.test/":     html(`<script>fetch http://cdn.test/data</script><p>page`),
			"intranet.test/data": text("application/json", "secret"),
			"cdn.test/data":      text("application/json", "data of the cdn"),
		}}
		spec := testSpec(1, "")
		for _, at := range []string{"127.0.0.1:8080", "127.0.0.2:8080"} {
			ln, err := simnet.Of(t).Listen("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{Handler: a}
			go s.Serve(ln)
			t.Cleanup(func() { s.Close() })
		}
		spec.Resolve = []string{"intranet.test=127.0.0.1:8080", "*=127.0.0.2:8080"}
		spec.Render, spec.Contact = crawl.RenderAlways, "me@example.org"
		d := newDesk(t, 1)
		d.onDemand = func(crawl.VisitRequest) bool { return true }
		f := newFetcher(t, d.q, spec, Options{Renderer: new(rendertest.Renderer)})
		f.client.Reach = func(addr netip.Addr) wire.Reach {
			if addr == netip.MustParseAddr("127.0.0.2") {
				return wire.Public
			}
			return wire.ReachOf(addr)
		}
		runFetcher(t, f)
		r := only(t, d.outcome(d.grant(visitOf(t, "http://a.test/"))))
		if r.Rendering != crawl.RenderingDone || !strings.Contains(r.Rule, "1 requests of its scripts were left out: address") {
			t.Errorf("result %+v", r)
		}
		if body := string(unpack(t, d.pageOf("http://a.test/"))); strings.Contains(body, "secret") || !strings.Contains(body, "data of the cdn") {
			t.Errorf("page %s", body)
		}
		if r := only(t, d.outcome(d.grant(visitOf(t, "http://intranet.test/")))); r.Rule != "" {
			t.Errorf("a page of the intranet: %+v", r)
		}
		for _, u := range a.requests() {
			if u == "intranet.test/data" {
				t.Error("it was requested")
			}
		}
	})
}
