package agenthost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/mobile"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// webServer is a site's own server at 127.0.0.1:8080, on a network in memory.
type webServer struct {
	net      *simnet.Net
	handlers sync.WaitGroup

	mu       sync.Mutex                  // guards what follows
	answers  map[string]http.HandlerFunc // by path and query; others are 404
	requests []*http.Request
}

// set changes an answer.
func (w *webServer) set(path string, answer http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[path] = answer
}

// newWebServer must be called in a bubble.
func newWebServer(t *testing.T, answers map[string]http.HandlerFunc) *webServer {
	t.Helper()
	w := &webServer{net: simnet.New(simnet.Options{}), answers: answers}
	l, err := w.net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: w}
	go func() { _ = server.Serve(l) }() // it ends with Close
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		w.handlers.Wait() // the bubble ends after them
	})
	return w
}

func (w *webServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.handlers.Add(1)
	defer w.handlers.Done()
	w.mu.Lock()
	w.requests = append(w.requests, r)
	answer := w.answers[r.URL.RequestURI()]
	w.mu.Unlock()
	if answer == nil {
		answer = http.NotFound
	}
	answer(rw, r)
}

// plan is that of a host without a document root, unless change sets one.
func (w *webServer) plan(t *testing.T, change func(o *Options)) *plan {
	t.Helper()
	o := options(t, "")
	o.Server, o.Dial = "http://127.0.0.1:8080", w.net.Dial
	if change != nil {
		change(&o)
	}
	p, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func says(text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Add(header[i], header[i+1])
		}
		_, _ = io.WriteString(w, text)
	}
}

// open reads a document, in pieces.
func open(t *testing.T, d *documents, path string) (head, text string, err error) {
	t.Helper()
	h, err := d.Open(t.Context(), path)
	if err != nil {
		return "", "", err
	}
	for buf := make([]byte, 400); ; {
		n, err := d.Read(t.Context(), buf)
		if err != nil || n == 0 {
			return string(h), text, err
		}
		text += string(buf[:n])
	}
}

func urlset(locs ...string) string {
	return "<urlset><url><loc>" + strings.Join(locs, "</loc></url><url><loc>") + "</loc></url></urlset>"
}

