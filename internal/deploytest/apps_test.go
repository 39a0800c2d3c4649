//go:build external

package deploytest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// appDelay is the delay of the crawls of applications.
const appDelay = 100 * time.Millisecond

// appWeb is a web of small applications on names below apps.test, which all lead to one server. Its
// log shows every request.
type appWeb struct {
	t    *testing.T
	addr string
	// Each host has an answer for a path with its query; "*" is for all other paths.
	hosts map[string]map[string]http.HandlerFunc

	mu  sync.Mutex
	log []*appRequest
}

// appRequest is a request as its server saw it.
type appRequest struct {
	host, uri string
	method    string
	agent     string
	at, until time.Time // until is zero while it is answered
}

func startAppWeb(t *testing.T, hosts map[string]map[string]http.HandlerFunc) *appWeb {
	w := &appWeb{t: t, hosts: hosts}
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	w.addr = strings.TrimPrefix(s.URL, "http://")
	return w
}

func (a *appWeb) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &appRequest{host: r.Host, uri: r.URL.RequestURI(), method: r.Method, agent: r.UserAgent(), at: time.Now()}
	a.mu.Lock()
	a.log = append(a.log, q)
	site := a.hosts[r.Host]
	a.mu.Unlock()
	f := site[q.uri]
	if f == nil {
		f = site[r.URL.Path]
	}
	if f == nil && r.URL.Path != "/robots.txt" {
		f = site["*"]
	}
	if f != nil {
		f(w, r)
	} else {
		http.NotFound(w, r)
	}
	a.mu.Lock()
	q.until = time.Now()
	a.mu.Unlock()
}

// requests are the paths that were requested of a host, with their queries.
func (a *appWeb) requests(host string) (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.log {
		if q.host == host {
			all = append(all, q.uri)
		}
	}
	return all
}

// checkPolite compares the log with what the crawler promises to each host: one request at a time,
// the delay between two of them, robots.txt first, only GET, and its name.
func (a *appWeb) checkPolite() {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	last := map[string]*appRequest{}
	for _, q := range a.log {
		before := last[q.host]
		last[q.host] = q
		switch {
		case q.method != http.MethodGet:
			a.t.Errorf("%s http://%s%s", q.method, q.host, q.uri)
		case !strings.HasPrefix(q.agent, "curtsy/"):
			a.t.Errorf("http://%s%s was requested by %q", q.host, q.uri, q.agent)
		case before == nil:
			if q.uri != "/robots.txt" {
				a.t.Errorf("http://%s%s was requested before its robots.txt", q.host, q.uri)
			}
		case before.until.IsZero() || q.at.Before(before.until):
			a.t.Errorf("http://%s%s was requested while %s was being answered", q.host, q.uri, before.uri)
		// The client may know of the end a little earlier.
		case q.at.Sub(before.until) < appDelay-5*time.Millisecond:
			a.t.Errorf("http://%s%s was requested %v after %s", q.host, q.uri, q.at.Sub(before.until), before.uri)
		}
	}
}

// page answers with HTML, and content with another type.
func appPage(html string) http.HandlerFunc { return appFile("text/html; charset=utf-8", html) }

func appScript(text string) http.HandlerFunc { return appFile("text/javascript", text) }

func appFile(kind, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		io.WriteString(w, text)
	}
}

