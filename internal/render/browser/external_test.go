//go:build external

package browser

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

// The tests of this file and of the others with this tag run Chromium, which must be installed.

// shared is one renderer for most tests, as it is in a crawl.
var shared = sync.OnceValues(func() (*Renderer, error) {
	r, err := New(Options{})
	if err == nil {
		atEnd = append(atEnd, r.Close)
	}
	return r, err
})

func renderer(t *testing.T) *Renderer {
	t.Helper()
	r, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// own returns a renderer for one test.
func own(t *testing.T, opt Options) *Renderer {
	t.Helper()
	// The name of a folder of the test would be too long. The browser is not root, and must reach
	// its files below this one.
	dir, err := os.MkdirTemp("", "b-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	opt.Dir = dir
	opt.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	r, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// site answers requests by their URLs. Each answer is a body, after an optional first line
// "status type" and header lines, up to an empty line, if it begins with "HTTP ".
type site map[string]string

// log is what a page asked for.
type log struct {
	requests []render.Request
	urls     []string
}

func (s site) fetch(l *log) render.Fetch {
	return func(q render.Request) render.Response {
		l.requests = append(l.requests, q)
		l.urls = append(l.urls, q.Method+" "+q.URL)
		body, ok := s[q.URL]
		switch why, refused := strings.CutPrefix(body, "REFUSED "); {
		case refused:
			return render.Response{Refused: why}
		case !ok:
			return render.Response{Status: 404, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("no such page")}
		}
		h := http.Header{"Content-Type": {"text/javascript; charset=utf-8"}}
		status := 200
		if head, rest, ok := strings.Cut(body, "\n\n"); ok && strings.HasPrefix(head, "HTTP ") {
			body = rest
			for i, line := range strings.Split(head, "\n") {
				if i == 0 {
					switch line {
					case "HTTP 302":
						status = 302
					case "HTTP 404":
						status = 404
					}
					continue
				}
				name, value, _ := strings.Cut(line, ": ")
				h.Set(name, value)
			}
		}
		return render.Response{Status: status, Header: h, Body: []byte(body)}
	}
}

// app is a small application, and what becomes of it.
type app struct {
	name    string
	body    string
	site    site
	change  func(p *render.Page)
	want    string   // the content of the body
	urls    []string // the requests, in any order
	url     string   // where it is at the end; "": where it began
	links   []string
	omitted []string // URL and why
	failed  string   // why it has no result
}

const text = `const show = t => document.body.append(t + ';');`

var apps = []app{
	{
		name: "history routing", body: `<script>history.pushState({}, '', '/other/7?q=1'); document.body.innerHTML = '<a href="next">next</a>';</script>`,
		want: `<a href="next">next</a>`, url: "https://a.example/other/7?q=1",
	},
	{
		name: "hash router", body: `<div id=v></div><script>addEventListener('hashchange', () => { v.textContent = 'view ' + location.hash }); location.hash = '#/about';</script>`,
		want: `<div id="v">view #/about</div>`, url: pageURL + "#/about",
	},
	{
		name: "XHR to a second host, with and without its permission", body: `<script>` + text + `
			const get = (u, o) => fetch(u, o).then(r => r.text()).catch(() => 'error').then(t => show(u[8] + ':' + t));
			get('https://b.example/yes').then(() => get('https://c.example/no')).then(() => get('https://d.example/preflight', {headers: {'X-Own': '1'}}))
				.then(() => get('https://e.example/refused-preflight', {headers: {'X-Own': '1'}})).then(() => get('https://a.example/own'));</script>`,
		site: site{
			"https://b.example/yes":               "HTTP 200\nAccess-Control-Allow-Origin: *\n\nyes",
			"https://c.example/no":                "secret",
			"https://d.example/preflight":         "HTTP 200\nAccess-Control-Allow-Origin: https://a.example\n\nwith preflight",
			"https://e.example/refused-preflight": "secret",
			"https://a.example/own":               "own",
		},
		want: "b:yes;c:error;d:with preflight;e:error;a:own;",
		urls: []string{"GET https://b.example/yes", "GET https://c.example/no", "GET https://d.example/preflight", "GET https://e.example/refused-preflight", "GET https://a.example/own"},
	},
	{
		name: "lazy list", body: `<ul id=l></ul><div id=end></div><script>let n = 0;
			const o = new IntersectionObserver(es => { if (es[0].isIntersecting && n < 3) more() });
			const more = () => fetch('/items?' + n++).then(r => r.text()).then(t => { l.insertAdjacentHTML('beforeend', '<li>' + t); o.disconnect(); o.observe(end) });
			o.observe(end);</script>`,
		site: site{"https://a.example/items?0": "one", "https://a.example/items?1": "two", "https://a.example/items?2": "three"},
		want: `<ul id="l"><li>one</li><li>two</li><li>three</li></ul><div id="end"></div>`,
		urls: []string{"GET https://a.example/items?0", "GET https://a.example/items?1", "GET https://a.example/items?2"},
	},
	{
		name: "shadow roots", body: `<x-a><b slot=t>title</b>text</x-a><x-b>in closed</x-b><p>after</p><script>
			const define = (n, mode, h) => customElements.define(n, class extends HTMLElement { constructor() { super(); this.attachShadow({mode}).innerHTML = h } });
			define('x-a', 'open', '<style>b{}</style><h1><slot name=t>none</slot></h1><div><slot></slot></div><slot name=u>fallback</slot>');
			define('x-b', 'closed', '<x-a><i slot=t>nested</i><slot></slot></x-a>');</script>`,
		want: `<x-a><h1><b slot="t">title</b></h1><div>text</div>fallback</x-a><x-b><x-a><h1><i slot="t">nested</i></h1><div>in closed</div>fallback</x-a></x-b><p>after</p>`,
	},
	{
		name: "late noindex", body: `<script>setTimeout(() => { const m = document.createElement('meta'); m.name = 'robots'; m.content = 'noindex'; document.body.append(m) }, 2000)</script>`,
		want: `<meta name="robots" content="noindex">`,
	},
	{
		name: "consent wall", body: `<main>the text</main><div id=wall style="position:fixed;inset:0">Accept? <button onclick="wall.remove()">yes</button></div>`,
		want: `<main>the text</main><div id="wall" style="position:fixed;inset:0">Accept? <button>yes</button></div>`,
	},
	{
		name: "endless spinner", body: `<p>shown</p><script>setInterval(() => { fetch('/poll').catch(() => 0) }, 100); setInterval(() => 0, 1); (function f() { requestAnimationFrame(f) })()</script>`,
		site: site{"https://a.example/poll": "again"}, change: func(p *render.Page) { p.Limits.Requests = 5 },
		want: `<p>shown</p>`, urls: slices.Repeat([]string{"GET https://a.example/poll"}, 5),
		omitted: []string{"https://a.example/poll the page made too many requests"},
	},
	{
		name: "a script that robots.txt forbids", body: `<p id=p>raw</p><script src="/private/app.js" onerror="p.append(' and an error')"></script><script src="/app.js"></script>`,
		site: site{"https://a.example/private/app.js": "REFUSED forbidden by robots.txt", "https://a.example/app.js": "p.append(', and a script')"},
		want: `<p id="p">raw and an error, and a script</p>`, urls: []string{"GET https://a.example/private/app.js", "GET https://a.example/app.js"},
		omitted: []string{"https://a.example/private/app.js forbidden by robots.txt"},
	},
	{
		name: "dialogs and windows", body: `<script>` + text + `alert(1); show(confirm('?')); show(prompt('?')); print(); open('/window'); open('/second', '_blank', 'noopener');
			addEventListener('beforeunload', e => { e.preventDefault() }); const i = document.createElement('input'); i.type = 'file'; i.click();
			if (self.Notification) Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => show('here'), e => show('nowhere'));</script>`,
		want: `false;null;nowhere;`, links: []string{"https://a.example/window", "https://a.example/second"},
	},
	{
		name: "navigation by scripts", body: `<p>stays</p><form method=post action=/form></form><script>
			setTimeout(() => { location.href = '/gone?1#x' }, 100); setTimeout(() => { location.replace('https://b.example/') }, 500); setTimeout(() => document.forms[0].submit(), 5000);
			setTimeout(() => { document.querySelector('p').append(' and goes on') }, 7000)</script>`,
		want:  `<p>stays and goes on</p><form method="post" action="/form"></form>`,
		links: []string{"https://a.example/gone?1", "https://b.example/"}, omitted: []string{"https://a.example/form only GET and HEAD are used, not POST"},
	},
	{
		name: "meta refresh", body: `<meta http-equiv=refresh content="3; url=/refreshed"><p id=p>stays</p><script>setTimeout(() => p.append(" and goes on"), 5000)</script>`,
		want: `<meta http-equiv="refresh" content="3; url=/refreshed"><p id="p">stays and goes on</p>`, links: []string{"https://a.example/refreshed"},
	},
	{
		name: "redirect of a script", body: `<script src=/old.js></script>`,
		site: site{"https://a.example/old.js": "HTTP 302\nLocation: https://b.example/new.js\n\n", "https://b.example/new.js": "document.body.append('moved')"},
		want: `moved`, urls: []string{"GET https://a.example/old.js", "GET https://b.example/new.js"},
	},
	{
		name: "HEAD, POST and others", body: `<script>` + text + `(async () => { for (const method of ['HEAD', 'POST', 'PUT']) await fetch('/m', {method}).then(r => show(method + r.status), () => show(method + ' error')) })()</script>`,
		site: site{"https://a.example/m": "x"}, want: `HEAD200;POST error;PUT error;`, urls: []string{"HEAD https://a.example/m"},
		omitted: []string{"https://a.example/m only GET and HEAD are used, not POST", "https://a.example/m only GET and HEAD are used, not PUT"},
	},
	{
		name: "beacons, sockets, streams, workers, frames, images", body: `<img src=/i.png><link rel=prefetch href=/p.js><iframe src=/frame></iframe><script>` + text + `
			navigator.sendBeacon('/beacon', 'x'); new EventSource('/stream'); new WebSocket('wss://b.example/socket'); fetch('blob:null/x').catch(() => 0);
			navigator.serviceWorker?.register('/sw.js').catch(() => 0); const ok = r => r.text();
			Promise.all([fetch('data:text/plain,data').then(ok), fetch(URL.createObjectURL(new Blob(['blob']))).then(ok)]).then(show)</script>`,
		want: `<img src="/i.png"><link rel="prefetch" href="/p.js">data,blob;`, urls: []string{},
		omitted: []string{
			"https://a.example/beacon beacons are not sent", "https://a.example/frame pages in frames are not requested", "https://a.example/i.png requests of the kind image are not wanted",
			"https://a.example/p.js prefetches are not needed", "https://a.example/stream event streams are not used", "wss://b.example/socket web sockets are not used",
		},
	},
	{
		name: "a worker", body: `<script>` + text + `new Worker("/w.js").onmessage = e => show(e.data)</script>`,
		site: site{"https://a.example/w.js": "fetch('/data').then(r => r.text()).then(postMessage)", "https://a.example/data": "from a worker"},
		want: `from a worker;`, urls: []string{"GET https://a.example/w.js", "GET https://a.example/data"},
	},
	{
		name: "a thousand URLs", body: `<script>let ok = 0, bad = 0; const all = []; for (let i = 0; i < 1000; i++) all.push(fetch('/n/' + i).then(() => ok++, () => bad++)); Promise.all(all).then(() => document.body.append(ok + ' ' + bad))</script>`,
		change: func(p *render.Page) { p.Limits.Requests = 30 }, want: `30 970`, urls: nil,
	},
	{
		name: "more bytes than the limit", body: `<script src=/1.js></script><script src=/2.js></script><script src=/3.js></script>`,
		site:   site{"https://a.example/1.js": "document.body.append(1)//xx", "https://a.example/2.js": "document.body.append(2)//yy", "https://a.example/3.js": "document.body.append(3)//zz"},
		change: func(p *render.Page) { p.Limits.Bytes = 54 }, want: `12`,
		omitted: []string{"https://a.example/3.js the page has loaded too many bytes"},
	},
	{name: "infinite loop", body: `<script>for (;;);</script>`, change: func(p *render.Page) { p.Limits.Work = 2 * time.Second }, failed: "its scripts took more than 2s"},
	{name: "memory bomb of arrays", body: `<script>const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))</script>`, failed: "too much memory"},
	{name: "memory bomb of buffers", body: `<script>const a = []; try { for (;;) { const b = new Uint8Array(1e8); b.fill(1); a.push(b) } } catch (e) { document.body.append(e.name) }</script>`, want: `RangeError`},
	{name: "memory bomb of nodes", body: `<script>for (;;) document.body.append(document.createElement('p'), 'x'.repeat(1000))</script>`, failed: "too much memory"},
	{
		name: "what the page sees of the machine", body: `<script>` + text + `show(navigator.userAgent); show(navigator.language); show(Intl.DateTimeFormat().resolvedOptions().timeZone); show(new Date().toISOString());
			show(innerWidth + 'x' + innerHeight + '@' + devicePixelRatio); show(matchMedia('(prefers-reduced-motion)').matches); show(document.visibilityState); show(isSecureContext)</script>`,
		want: `Curtsy/1.0 (+https://curtsy.example);en-US;UTC;2026-01-02T03:04:05.000Z;1280x10000@1;true;visible;true;`,
	},
	{
		name: "a policy of the page holds", body: `<script>document.body.append('inline')</script><script src=/a.js></script><script src=https://b.example/b.js></script>`,
		change: func(p *render.Page) { p.Header.Set("Content-Security-Policy", "script-src 'self'; report-uri /csp") },
		site:   site{"https://a.example/a.js": "document.body.append('own')"}, want: `own`, urls: []string{"GET https://a.example/a.js"},
	},
	{
		name: "fields that a page must not have", body: `<script>document.body.append('cookie ' + document.cookie)</script>`,
		change: func(p *render.Page) {
			p.Header = http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}, "Content-Length": {"5"}, "Transfer-Encoding": {"chunked"}, "Set-Cookie": {"a=b"}, "Content-Disposition": {"attachment"}, "Bad\x01": {"x"}, "Worse": {"a\nb"}}
		}, want: `cookie`,
	},
}

// body returns what is between the tags of the body, without what this test does not look at.
func body(html string) string {
	_, b, _ := strings.Cut(html, "<body>")
	b, _, _ = strings.Cut(b, "</body>")
	return strings.Join(strings.Fields(b), " ")
}

func TestExternalApplications(t *testing.T) {
	r := renderer(t)
	for _, a := range apps {
		t.Run(a.name, func(t *testing.T) {
			p := page(a.body)
			if a.change != nil {
				a.change(p)
			}
			var l log
			from := time.Now()
			res, err := r.Render(t.Context(), p, a.site.fetch(&l))
			t.Logf("%v", time.Since(from))
			if a.failed != "" {
				var failed *render.Failed
				if !errors.As(err, &failed) || !strings.Contains(failed.Why, a.failed) {
					t.Fatalf("%v, want %q", err, a.failed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := body(string(res.HTML)); got != a.want {
				t.Errorf("HTML:\n%s\nwant\n%s", got, a.want)
			}
			if want := a.url; res.URL != want && (want != "" || res.URL != pageURL) {
				t.Errorf("it is at %s, want %s", res.URL, want)
			}
			if !slices.Equal(res.Links, a.links) {
				t.Errorf("links %q, want %q", res.Links, a.links)
			}
			slices.Sort(l.urls)
			want := slices.Sorted(slices.Values(a.urls))
			if a.urls != nil && !slices.Equal(l.urls, want) {
				t.Errorf("requests %q, want %q", l.urls, want)
			}
			var omitted []string
			for _, o := range res.Omissions {
				omitted = append(omitted, o.URL+" "+o.Why)
			}
			slices.Sort(omitted)
			omitted = slices.Compact(omitted)
			if a.omitted != nil && !slices.Equal(omitted, a.omitted) {
				t.Errorf("omitted:\n%s\nwant\n%s", strings.Join(omitted, "\n"), strings.Join(a.omitted, "\n"))
			}
		})
	}
}

// The page's clock stands still while its requests wait for a polite moment: its timer of three
// seconds comes after answers that took longer, and a list that loads when its end is visible
// loads all.
func TestExternalSlowAnswers(t *testing.T) {
	const a = `<ul id=l></ul><div id=end></div><script>` + text + `
		setTimeout(() => show('timer at ' + performance.now()), 3000);
		fetch('/a').then(r => r.text()).then(t => { show(t + ' before ' + (performance.now() < 1000)); return fetch('/b') }).then(r => r.text()).then(t => show(t + ' before ' + (performance.now() < 1000)));
		let n = 0; const more = () => fetch('/items?' + n++).then(r => r.text()).then(t => { l.insertAdjacentHTML('beforeend', '<li>' + t); o.disconnect(); o.observe(end) });
		const o = new IntersectionObserver(es => { if (es[0].isIntersecting && n < 3) more() });
		setTimeout(() => o.observe(end), 4000)</script>`
	var l log
	s := site{"https://a.example/a": "first", "https://a.example/b": "second", "https://a.example/items?0": "one", "https://a.example/items?1": "two", "https://a.example/items?2": "three"}
	answers := s.fetch(&l)
	waits := []time.Duration{1500 * time.Millisecond, 1200 * time.Millisecond, 800 * time.Millisecond}
	p := page(a)
	p.Limits.Work = 4 * time.Second // does not count what follows
	res, err := renderer(t).Render(t.Context(), p, func(q render.Request) render.Response {
		time.Sleep(waits[min(len(l.urls), 2)])
		return answers(q)
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `<ul id="l"><li>one</li><li>two</li><li>three</li></ul><div id="end"></div>first before true;second before true;timer at 3000;`
	if got := body(string(res.HTML)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