// TestServer: documents are what the sitemaps list, with the heads that the server sends.
func TestServer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const site = "https://www.example.org"
		w := newWebServer(t, map[string]http.HandlerFunc{
			"/robots.txt": says("User-agent: ExampleBot\nDisallow: /docs/closed\nSitemap: /index.xml\nSitemap: https://other.example/sitemap.xml\n"),
			"/index.xml":  says("<sitemapindex><sitemap><loc>" + site + "/a.xml</loc></sitemap><sitemap><loc>/b.txt</loc></sitemap><sitemap><loc>/index.xml</loc></sitemap><sitemap><loc>/gone.xml</loc></sitemap></sitemapindex>"),
			"/a.xml":      says(urlset(site+"/docs/", site+"/docs/a%62.html", "/docs/é?b=1&amp;a=2", site+"/docs/closed/", site+"/other/", "http://www.example.org/docs/http", "https://other.example/docs/other", "mailto:a@example.org")),
			"/b.txt":      says(site + "/docs/moved\n" + site + "/docs/\n" + site + "/docs/unlisted/../z\n"),
			"/docs/": says("index", "Content-Type", "text/html; charset=koi8-r", "X-Robots-Tag", "noindex", "x-robots-tag", "ABot: nofollow", "Robots-Tag", "nosnippet", "Link", "</l>; rel=license", "Set-Cookie", "a=b", "Server", "secret",
				"ETag", `"1"`, "Content-Language", "en", "Vary", "Accept", "Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT", "tdm-reservation", "1", "X-Odd", "x"),
			"/docs/ab.html":          says("ab"),
			"/docs/%C3%A9?b=1&a=2":   says("query"),
			"/docs/moved":            func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/docs/", http.StatusFound) },
			"/docs/unlisted":         says("secret"),
			"/docs/z":                says("z"),
			"/docs/closed/":          says("closed"),
			"/docs/%C3%A9?a=2&b=1":   says("secret"),
			"/docs/?server-status=1": says("secret"),
		})
		p := w.plan(t, func(o *Options) { o.Headers = []Header{{"/*?", "X-Added", "yes"}} })
		d := openDocs(t, p, "/docs/")
		want := []string{"/docs/", "/docs/%C3%A9?b=1&a=2", "/docs/ab.html", "/docs/moved", "/docs/z"}
		for _, after := range append([]string{"", "/", "/docs/a", "nonsense", "~"}, want...) {
			list, err := d.List(t.Context(), after, mobile.MaxPart)
			rest := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return p <= after })
			if text := strings.Join(append(rest, ""), "\x00"); err != nil || string(list) != text {
				t.Errorf("after %q: %q, %v", after, list, err)
			}
		}
		if list, err := d.List(t.Context(), "", 10); err != nil || string(list) != "/docs/\x00" {
			t.Errorf("in a small buffer: %q, %v", list, err)
		}
		if _, err := d.List(t.Context(), "", 5); !errors.Is(err, mobile.SmallBuffer) {
			t.Errorf("in a smaller buffer: %v", err)
		}
		read := len(w.requests)
		head, text, err := open(t, d, "/docs/")
		wantHead := "Status: 200\nContent-Type: text/html; charset=koi8-r\nContent-Length: 5\nContent-Language: en\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\nEtag: \"1\"\nVary: Accept\nLink: </l>; rel=license\n" +
			"Robots-Tag: nosnippet\nX-Robots-Tag: noindex\nX-Robots-Tag: ABot: nofollow\nTdm-Reservation: 1\n"
		if err != nil || text != "index" || head != wantHead {
			t.Errorf("%q, %q, %v", head, text, err)
		}
		if head, text, err := open(t, d, "/docs/é?b=1&a=2"); err != nil || text != "query" || !strings.HasSuffix(head, "\nX-Added: yes\n") {
			t.Errorf("%q, %q, %v", head, text, err)
		}
		if len(w.requests) != read+2 {
			t.Errorf("%d requests for two documents: are the sitemaps read again?", len(w.requests)-read)
		}
		for path, want := range map[string]error{
			"/docs/moved": mobile.NotFound, "/docs/unlisted": mobile.NotFound, "/docs/é?a=2&b=1": mobile.NotFound, "/docs/?server-status=1": mobile.NotFound, "/docs/closed/": mobile.Forbidden,
			"/other/": mobile.Forbidden, "/docs/../a.xml": mobile.Forbidden, "/docs/#a": mobile.NotFound, "@other.example/docs/": mobile.NotFound, "//other.example/docs/": mobile.Forbidden,
		} {
			if _, text, err := open(t, d, path); !errors.Is(err, want) {
				t.Errorf("%s: %q, %v, want %v", path, text, err, want)
			}
		}
		for _, r := range w.requests {
			if r.Host != "www.example.org" || r.Method != "GET" || r.Header.Get("X-Forwarded-Proto") != "https" || !strings.HasPrefix(r.UserAgent(), "ExampleBot ") || r.Header.Get("Accept-Encoding") != "identity" {
				t.Errorf("%s %s of %s with %q", r.Method, r.URL, r.Host, r.Header)
			}
		}
		if _, err := openDocuments(t.Context(), w.plan(t, func(o *Options) { o.Base += "docs/" }), "/other/", "ExampleBot"); !errors.Is(err, mobile.Forbidden) {
			t.Errorf("a subtree outside of the base: %v", err)
		}
	})
}

// TestServerWithRoot: the root shows which documents there are, and the server has them.
func TestServerWithRoot(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWebServer(t, map[string]http.HandlerFunc{
			"/docs/": says("from the server", "X-Robots-Tag", "noindex"), "/docs/p.php": says("made"), "/docs/none.html": says("secret"), "/docs/a%20b.html": says("a b"), "/docs/large.txt": says("small"),
			"/docs/closed/a.html": says("closed"), "/docs/a.html?x": says("secret"), "/docs/out.html": says("secret"),
			"/robots.txt": says("User-agent: *\nDisallow: /docs/closed\nDisallow: /docs/v2\n"),
		})
		p := w.plan(t, func(o *Options) { o.Root, o.Extensions = newRoot(t), append(o.Extensions, "php") })
		d := openDocs(t, p, "/docs/")
		list, err := d.List(t.Context(), "", mobile.MaxPart)
		if got := strings.Split(string(list), "\x00"); err != nil || len(got) != len(listed)+1 || !slices.Contains(got, "/docs/p.php") || slices.Contains(got, "/docs/v2/a.txt") {
			t.Errorf("%q, %v", got, err)
		}
		for path, want := range map[string]string{"/docs/": "from the server", "/docs/p.php": "made", "/docs/a b.html": "a b", "/docs/large.txt": "small"} {
			if head, text, err := open(t, d, path); err != nil || text != want || strings.Contains(head, "noindex") != (path == "/docs/") {
				t.Errorf("%s: %q, %q, %v", path, head, text, err)
			}
		}
		for path, want := range map[string]error{
			"/docs/none.html": mobile.NotFound, "/docs/a.html": mobile.NotFound, "/docs/a.html?x": mobile.NotFound, "/docs/out.html": mobile.NotFound, "/docs/closed/a.html": mobile.Forbidden,
		} {
			if _, text, err := open(t, d, path); !errors.Is(err, want) {
				t.Errorf("%s: %q, %v, want %v", path, text, err, want)
			}
		}
	})
}

