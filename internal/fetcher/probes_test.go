package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/datatxt"
	"github.com/curtsy/curtsy/pkg/robots"
)

const dataYAML = "- path: iris/data.csv\n  rows: 150\n"

// dataSite answers /data.txt with f and everything else with an empty page, and keeps
// the order of requests.
func dataSite(t testing.TB, robotsTxt string, f http.HandlerFunc) (addr string, asked func() string) {
	var mu sync.Mutex
	var paths []string
	addr = origin(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		switch {
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, robotsTxt)
		case strings.Contains(r.URL.Path, "data"):
			f(w, r)
		default:
			w.Header().Set("Content-Type", "text/html")
		}
	})
	return addr, func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(paths, " ") }
}

func probesOf(d *desk) (all []crawl.Probe) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		all = append(all, e.Probes...)
		for _, a := range e.Answers {
			all = append(all, a.Probe)
		}
	}
	return all
}

func TestDataTxt(t *testing.T) {
	text := func(body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			io.WriteString(w, body)
		}
	}
	for _, tt := range []struct {
		name, robots string
		f            http.HandlerFunc
		state        crawl.ProbeState
		fresh        time.Duration
		deleted      crawl.Reason // of the page; "-": there is no page
		asked        string
	}{
		{"read", "", text(dataYAML, "Cache-Control", "max-age=7200"), crawl.ProbeRead, 2 * time.Hour, "", "/robots.txt /data.txt /a /b"},
		{"no lifetime", "", text(dataYAML), crawl.ProbeRead, datatxt.DefaultLifetime, "", "/robots.txt /data.txt /a /b"},
		{"absent", "", status(404), crawl.ProbeAbsent, datatxt.DefaultLifetime, crawl.ReasonHTTP4xx, "/robots.txt /data.txt /a /b"},
		{"forbidden", "", status(403), crawl.ProbeAbsent, datatxt.DefaultLifetime, crawl.ReasonHTTP4xx, "/robots.txt /data.txt /a /b"},
		{"soft 404", "", text("<html>not found", "Content-Type", "text/html"), crawl.ProbeAbsent, datatxt.DefaultLifetime, crawl.ReasonType, "/robots.txt /data.txt /a /b"},
		{"failed", "", status(500), crawl.ProbeFailed, datatxt.MinLifetime, "-", "/robots.txt /data.txt /a /b"},
		{"reset", "", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, crawl.ProbeFailed, datatxt.MinLifetime, "-", "/robots.txt /data.txt /data.txt /a /b"},
		{"overloaded", "", status(503, "Retry-After", "7200"), crawl.ProbeFailed, 2 * time.Hour, "-", "/robots.txt /data.txt"},
		{"disallowed", "User-agent: *\nDisallow: /data\n", text(dataYAML), crawl.ProbeRefused, robots.MaxAge, crawl.ReasonRobots, "/robots.txt /a /b"},
		{"noindex", "", text(dataYAML, "X-Robots-Tag", "noindex"), crawl.ProbeRefused, datatxt.DefaultLifetime, crawl.ReasonNoindex, "/robots.txt /data.txt /a /b"},
		{"moved", "", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/data.txt" {
				http.Redirect(w, r, "/x/data.txt", http.StatusFound)
				return
			}
			text(dataYAML)(w, r)
		}, crawl.ProbeRead, datatxt.DefaultLifetime, "", "/robots.txt /data.txt /x/data.txt /a /b"},
		{"moved to where we may not", "User-agent: *\nDisallow: /x\n", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x/data.txt", http.StatusFound)
		}, crawl.ProbeRefused, robots.MaxAge, crawl.ReasonRobots, "/robots.txt /data.txt /a /b"},
		{"moved in a circle", "", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/data.txt", http.StatusFound) },
			crawl.ProbeAbsent, datatxt.DefaultLifetime, crawl.ReasonRedirects, "/robots.txt /data.txt /a /b"},
		{"moved away", "", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.test/d", http.StatusFound)
		}, crawl.ProbePending, datatxt.MinLifetime, "-", "/robots.txt /data.txt /a /b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr, asked := dataSite(t, tt.robots, tt.f)
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				v := visitTo(t, "http://h.test/a", "http://h.test/b")
				o := v.URLs[0].URL.Origin()
				v.Robots = []crawl.Robots{{Origin: o, ProbeData: true}}
				d.outcome(d.grant(v))
				probes := probesOf(d)
				if len(probes) != 1 || probes[0].State != tt.state || probes[0].Fresh != tt.fresh || probes[0].Origin != o {
					t.Fatalf("probes %+v", probes)
				}
				if p := probes[0]; tt.state != crawl.ProbeRead && tt.state != crawl.ProbePending && p.Reason == "" ||
					tt.state == crawl.ProbePending && (p.Location != "http://other.test/d" || p.Redirects != 1) {
					t.Errorf("%+v", p)
				}
				if got := asked(); got != tt.asked {
					t.Errorf("asked for %s, want %s", got, tt.asked)
				}
				if tt.deleted == "-" {
					return
				}
				var page crawl.Page
				for end := time.Now().Add(ample); page.Kind != crawl.KindData && time.Now().Before(end); time.Sleep(time.Millisecond) {
					d.mu.Lock()
					for _, p := range d.pages {
						if p.Kind == crawl.KindData {
							page = p
						}
					}
					d.mu.Unlock()
				}
				if page.Origin != o || page.Deleted != tt.deleted || (tt.deleted == "") != (string(unpackOrNil(t, page)) == dataYAML) {
					t.Errorf("page %+v", page)
				}
				if tt.deleted == "" && (page.Fresh != tt.fresh || page.ContentType != "text/plain") {
					t.Errorf("page %+v", page)
				}
			})
		})
	}
}

