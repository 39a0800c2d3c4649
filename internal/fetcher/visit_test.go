package fetcher

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// origin serves f under every host name and counts requests by path.
func origin(t testing.TB, f http.HandlerFunc) (addr string) {
	t.Helper()
	return wiretest.HTTP(t, simnet.Of(t), f).Listener.Addr().String()
}

func TestVisitEndToEnd(t *testing.T) {
	virtual(t, func(t *testing.T) {
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
	})
}

// open is a robots.txt state that lets a visit begin with pages.
func open(v crawl.Visit) crawl.Visit {
	for _, u := range v.URLs {
		v.Robots = append(v.Robots, crawl.Robots{Origin: u.URL.Origin(), State: crawl.RobotsUnavailable, Fresh: time.Hour})
	}
	return v
}

func classes(out crawl.Outcome) string {
	var s []string
	for _, r := range out.Results {
		c := r.Class.String()
		if r.Reason != "" {
			c += "/" + string(r.Reason)
		}
		s = append(s, c)
	}
	return strings.Join(s, " ")
}

func TestOverloadEndsTheVisit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var n atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			switch r.URL.Path {
			case "/429":
				w.Header().Set("Retry-After", "120")
				w.WriteHeader(429)
			case "/503":
				w.Header().Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
				w.WriteHeader(503)
			default:
				w.WriteHeader(404)
			}
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		out := d.outcome(d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/429", "http://h.test/b", "http://h.test/c"))))
		if got := classes(out); got != "failed/http-4xx retry/overload returned returned" || n.Load() != 2 ||
			out.RetryAfter != 2*time.Minute || out.Overloads != 1 || out.Requests != 2 {
			t.Errorf("%s, %d requests, %+v", got, n.Load(), out)
		}
		out = d.outcome(d.grant(open(visitTo(t, "http://h.test/503", "http://h.test/b"))))
		if out.RetryAfter < 30*time.Second || out.RetryAfter > time.Minute || classes(out) != "retry/overload returned" {
			t.Errorf("%s %+v", classes(out), out)
		}
	})
}

func TestSilenceEndsTheVisit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, wiretest.Nobody), Options{})
		out := d.outcome(d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/b", "http://h.test/c", "http://h.test/d"))))
		if classes(out) != "retry/connect retry/connect returned returned" || out.Timeouts != 2 || out.Requests != 2 || !out.Private {
			t.Errorf("%s %+v", classes(out), out)
		}
	})
}

// Timeouts double the delay for the rest of the visit.
func TestBackOffWithinAVisit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-r.Context().Done()
			}
			w.WriteHeader(404)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{FirstByte: 2 * time.Second})
		v := open(visitTo(t, "http://h.test/slow", "http://h.test/b"))
		v.Delay = 70 * time.Millisecond
		out := d.outcome(d.grant(v))
		if classes(out) != "retry/timeout failed/http-4xx" || out.Delay != 200*time.Millisecond || out.Timeouts != 1 {
			t.Errorf("%s %+v", classes(out), out)
		}
	})
}

// Two visits to a host at the same time are a mistake of a frontier. No request is sent in the
// second one.
func TestTwoVisitsAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var under, most atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if n := under.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(30 * time.Millisecond)
			under.Add(-1)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		var ids []crawl.VisitID
		for range 4 {
			ids = append(ids, d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/b", "http://h.test/c"))))
		}
		for _, id := range ids {
			d.outcome(id)
		}
		if most.Load() != 1 {
			t.Errorf("%d requests at once", most.Load())
		}
	})
}

// A page that meets a mistake of ours is tried again later. The visit, its slot and the host are
// not affected.
func TestMistakeOnAPage(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/x">x</a>`)
		})
		d := newDesk(t, 1)
		f, stop := startFetcher(t, d, testSpec(1, addr), Options{Slots: 1})
		good := f.cfg.Load()
		broken := *good
		broken.Scope = nil
		f.cfg.Store(&broken)
		out := d.outcome(d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/b"))))
		if classes(out) != "retry/protocol returned" || out.Requests != 1 {
			t.Errorf("%s %+v", classes(out), out)
		}
		f.cfg.Store(good)
		if out := d.outcome(d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/b")))); classes(out) != "stored stored" {
			t.Error(classes(out))
		}
		stop()
	})
}

// What a site wrote and we store with each URL is short, however long it is there.
func TestDetailsAreShort(t *testing.T) {
	virtual(t, func(t *testing.T) {
		rule := "Disallow: /closed" + strings.Repeat("%61", 7000)
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				fmt.Fprint(w, "User-agent: *\n"+rule+"*\nDisallow: /shut*"+strings.Repeat("*", 8000)+"\n")
				return
			}
			w.Header().Set("Content-Type", "x/"+strings.Repeat("y", 60000))
			w.Header().Set("Location", "ftp://"+strings.Repeat("z", 1500))
			if r.URL.Path == "/away" {
				w.WriteHeader(302)
			}
			fmt.Fprint(w, "x")
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		out := d.outcome(d.grant(visitTo(t, "http://h.test/a", "http://h.test/shut", "http://h.test/away")))
		for i, want := range []string{"x/yyy", "Disallow: /shut***", `"ftp://zzz`} {
			r := out.Results[i]
			if len(r.Rule) > crawl.MaxDetail || !strings.HasPrefix(r.Rule, want) || i < 2 && !strings.Contains(r.Rule, " bytes)") {
				t.Errorf("%s: %d bytes: %q", r.URL, len(r.Rule), r.Rule)
			}
		}
	})
}