// TestServerAnswers: what the server may answer, and what a robot learns of it.
func TestServerAnswers(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		status := func(code int) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
		}
		raw := func(answer string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				c, b, err := w.(http.Hijacker).Hijack()
				if err == nil {
					_, err = b.WriteString(answer)
				}
				if err := errors.Join(err, b.Flush(), c.Close()); err != nil {
					t.Error(err)
				}
			}
		}
		unknown := func(n int) http.HandlerFunc { // without a Content-Length
			return func(w http.ResponseWriter, _ *http.Request) {
				w.(http.Flusher).Flush()
				_, _ = io.WriteString(w, strings.Repeat("x", n))
			}
		}
		wait := func(begin string) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, begin)
				if begin != "" {
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}
		}
		const headLines = len("Status: 200\nContent-Type: text/plain; charset=utf-8\nContent-Length: 1\nLink: \n")
		cases := []struct {
			what   string
			answer http.HandlerFunc
			want   error
		}{
			{"ok", says("x"), nil}, {"nothing", says(""), nil}, {"at the limit", says(strings.Repeat("x", 1000)), nil}, {"over it", says(strings.Repeat("x", 1001)), mobile.TooLarge},
			{"a length that is not known", unknown(10), nil}, {"likewise, at the limit", unknown(1000), nil}, {"likewise, over it", unknown(1001), mobile.TooLarge}, {"an endless one", func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					if _, err := w.Write(make([]byte, 1000)); err != nil {
						return
					}
				}
			}, mobile.TooLarge},
			{"redirect", status(308), mobile.NotFound}, {"none", status(404), mobile.NotFound}, {"gone", status(410), mobile.NotFound}, {"forbidden", status(403), mobile.NotFound}, {"no content", status(204), mobile.NotFound},
			{"too many", status(429), mobile.Unreadable}, {"a failure", status(500), mobile.Unreadable}, {"busy", status(503), mobile.Unreadable},
			{"compressed", says("x", "Content-Encoding", "gzip"), mobile.Unreadable}, {"not compressed", says("x", "Content-Encoding", "identity"), nil},
			{"a head at the limit", says("x", "Link", strings.Repeat("l", maxHead-headLines)), nil}, {"a head over it", says("x", "Link", strings.Repeat("l", maxHead-headLines+1)), mobile.Unreadable},
			{"a head without an end", says("x", "X-Long", strings.Repeat("l", 2*maxAnswerHead)), mobile.Unreadable},
			{"no HTTP", raw("hello\r\n"), mobile.Unreadable}, {"half an answer", raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), mobile.Unreadable}, {"half a chunk", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"), mobile.Unreadable},
			{"no answer", wait(""), mobile.Unreadable}, {"half an answer, and then nothing", wait("x"), mobile.Unreadable},
		}
		answers := map[string]http.HandlerFunc{}
		var locs []string
		for i, c := range cases {
			locs = append(locs, fmt.Sprintf("/docs/%d", i))
			answers[locs[i]] = c.answer
		}
		answers["/sitemap.xml"] = says(urlset(locs...))
		d := openDocs(t, newWebServer(t, answers).plan(t, nil), "/docs/")
		for i, c := range cases {
			began := time.Now()
			head, text, err := open(t, d, locs[i])
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %.100q, %d octets, %v, want %v", c.what, head, len(text), err, c.want)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("%s: it took %s", c.what, took)
			}
			if err == mobile.TooLarge {
				if n, err := d.Read(t.Context(), make([]byte, 1)); err != mobile.NotOpen {
					t.Errorf("%s: afterwards %d octets can be read, %v", c.what, n, err)
				}
			}
		}
	})
}

