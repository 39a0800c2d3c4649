package fetcher

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	gcstats "runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

func zip(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func urlset(locs ...string) string {
	var b strings.Builder
	b.WriteString("<urlset>")
	for _, l := range locs {
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>", l)
	}
	return b.String() + "</urlset>"
}

var vouching = canon.URL("http://v.test/").Origin()

// sitemapVisit is a visit with one auxiliary request for a sitemap, on an origin without rules.
func sitemapVisit(path string) crawl.Visit {
	u := canon.URL("http://h.test" + path)
	return crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{{Kind: crawl.AuxSitemap, URL: u, Origin: vouching}},
		Robots: []crawl.Robots{{Origin: originH, State: crawl.RobotsUnavailable, Fresh: time.Hour}}}
}

// reported returns the links, their times and the auxiliary requests that were published to a desk,
// in order, and checks their shards.
func (d *desk) reported(shards int) (links []string, mods []int64, aux []crawl.AuxRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, e := range d.events {
		for _, l := range e.Links {
			if l.Source != crawl.SourceSitemap || l.Depth != 1 || l.Redirects != 0 || len(l.Mods) != 0 && len(l.Mods) != len(l.URLs) {
				d.t.Errorf("links %+v", l)
			}
			for j, u := range l.URLs {
				if crawl.ShardOf(u.Host(), shards) != d.shards[i] {
					d.t.Errorf("%s told shard %d", u, d.shards[i])
				}
				links = append(links, string(u))
				if len(l.Mods) > 0 {
					mods = append(mods, l.Mods[j])
				} else {
					mods = append(mods, 0)
				}
			}
		}
		for _, e := range e.Aux {
			if e.ReplyShard != d.shards[i] || e.ReplyShard != crawl.ShardOf(e.URL.Host(), shards) {
				d.t.Errorf("auxiliary request %+v in shard %d", e, d.shards[i])
			}
			aux = append(aux, e)
		}
	}
	return links, mods, aux
}