// appShell is a page as the build tools of applications make it.
func appShell(script string) string {
	return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>App</title></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div><script defer src="` + script + `"></script></body></html>`
}

// oneApp is one application: the files of its hosts, and what must become of its first page.
type oneApp struct {
	name  string
	hosts map[string]map[string]http.HandlerFunc // by the first label of the name
	want  []string                               // text of its first page
	not   []string                               // what must not be in that text
	// What must be true of it as well.
	rendering string // of the stored page: done or failed; empty: it is not stored
	reason    string // if it is not stored
	links     []string
	forbidden []string // paths of its host that must not be requested
}

const root1 = `const root = document.getElementById("root");`

// tenApps are the applications of issue 35.
var tenApps = []oneApp{
	{name: "history", rendering: "done", want: []string{"Welcome home", "About"}, links: []string{"/about", "/team"},
		hosts: map[string]map[string]http.HandlerFunc{"history": {
			"*": appPage(appShell("/app.js")),
			"/app.js": appScript(root1 + `
				const views = {"/": "<h1>Welcome home</h1>", "/about": "<h1>About this house</h1>", "/team": "<h1>The team of the house</h1>"};
				function show() { root.innerHTML = (views[location.pathname] || "<h1>Nothing</h1>") + '<nav><a href="/">Home</a> <a href="/about">About</a> <a href="/team">Team</a></nav>';
					root.querySelectorAll("a").forEach(a => a.onclick = e => { e.preventDefault(); history.pushState(null, "", a.getAttribute("href")); show(); }); }
				addEventListener("popstate", show); show();`),
		}}},
	{name: "xhr", rendering: "done", want: []string{"Tariffs of the ferry", "thirty crowns"},
		hosts: map[string]map[string]http.HandlerFunc{
			"xhr": {
				"/": appPage(appShell("/app.js")),
				"/app.js": appScript(root1 + `
					fetch("http://api.xhr.apps.test/tariffs", {headers: {"X-Client": "web"}}).then(r => r.json()).then(d => { root.innerHTML = "<h1>" + d.title + "</h1><p>" + d.price + "</p>"; })
						.catch(e => { root.textContent = "failed: " + e; });`),
			},
			"api.xhr": {"/tariffs": appFile("application/json", `{"title": "Tariffs of the ferry", "price": "thirty crowns"}`, "Access-Control-Allow-Origin", "*", "Access-Control-Allow-Headers", "X-Client")},
		}},
	{name: "lazy", rendering: "done", want: []string{"item 1 of 30", "item 15 of 30", "item 30 of 30"},
		hosts: map[string]map[string]http.HandlerFunc{"lazy": {
			"/": appPage(appShell("/app.js")),
			"/app.js": appScript(root1 + `
				const list = document.createElement("ul"), end = document.createElement("div"); end.textContent = "more"; root.append(list, end);
				let page = 0;
				const more = new IntersectionObserver(async es => { if (!es.some(e => e.isIntersecting) || page >= 3) return;
					const items = await (await fetch("/items?page=" + ++page)).json();
					for (const i of items) { const li = document.createElement("li"); li.textContent = i; list.append(li); }
					more.unobserve(end); if (page < 3) more.observe(end); });
				more.observe(end);`),
			"/items": func(w http.ResponseWriter, r *http.Request) {
				var n int
				fmt.Sscan(r.URL.Query().Get("page"), &n)
				var items []string
				for i := 10*n - 9; i <= 10*n; i++ {
					items = append(items, fmt.Sprintf(`"item %d of 30"`, i))
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, "[%s]", strings.Join(items, ","))
			},
		}}},
	{name: "hash", rendering: "done", want: []string{"First view of the hash router"}, not: []string{"Second view"},
		hosts: map[string]map[string]http.HandlerFunc{"hash": {
			"/": appPage(appShell("/app.js")),
			"/app.js": appScript(root1 + `
				function show() { root.innerHTML = (location.hash === "#/second" ? "<h1>Second view</h1>" : "<h1>First view of the hash router</h1>") + '<a href="#/second">go on</a>'; }
				addEventListener("hashchange", show); if (!location.hash) location.hash = "#/"; show();`),
		}}},
	{name: "shadow", rendering: "done", want: []string{"An open secret", "A closed secret", "from the light side", "a default"},
		hosts: map[string]map[string]http.HandlerFunc{"shadow": {
			"/": appPage(appShell("/app.js")),
			"/app.js": appScript(root1 + `
				const make = (mode, html) => { const e = document.createElement("section"); e.attachShadow({mode}).innerHTML = html; root.append(e); return e; };
				make("open", "<h1>An open secret</h1><slot></slot><slot name=none>a default</slot>").textContent = "from the light side";
				make("closed", "<p>A closed secret</p>");`),
		}}},
	{name: "noindex", reason: "noindex",
		hosts: map[string]map[string]http.HandlerFunc{"noindex": {
			"/": appPage(appShell("/app.js")),
			"/app.js": appScript(root1 + `
				root.innerHTML = "<h1>Not for an index</h1>";
				setTimeout(() => { const m = document.createElement("meta"); m.name = "robots"; m.content = "noindex"; document.head.append(m); }, 1500);`),
		}}},
	{name: "consent", rendering: "done", want: []string{"We value your privacy", "The article behind the wall"},
		hosts: map[string]map[string]http.HandlerFunc{"consent": {
			"/": appPage(appShell("/app.js")),
			"/app.js": appScript(root1 + `
				root.innerHTML = "<article>The article behind the wall</article>";
				const wall = document.createElement("div"); wall.style.cssText = "position:fixed;inset:0;background:#fff;z-index:9";
				wall.innerHTML = "<p>We value your privacy</p><button>Accept</button>"; document.body.style.overflow = "hidden"; document.body.append(wall);
				if (confirm("May we use cookies?")) root.textContent = "tracked";`),
		}}},
	{name: "spinner", rendering: "done", want: []string{"Loading"},
		hosts: map[string]map[string]http.HandlerFunc{"spinner": {
			"/":       appPage(appShell("/app.js")),
			"/app.js": appScript(root1 + `root.textContent = "Loading"; let n = 0; setInterval(() => { root.dataset.n = ++n; }, 50); (function spin() { requestAnimationFrame(spin); })();`),
		}}},
	{name: "bomb", rendering: "failed",
		hosts: map[string]map[string]http.HandlerFunc{"bomb": {
			"/":       appPage(appShell("/app.js")),
			"/app.js": appScript(`const all = []; for (;;) all.push(new Array(1e6).fill(all.length));`),
		}}},
	{name: "forbidden", rendering: "done", want: nil, not: []string{"Made by a script"}, forbidden: []string{"/private/app.js"},
		hosts: map[string]map[string]http.HandlerFunc{"forbidden": {
			"/robots.txt":     appFile("text/plain", "User-agent: *\nDisallow: /private/\n"),
			"/":               appPage(appShell("/private/app.js")),
			"/private/app.js": appScript(root1 + `root.textContent = "Made by a script";`),
		}}},
}

// hostsOf are the hosts of applications.
func hostsOf(apps []oneApp) map[string]map[string]http.HandlerFunc {
	all := map[string]map[string]http.HandlerFunc{}
	for _, app := range apps {
		for label, files := range app.hosts {
			all[label+".apps.test"] = files
		}
	}
	return all
}