// TestServerOfRobotsTxt: robots.txt comes from the server, and closes everything if it cannot be
// read.
func TestServerOfRobotsTxt(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWebServer(t, map[string]http.HandlerFunc{"/sitemap.xml": says(urlset("/docs/a")), "/docs/a": says("a")})
		p := w.plan(t, nil)
		for _, c := range []struct {
			answer http.HandlerFunc
			open   bool
		}{
			{http.NotFound, true}, {says(""), true}, {says("User-agent: *\nDisallow: /docs\n"), false},
			{func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, false}, {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(301) }, false},
			{func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false},
		} {
			w.set("/robots.txt", c.answer)
			d := openDocs(t, p, "/docs/")
			_, _, err := open(t, d, "/docs/a")
			if (err == nil) != c.open || !c.open && !errors.Is(err, mobile.Forbidden) {
				t.Errorf("%v, want open: %t", err, c.open)
			}
		}
		w.set("/robots.txt", nil)
		w.set("/sitemap.xml", nil)
		if _, err := openDocs(t, p, "/docs/").List(t.Context(), "", 100); !errors.Is(err, mobile.Unreadable) || !strings.Contains(err.Error(), "404") {
			t.Errorf("without a sitemap: %v", err)
		}
		// Sitemaps that take too long: the host works no longer than the robot may.
		w.set("/sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				time.Sleep(time.Second)
				_, _ = io.WriteString(w, "/docs/a\n")
				w.(http.Flusher).Flush()
			}
		})
		began := time.Now()
		_, err := openDocs(t, p, "/docs/").List(t.Context(), "", 100)
		if took := time.Since(began); !errors.Is(err, mobile.Unreadable) || took > p.CPU {
			t.Errorf("a slow sitemap: %v after %s", err, took)
		}
	})
}

// TestSitemapsAreLimited: a listing has no more documents, octets and sitemaps than it may have.
func TestSitemapsAreLimited(t *testing.T) {
	l := &listing{paths: make([]string, maxListed-1)}
	if err := errors.Join(l.page("/a"), l.page("/b")); err != errListed && !errors.Is(err, errListed) || len(l.paths) != maxListed {
		t.Errorf("%d documents, %v", len(l.paths), err)
	}
	l = &listing{bytes: maxListedBytes - 2}
	if err := l.page("/a"); err != nil {
		t.Error(err)
	}
	if err := l.page("/"); err != errListed || len(l.paths) != 1 {
		t.Errorf("%d octets, %v", l.bytes, err)
	}
	simnet.Test(t, func(t *testing.T) {
		var index strings.Builder
		for i := range maxSitemaps + 5 {
			fmt.Fprintf(&index, "<sitemap><loc>/%d.txt</loc></sitemap>", i)
		}
		w := newWebServer(t, map[string]http.HandlerFunc{"/sitemap.xml": says("<sitemapindex>" + index.String() + "</sitemapindex>"), "/0.txt": says("https://www.example.org/docs/a\n")})
		d := openDocs(t, w.plan(t, nil), "/docs/")
		if list, err := d.List(t.Context(), "", 100); err != nil || string(list) != "/docs/a\x00" || len(w.requests) != maxSitemaps+1 {
			t.Errorf("%q, %v, %d requests", list, err, len(w.requests))
		}
	})
}