func TestSitemap(t *testing.T) {
	page := `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
		<url><loc>http://h.test/a?x=1&amp;y=2#f</loc><lastmod>2026-03-04</lastmod></url>
		<url><loc>/relative</loc></url>
		<url><loc>http://v.test/b</loc><lastmod>2999-01-01</lastmod></url>
		<url><loc>http://stranger.test/c</loc></url>
		<url><loc>mailto:x</loc></url>
		<url><loc></loc></url>
		<url><loc>http://h.test/out/of/scope</loc></url></urlset>`
	index := `<sitemapindex><sitemap><loc>http://h.test/one.xml.gz</loc></sitemap><sitemap><loc>http://v.test/two.xml</loc></sitemap>
		<sitemap><loc>http://stranger.test/three.xml</loc></sitemap><sitemap><loc>/index.xml</loc></sitemap></sitemapindex>`
	const three = "http://h.test/a?x=1&y=2 http://h.test/relative http://v.test/b"
	child := func(u string, hop int) crawl.AuxRequest {
		return crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: canon.URL(u), Origin: vouching, Hop: hop, ReplyShard: crawl.ShardOf(canon.URL(u).Host(), 4)}
	}
	plain := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, page) }
	for _, tt := range []struct {
		name  string
		path  string
		hop   int
		f     http.HandlerFunc
		want  crawl.Sitemap
		links string // the links that are found, sorted
		aux   []crawl.AuxRequest
	}{
		{"urlset", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `W/"1"`)
			w.Header().Set("Last-Modified", "Thu, 19 Nov 2026 10:00:00 GMT")
			plain(w, r)
		}, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 4, Skipped: 3, ETag: `W/"1"`, LastModified: "Thu, 19 Nov 2026 10:00:00 GMT"}, three, nil},
		{"gzip by name", "/s.xml.gz", 0, saying(zip(t, page)), crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 4, Skipped: 3}, three, nil},
		{"gzip by header", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, zip(t, page))
		}, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 4, Skipped: 3}, three, nil},
		{"gzip twice", "/s.xml.gz", 0, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, zip(t, zip(t, page)))
		}, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 4, Skipped: 3}, three, nil},
		{"text", "/s.txt", 1, saying("http://h.test/1\nhttp://v.test/2\n"), crawl.Sitemap{Status: 200, Read: true, Form: "text", Entries: 2}, "http://h.test/1 http://v.test/2", nil},
		{"feed", "/rss", 0, saying(`<rss><channel><item><link>http://h.test/n</link></item></channel></rss>`), crawl.Sitemap{Status: 200, Read: true, Form: "feed", Entries: 1}, "http://h.test/n", nil},
		{"index", "/index.xml", 0, saying(index), crawl.Sitemap{Status: 200, Read: true, Form: "index", Entries: 2, Skipped: 2}, "",
			[]crawl.AuxRequest{child("http://h.test/one.xml.gz", 1), child("http://v.test/two.xml", 1)}},
		{"index of an index", "/index.xml", 1, saying(index), crawl.Sitemap{Status: 200, Read: true, Form: "index", Entries: 2, Skipped: 2}, "",
			[]crawl.AuxRequest{child("http://h.test/one.xml.gz", 2), child("http://v.test/two.xml", 2)}},
		{"index too deep", "/index.xml", 2, saying(index), crawl.Sitemap{Status: 200, Read: true, Form: "index", Skipped: 4, Reason: "it is an index nested more than 2 deep"}, "", nil},
		{"broken off", "/s.xml", 0, saying(page[:strings.Index(page, "<url><loc>http://v.test")]), crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 2, Reason: "it cannot be read to the end"}, "http://h.test/a?x=1&y=2 http://h.test/relative", nil},
		{"not one", "/s.xml", 0, saying("<!doctype html><title>oops"), crawl.Sitemap{Status: 200, Reason: "it is neither"}, "", nil},
		{"empty", "/s.xml", 0, saying(""), crawl.Sitemap{Status: 200, Reason: "it is neither"}, "", nil},
		{"nofollow", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Robots-Tag", "none")
			plain(w, r)
		}, crawl.Sitemap{Status: 200, Reason: "its header forbids following"}, "", nil},
		{"noindex", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Robots-Tag", "noindex, follow")
			plain(w, r)
		}, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 4, Skipped: 3}, three, nil},
		{"none", "/s.xml", 0, http.NotFound, crawl.Sitemap{Status: 404, Reason: "HTTP 404"}, "", nil},
		{"broken", "/s.xml", 0, status(500), crawl.Sitemap{Status: 500, Reason: "HTTP 500"}, "", nil},
		{"overloaded", "/s.xml", 0, status(503), crawl.Sitemap{Status: 503, Reason: "overload: HTTP 503"}, "", nil},
		{"304 unasked", "/s.xml", 0, status(304), crawl.Sitemap{Status: 304, Reason: "HTTP 304"}, "", nil},
		{"cut", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100000")
			w.Header().Set("ETag", `"1"`)
			plain(w, r)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, crawl.Sitemap{Status: 200, Entries: 4, Skipped: 3, Reason: "network: "}, "", nil},
		{"redirect", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if r.URL.Path == "/s.xml" {
				http.Redirect(w, r, "/dir/t.xml", http.StatusFound)
				return
			}
			fmt.Fprint(w, urlset("x"))
		}, crawl.Sitemap{Status: 200, Read: true, Form: "urlset", Entries: 1}, "http://h.test/dir/x", nil},
		{"redirect into the closed", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/private/t.xml", http.StatusFound) },
			crawl.Sitemap{Status: 302, Reason: "forgotten"}, "", nil},
		{"redirects for ever", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) },
			crawl.Sitemap{Status: 302, Reason: "location: "}, "", nil},
		{"redirects in a circle", "/s.xml", 0, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, map[string]string{"/s.xml": "/t.xml", "/t.xml": "/s.xml"}[r.URL.Path], http.StatusFound)
		}, crawl.Sitemap{Status: 302, Reason: "location: "}, "", nil},
		{"redirect to nowhere", "/s.xml", 0, status(302), crawl.Sitemap{Status: 302, Reason: "location: "}, "", nil},
		{"another host", "/s.xml", 1, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://x.test/s.xml", http.StatusFound)
		},
			crawl.Sitemap{Status: 302, Reason: "redirect: http://x.test/s.xml"}, "", []crawl.AuxRequest{child("http://x.test/s.xml", 2)}},
		{"another host too many", "/s.xml", 2, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://x.test/s.xml", http.StatusFound)
		},
			crawl.Sitemap{Status: 302, Reason: "redirects: "}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, tt.f)
				d := newDesk(t, 4)
				spec := testSpec(4, addr)
				spec.Exclude = []string{"/out/"}
				spec.Forgotten = []string{"http://h.test/private/"}
				startFetcher(t, d, spec, Options{})
				v := sitemapVisit(tt.path)
				v.Aux[0].Hop, v.Aux[0].ReplyShard = tt.hop, 3
				v.Delay = time.Millisecond
				out := d.outcome(d.grant(v))
				a := d.answersOf(1)[0]
				got := a.Sitemap
				if !strings.HasPrefix(got.Reason, tt.want.Reason) || (got.Reason == "") != (tt.want.Reason == "") {
					t.Errorf("reason %q, want %q", got.Reason, tt.want.Reason)
				}
				if got.Again != (got.Status >= 500 || tt.name == "cut") || (got.Scope == spec.ScopeHash()) != (got.Status != 0) {
					t.Errorf("%+v", got)
				}
				got.Reason, got.Again, got.Scope = tt.want.Reason, false, 0
				if got != tt.want || a.Aux != v.Aux[0] || len(out.Done) != 1 {
					t.Errorf("%+v, want %+v; outcome %+v", got, tt.want, out)
				}
				if got.Status == 503 != (out.Overloads == 1) {
					t.Errorf("outcome %+v", out)
				}
				links, mods, aux := d.reported(4)
				byLink := map[string]int64{}
				for i, l := range links {
					byLink[l] = mods[i]
				}
				slices.Sort(links)
				if s := strings.Join(links, " "); s != tt.links {
					t.Errorf("links %s, want %s", s, tt.links)
				}
				if mod := byLink["http://h.test/a?x=1&y=2"]; tt.links == three && (mod != time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC).Unix() || byLink["http://v.test/b"] != 0) {
					t.Errorf("changes %v", byLink)
				}
				slices.SortFunc(aux, func(a, b crawl.AuxRequest) int { return strings.Compare(string(a.URL), string(b.URL)) })
				if !slices.Equal(aux, tt.aux) {
					t.Errorf("auxiliary requests %+v, want %+v", aux, tt.aux)
				}
				for i, e := range d.events { // the answer comes last
					if len(e.Answers) > 0 && d.shards[i] != 3 {
						t.Errorf("answer in shard %d", d.shards[i])
					}
				}
			})
		})
	}
}