func unpackOrNil(t testing.TB, p crawl.Page) []byte {
	if len(p.Body) == 0 {
		return nil
	}
	return unpack(t, p)
}

// A request for another origin obeys the rules of the host to which a redirect leads, and its page
// goes to the shard of that origin.
func TestDataAuxRequest(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, asked := dataSite(t, "User-agent: *\nDisallow: /closed\n", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, dataYAML)
		})
		d := newDesk(t, 4)
		startFetcher(t, d, testSpec(4, addr), Options{})
		claimant := canon.Origin{Scheme: "http", Host: "claimant.test", Port: 80}
		v := crawl.Visit{Host: "h.test", Shard: 1}
		for _, path := range []string{"/data", "/closed/data"} {
			v.Aux = append(v.Aux, crawl.AuxRequest{Kind: crawl.AuxData, URL: mustURL(t, "http://h.test"+path), Origin: claimant, Hop: 1, ReplyShard: 3})
		}
		out := d.outcome(d.grant(v))
		probes := probesOf(d)
		for end := time.Now().Add(ample); len(probes) < 2 && time.Now().Before(end); probes = probesOf(d) {
			time.Sleep(time.Millisecond) // their log is read separately
		}
		if len(out.Done) != 2 || len(probes) != 2 || probes[0].State != crawl.ProbeRead || probes[1].State != crawl.ProbeRefused || probes[0].Origin != claimant {
			t.Errorf("%+v, outcome %+v", probes, out)
		}
		if got := asked(); got != "/robots.txt /data" {
			t.Errorf("asked for %s", got)
		}
		if got := offered(d); got != "" {
			t.Errorf("offered %s, which is for the origin that has the file to do", got)
		}
		if p := d.pageOf("http://h.test/data"); p.Kind != crawl.KindData || p.Origin != claimant || string(unpack(t, p)) != dataYAML {
			t.Errorf("%+v", p)
		}
	})
}

// The robots.txt of a host that is too busy to answer is requested once, and not in each visit as
// long as a data.txt of another origin redirects there.
func TestDataAuxRequestOnABusyHost(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		claimant := canon.Origin{Scheme: "http", Host: "claimant.test", Port: 80}
		out := d.outcome(d.grant(crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{
			{Kind: crawl.AuxData, URL: "http://h.test/data", Origin: claimant, Hop: 1},
		}}))
		if probes := probesOf(d); out.Requests != 1 || len(out.Done) != 1 || len(probes) != 1 || probes[0].State != crawl.ProbeFailed {
			t.Errorf("%+v, outcome %+v", probes, out)
		}
	})
}

// A URL that was accepted before Clean-param was known leads to its clean spelling, without a
// request.
func TestCleanParam(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var asked []string
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.String())
			if r.URL.Path == "/robots.txt" {
				fmt.Fprint(w, "User-agent: *\nClean-param: sid /shop\nDisallow: /shop/closed\n")
			}
			w.Header().Set("Content-Type", "text/html")
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := visitTo(t, "http://h.test/shop?sid=1&id=7", "http://h.test/shop?id=7", "http://h.test/other?sid=1", "http://h.test/shop/closed?sid=2")
		v.URLs[0].Depth, v.URLs[0].Redirects = 3, 2
		out := d.outcome(d.grant(v))
		if got := classes(out); got != "redirected/clean-param stored stored refused/robots" || out.Results[0].Location != "http://h.test/shop?id=7" {
			t.Errorf("%s %+v", got, out.Results[0])
		}
		if l := d.links()["http://h.test/shop?id=7"]; l.Depth != 3 || l.Redirects != 2 || l.FoundOn != v.URLs[0].URL {
			t.Errorf("%+v", d.links())
		}
		if got := strings.Join(asked, " "); got != "/robots.txt /shop?id=7 /other?sid=1" {
			t.Errorf("asked for %s", got)
		}
	})
}
