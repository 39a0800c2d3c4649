package fetcher

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// origin serves f under every host name and counts requests by path.
func origin(t testing.TB, f http.HandlerFunc) (addr string) {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

func TestVisitEndToEnd(t *testing.T) {
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed\n")
		case "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<title>home</title><a href="/a">a</a> <a href="http://other.test/x">x</a> <a href="mailto:a@b">m</a>`)
		case "/moved":
			http.Redirect(w, r, "/a", http.StatusMovedPermanently)
		case "/noindex":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<meta name=robots content=noindex><a href="/b">b</a>`)
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			w.Write(make([]byte, 100))
		case "/error":
			w.WriteHeader(500)
		default:
			http.NotFound(w, r)
		}
	})
	d := newDesk(t, 4)
	startFetcher(t, d, testSpec(4, addr), Options{})
	id := d.grant(visitTo(t, "http://h.test/", "http://h.test/moved", "http://h.test/noindex", "http://h.test/image",
		"http://h.test/error", "http://h.test/closed/x", "http://h.test/none"))
	out := d.outcome(id)
	want := []string{"stored ", "redirected redirect", "refused noindex", "refused type", "retry http-5xx", "refused robots", "failed http-4xx"}
	if len(out.Results) != len(want) {
		t.Fatalf("%d results: %+v", len(out.Results), out.Results)
	}
	for i, r := range out.Results {
		if got := r.Class.String() + " " + string(r.Reason); got != want[i] {
			t.Errorf("%s: %s (%s), want %s", r.URL, got, r.Rule, want[i])
		}
	}
	if out.Requests != 7 || !out.Private {
		t.Errorf("outcome %+v", out)
	}
	if f := d.facts(); len(f) != 1 || f[0].State != crawl.RobotsParsed || f[0].Fresh != 24*time.Hour {
		t.Errorf("facts %+v", f)
	}
	links := d.links()
	for _, u := range []string{"http://h.test/a", "http://other.test/x", "http://h.test/b"} {
		if _, ok := links[mustURL(t, u)]; !ok {
			t.Errorf("no link %s in %v", u, links)
		}
	}
	p := d.pageOf("http://h.test/")
	if body := string(unpack(t, p)); !strings.Contains(body, "<title>home") || p.ContentType != "text/html" || p.Charset != "utf-8" {
		t.Errorf("page %+v %q", p, body)
	}
}