// The rules of the sitemap's own origin apply, whoever names the sitemap.
func TestSitemapObeysRobots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var asked atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				fmt.Fprint(w, "User-agent: *\nDisallow: /maps/\n")
				return
			}
			asked.Add(1)
			http.Redirect(w, r, "/maps/x.xml", http.StatusFound)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		for i, path := range []string{"/maps/s.xml", "/s.xml"} {
			v := sitemapVisit(path)
			v.Robots = nil
			d.outcome(d.grant(v))
			if a := d.answersOf(i + 1)[i]; a.Sitemap.Read || a.Sitemap.Reason != "robots: line 2: Disallow: /maps/" || asked.Load() != int64(i) {
				t.Errorf("%s: %+v after %d requests", path, a.Sitemap, asked.Load())
			}
		}
	})
}

// While robots.txt cannot be fetched, a sitemap is not requested and is read later.
func TestSitemapWaitsForRobots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				t.Errorf("%s was asked for", r.URL)
			}
			w.WriteHeader(500)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := sitemapVisit("/s.xml")
		v.Robots = nil
		if out := d.outcome(d.grant(v)); len(out.Done) != 0 || out.Requests != 1 {
			t.Errorf("%+v", out)
		}
	})
}

func TestSitemapNotModified(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var asked []http.Header
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Header)
			if r.URL.Path == "/moved.xml" {
				http.Redirect(w, r, "/s.xml", http.StatusFound)
				return
			}
			if r.Header.Get("If-None-Match") == `"1"` {
				w.Header().Set("ETag", `"1"`)
				w.WriteHeader(304)
				return
			}
			fmt.Fprint(w, urlset("/x"))
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := sitemapVisit("/s.xml")
		v.Aux = append(v.Aux, v.Aux[0])
		v.Aux[1].URL = "http://h.test/moved.xml"
		for i := range v.Aux {
			v.Aux[i].ETag, v.Aux[i].LastModified = `"1"`, "Thu, 19 Nov 2026 10:00:00 GMT"
		}
		d.outcome(d.grant(v))
		got := d.answersOf(2)
		got[0].Sitemap.Scope = 0
		if s := got[0].Sitemap; s != (crawl.Sitemap{Status: 304, NotModified: true, ETag: `"1"`}) {
			t.Errorf("%+v", s)
		}
		if s := got[1].Sitemap; !s.Read || s.ETag != "" || s.LastModified != "" {
			t.Errorf("moved: %+v", s)
		}
		if len(asked) != 3 || asked[0].Get("If-Modified-Since") != "Thu, 19 Nov 2026 10:00:00 GMT" || asked[1].Get("If-None-Match") == "" || asked[2].Get("If-None-Match") != "" {
			t.Errorf("asked %v", asked)
		}
	})
}