// TestServerIsHere: no setting leads to another machine, and no address is dialled there.
func TestServerIsHere(t *testing.T) {
	base, err := canon.Parse("https://www.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"http://127.0.0.1:8080", "https://127.1.2.3", "http://[::1]:80/", "http://localhost:8080", "https://LOCALHOST"} {
		s, err := newSiteServer(raw, base, nil)
		if err != nil || s.forwarded != strings.HasPrefix(raw, "http:") || s.transport.TLSClientConfig.ServerName != "www.example.org" {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{
		"", "127.0.0.1:8080", "http://", "http://192.0.2.1", "http://10.0.0.1:8080", "http://www.example.org", "http://localhost.example.org", "http://127.0.0.1.example.org", "http://0.0.0.0:8080", "http://[::]:80",
		"http://[::1%25eth0]:80", "http://a@127.0.0.1", "http://127.0.0.1/docs", "http://127.0.0.1?a", "ftp://127.0.0.1", "unix:///run/nginx", "http://127.0.0.1:99999999999999999999/%zz",
	} {
		if _, err := newSiteServer(raw, base, nil); err == nil || !strings.Contains(err.Error(), "use for example http://127.0.0.1:8080") {
			t.Errorf("%q: %v", raw, err)
		}
	}
	dialled := []string{}
	refused := func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, errors.New("refused")
	}
	for _, address := range []string{"localhost:1", "127.0.0.1:2", "192.0.2.1:3", "www.example.org:4", "[fe80::1]:5", "nonsense"} {
		if _, err := dialLoopback(t.Context(), refused, "tcp", address); err == nil {
			t.Errorf("%s is dialled", address)
		}
	}
	if want := []string{"127.0.0.1:1", "[::1]:1", "127.0.0.1:2"}; !slices.Equal(dialled, want) {
		t.Errorf("dialled %q, want %q", dialled, want)
	}
}

// Every canonical path arrives at the server as it is.
func TestServerGetsCanonicalPaths(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWebServer(t, nil)
		s := w.plan(t, nil).server
		for c := 1; c < 256; c++ {
			u, err := canon.Parse("https://www.example.org/a" + string([]byte{byte(c)}) + "b?c" + string([]byte{byte(c)}) + "d")
			if err != nil {
				t.Fatal(err)
			}
			res, err := s.get(t.Context(), "ExampleBot", u.PathQuery())
			if err != nil {
				t.Fatalf("%s: %v", u, err)
			}
			if got := w.requests[len(w.requests)-1].RequestURI; got != u.PathQuery() {
				t.Errorf("%s arrives as %s", u.PathQuery(), got)
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCheckWithServer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWebServer(t, map[string]http.HandlerFunc{"/sitemap.xml": says(urlset("/docs/a", "/docs/b")), "/docs/a": says("a")})
		o := w.plan(t, func(o *Options) { o.Headers = []Header{{"/private/", "X-Robots-Tag", "noindex"}} }).Options
		robot, err := ParseRobot(RobotLine("example", mobile.KeyText(make([]byte, 32)), "/docs/"))
		if err != nil {
			t.Fatal(err)
		}
		o.Allowed = []Robot{robot}
		var out bytes.Buffer
		if err := Check(t.Context(), o, &out); err != nil || !strings.Contains(out.String(), "http://127.0.0.1:8080") || !strings.Contains(out.String(), "/private/ X-Robots-Tag: noindex") || !strings.Contains(out.String(), "sees 2 documents") {
			t.Errorf("%v\n%s", err, out.String())
		}
		w.set("/docs/a", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://www.example.org/docs/a", 301)
		})
		if err := Check(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "redirect to \"https://www.example.org/docs/a\"") || !strings.Contains(err.Error(), "set server") {
			t.Errorf("%v", err)
		}
		w.set("/robots.txt", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
		if err := Check(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "robots.txt cannot be read") || !strings.Contains(err.Error(), "setting server") {
			t.Errorf("%v", err)
		}
	})
}

// FuzzAnswer: whatever the server sends, a head is lines of names and values within its limit, and
// no more of a body comes out than there was.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noindex\r\nContent-Length: 2\r\n\r\nab"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nLink: a\r\n b\r\n\r\n2\r\nab\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200\r\nVary: \x7f\r\n\r\nab"))
	f.Add([]byte("HTTP/1.1 301 Moved\r\nLocation: /x\r\n\r\n"))
	base, err := canon.Parse("https://www.example.org/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		s, err := newSiteServer("http://127.0.0.1:8080", base, func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 4096)) // the request
				_, _ = theirs.Write(answer)
				_ = theirs.Close()
			}()
			return ours, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		res, head, err := s.document(t.Context(), "ExampleBot", "/docs/", 1000)
		if err != nil {
			if code := mobile.Code(0); !errors.As(err, &code) {
				t.Fatal(err)
			}
			return
		}
		defer res.Body.Close()
		lines, ok := strings.CutSuffix(string(head), "\n")
		if !ok || len(head) > maxHead {
			t.Errorf("%q", head)
		}
		for line := range strings.SplitSeq(lines, "\n") {
			if name, _, ok := strings.Cut(line, ": "); !ok || name == "" || strings.ContainsAny(line, "\r\x00") {
				t.Errorf("a line of the head is %q", line)
			}
		}
		if body, _ := io.ReadAll(res.Body); len(body) > len(answer) {
			t.Errorf("%d octets came out of %d", len(body), len(answer))
		}
	})
}