// If the lease ends in the middle, what was read is published, and the request comes again. Then
// all of it is published again.
func TestSitemapInterrupted(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var n atomic.Int64
		hang := make(chan struct{})
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			fmt.Fprint(w, "<urlset>")
			for i := range 10000 {
				fmt.Fprintf(w, "<url><loc>http://h.test/%d</loc></url>%s", i, strings.Repeat(" ", 100))
			}
			if n.Add(1) == 1 {
				w.(http.Flusher).Flush()
				select {
				case <-hang:
				case <-r.Context().Done():
				}
			}
			fmt.Fprint(w, "</urlset>")
		})
		defer close(hang)
		for _, how := range []string{"lost", "stop"} {
			n.Store(0)
			d := newDesk(t, 1)
			_, stop := startFetcher(t, d, testSpec(1, addr), Options{Grace: 6 * time.Second})
			v := sitemapVisit("/s.xml")
			v.Lease = 3 * time.Second
			id := d.grant(v)
			for end := time.Now().Add(ample); len(d.links()) == 0 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if how == "stop" {
				stop()
			} else {
				d.mu.Lock()
				d.lose = true
				d.mu.Unlock()
			}
			if out := d.outcome(id); len(out.Done) != 0 || out.Requests != 1 {
				t.Errorf("%s: outcome %+v", how, out)
			}
			if links, _, _ := d.reported(1); len(links) == 0 {
				t.Errorf("%s: %d links told before", how, len(links))
			}
			for _, e := range d.events {
				if len(e.Answers) > 0 {
					t.Errorf("%s: answered with %+v", how, e.Answers)
				}
			}
			if how == "stop" {
				continue
			}
			d.mu.Lock()
			d.lose, d.events, d.shards = false, nil, nil
			d.mu.Unlock()
			v.Lease = 0
			out := d.outcome(d.grant(v))
			if links, _, _ := d.reported(1); len(links) != 10000 || len(out.Done) != 1 {
				t.Errorf("%d links the second time, %+v", len(links), out)
			}
			if s := d.answersOf(1)[0].Sitemap; !s.Read || s.Entries != 10000 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A log that accepts nothing for a while does not count against the origin.
func TestSitemapWaitsForTheLog(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const whole = 2 * time.Minute
		var body bytes.Buffer
		body.WriteString("<urlset>")
		for i := range 5000 {
			fmt.Fprintf(&body, "<url><loc>http://h.test/%d</loc></url>%s\n", i, strings.Repeat(" ", 200))
		}
		body.WriteString("</urlset>")
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) { w.Write(body.Bytes()) })
		d := newDesk(t, 1)
		var once sync.Once
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := sitemapVisit("/s.xml")
		d.seen = func(_ int, e *crawl.Event) {
			if len(e.Links) > 0 {
				once.Do(func() { time.AfterFunc(whole+time.Second, d.fill(0)) })
			}
		}
		granted := time.Now()
		out := d.outcome(d.grant(v))
		if took := time.Since(granted); took < whole {
			t.Errorf("the log was full for %v", took)
		}
		if s := d.answersOf(1)[0].Sitemap; !s.Read || s.Entries != 5000 || len(out.Done) != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// The limits are counted after decoding. They are those of the protocol, except where a test would
// take too long.
func TestSitemapLimits(t *testing.T) {
	const limit = 2 << 20
	bomb := zip(t, "<urlset>"+strings.Repeat("<x/>", limit/4)+"<url><loc>/late</loc></url></urlset>")
	var many bytes.Buffer
	for i := range sitemap.MaxEntries + 1 {
		fmt.Fprintf(&many, "http://h.test/%d\n", i)
	}
	for _, tt := range []struct {
		name, body string
		encoding   string
		entries    int
		reason     string
	}{
		{"entries", many.String(), "", sitemap.MaxEntries, "only its first 50000 entries were read"},
		{"bytes", bomb, "", 0, "only its first 2 MiB were read"},
		{"bytes of an encoding", bomb, "gzip", 0, "only its first 2 MiB were read"},
		{"a bomb of bombs", zip(t, strings.Repeat(zip(t, ""), 200_000)), "gzip", 0, "it is neither a sitemap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					if tt.encoding != "" {
						w.Header().Set("Content-Encoding", tt.encoding)
					}
					io.WriteString(w, tt.body)
				})
				d := newDesk(t, 1)
				o := Options{maxSitemap: limit}
				if tt.entries > 0 {
					o.maxSitemap = 0
				}
				startFetcher(t, d, testSpec(1, addr), o)
				d.outcome(d.grant(sitemapVisit("/s.xml")))
				if s := d.answersOf(1)[0].Sitemap; s.Entries != tt.entries || !strings.HasPrefix(s.Reason, tt.reason) {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// heapInUse returns the bytes that are in use after a garbage collection.
func heapInUse() uint64 {
	runtime.GC()
	s := []gcstats.Sample{{Name: "/gc/heap/live:bytes"}}
	gcstats.Read(s)
	return s[0].Value.Uint64()
}

// A gzipped sitemap of 50,000 URLs costs less than 50 MiB of memory. Under the race detector, the
// garbage collections take most of the minute for which an outcome is waited.
func TestSitemapMemory(t *testing.T) {
	virtual(t, func(t *testing.T) {
		entries := testaid.Volume(sitemap.MaxEntries, sitemap.MaxEntries/10)
		var b strings.Builder
		b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := range entries {
			fmt.Fprintf(&b, "<url><loc>http://h.test/articles/2026/%d/%x-%s</loc><lastmod>2026-11-%02d</lastmod><changefreq>daily</changefreq></url>\n",
				i, i*i, "what-happened-when-nobody-was-looking", 1+i%19)
		}
		b.WriteString("</urlset>")
		size, body := b.Len(), zip(t, b.String())
		b.Reset()
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, body) })
		d := newDesk(t, 4)
		var links atomic.Int64
		var mu sync.Mutex // guards live and events, because each log is read separately
		var before, live uint64
		var events int
		d.forgets = true
		d.seen = func(_ int, e *crawl.Event) {
			for _, l := range e.Links {
				links.Add(int64(len(l.URLs)))
			}
			mu.Lock()
			defer mu.Unlock()
			if events++; before > 0 && events%8 == 0 {
				// What is allocated during a collection counts as in use. Only what is also in use
				// at the next collection is kept by somebody.
				live = max(live, min(heapInUse(), heapInUse()))
			}
		}
		startFetcher(t, d, testSpec(4, addr), Options{})
		// For buffers, connections, and the server.
		d.outcome(d.grant(open(visitTo(t, "http://h.test/warm"))))
		links.Store(0)
		before = heapInUse()
		d.outcome(d.grant(sitemapVisit("/s.xml.gz")))
		if links.Load() != int64(entries) {
			t.Errorf("%d links", links.Load())
		}
		grown := int64(live) - int64(before)
		t.Logf("%d URLs, %d KiB (%d KiB gzipped): what is in use grew by %d KiB at most, the NATS server included",
			entries, size>>10, len(body)>>10, grown>>10)
		if grown > 40<<20 {
			t.Errorf("what is in use grew by %d MiB", grown>>20)
		}
	})
}
