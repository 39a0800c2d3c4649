package fetcher

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// feedRequest is a visit that is to read a feed of h.test, announced by pages of v.test.
func feedRequest(path string) crawl.Visit {
	u := canon.URL("http://h.test" + path)
	return crawl.Visit{Host: "h.test", Aux: []crawl.AuxRequest{{Kind: crawl.AuxFeed, URL: u, Origin: vouching, Hop: 3}},
		Robots: []crawl.Robots{{Origin: originH, State: crawl.RobotsUnavailable, Fresh: time.Hour}}}
}

// A feed is read as any URL of its host; its entries are told as links with their dates before the
// answer, those of its own host and of the host that announces it, at the depth that was asked for.
// What is no feed, or closed, is none.
func TestFeedIsRead(t *testing.T) {
	const items = `<item><link>/1</link><pubDate>Thu, 19 Nov 2026 10:30:00 GMT</pubDate></item><item><link>http://v.test/2</link></item><item><link>http://x.test/3</link></item>`
	rss := `<rss><channel><ttl>30</ttl>` + items + `</channel></rss>`
	var long strings.Builder
	for i := range wellknown.MaxFeedEntries + 1 {
		fmt.Fprintf(&long, "<item><link>/%d</link></item>", i)
	}
	for name, tt := range map[string]struct {
		robots, body string
		status       int
		header       map[string]string
		want         crawl.Feed
		links        int
	}{
		"rss":       {"", rss, 200, map[string]string{"Etag": `"1"`}, crawl.Feed{Status: 200, Read: true, Entries: 2, Skipped: 1, ETag: `"1"`, MinInterval: 30 * time.Minute}, 2},
		"not now":   {"", rss, 503, nil, crawl.Feed{Status: 503, Again: true, Reason: "overload: HTTP 503"}, 0},
		"gone":      {"", rss, 410, nil, crawl.Feed{Status: 410, Reason: "HTTP 410"}, 0},
		"a page":    {"", "<html><a href=/1>", 200, nil, crawl.Feed{Status: 200, Reason: "it is neither RSS nor Atom"}, 0},
		"a sitemap": {"", urlset("http://h.test/1"), 200, nil, crawl.Feed{Status: 200, Reason: "it is neither RSS nor Atom"}, 0},
		"a list":    {"", "http://h.test/1\n", 200, nil, crawl.Feed{Status: 200, Reason: "it is neither RSS nor Atom"}, 0},
		"nofollow":  {"", rss, 200, map[string]string{"X-Robots-Tag": "nofollow"}, crawl.Feed{Status: 200, Reason: "its header forbids following its links (nofollow)"}, 0},
		"closed":    {"User-agent: *\nDisallow: /feed", rss, 200, nil, crawl.Feed{Reason: "robots: line 2: Disallow: /feed"}, 0},
		"at the limit": {"", "<rss>" + strings.TrimSuffix(long.String(), fmt.Sprintf("<item><link>/%d</link></item>", wellknown.MaxFeedEntries)) + "</rss>", 200, nil,
			crawl.Feed{Status: 200, Read: true, Entries: wellknown.MaxFeedEntries}, wellknown.MaxFeedEntries},
		"past the limit": {"", "<rss>" + long.String() + "</rss>", 200, nil,
			crawl.Feed{Status: 200, Read: true, Entries: wellknown.MaxFeedEntries, Reason: "only a part was read"}, wellknown.MaxFeedEntries},
		"too long": {"", "<rss>" + items + "<!--" + strings.Repeat(strings.Repeat("x", 1000)+"--><!--", 4200) + "--></rss>", 200, nil,
			crawl.Feed{Status: 200, Read: true, Entries: 2, Skipped: 1, Reason: "only a part was read"}, 2},
		"no end": {"", "<rss>" + items, 200, nil, crawl.Feed{Status: 200, Read: true, Entries: 2, Skipped: 1, Reason: "only a part was read"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						io.WriteString(w, tt.robots)
						return
					}
					for k, v := range tt.header {
						w.Header().Set(k, v)
					}
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				})
				d := newDesk(t, 4)
				spec := testSpec(4, addr)
				spec.Scope = "any"
				startFetcher(t, d, spec, Options{})
				v := feedRequest("/feed.xml")
				if tt.robots != "" {
					v.Robots = nil
				}
				d.outcome(d.grant(v))
				got := d.feedAnswer()
				got.Digest, got.Scope = 0, 0
				if strings.HasPrefix(got.Reason, "only a part was read") {
					got.Reason = "only a part was read"
				}
				if got != tt.want {
					t.Errorf("%+v, want %+v", got, tt.want)
				}
				var links []string
				for _, e := range d.events {
					for _, l := range e.Links {
						if l.Source != crawl.SourceFeed || l.Depth != 3 || l.FoundOn != "http://h.test/feed.xml" || len(l.Mods) != 0 && len(l.Mods) != len(l.URLs) {
							t.Errorf("%+v", l)
						}
						for i, u := range l.URLs {
							if u == "http://h.test/1" && name == "rss" && l.Mods[i] != time.Date(2026, 11, 19, 10, 30, 0, 0, time.UTC).Unix() {
								t.Errorf("dated %v", l.Mods)
							}
							links = append(links, string(u))
						}
					}
				}
				if len(links) != tt.links || slices.Contains(links, "http://x.test/3") {
					t.Errorf("%d links, want %d", len(links), tt.links)
				}
			})
		})
	}
}

// feedAnswer is the answer that was told of a feed.
func (d *desk) feedAnswer() (f crawl.Feed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, e := range d.events {
		for _, a := range e.Answers {
			if a.Feed != nil {
				f = *a.Feed
				n++
			}
		}
	}
	if n != 1 {
		d.t.Errorf("%d answers", n)
	}
	return f
}

// Conditions are those of the last answer, and a 304 says so; a redirect that leaves the host is an
// errand for the host it leads to.
func TestFeedConditionsAndRedirects(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var conditions []string
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			conditions = append(conditions, r.URL.Path+" "+r.Header.Get("If-None-Match"))
			switch {
			case r.URL.Path == "/moved":
				http.Redirect(w, r, "http://v.test/feed", http.StatusMovedPermanently)
			case r.Header.Get("If-None-Match") == `"7"`:
				w.WriteHeader(http.StatusNotModified)
			}
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := feedRequest("/feed")
		v.Aux[0].ETag = `"7"`
		d.outcome(d.grant(v))
		if f := d.feedAnswer(); !f.NotModified || f.Status != 304 || f.Read || f.Again {
			t.Errorf("%+v; asked %v", f, conditions)
		}
		d = newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		d.outcome(d.grant(feedRequest("/moved")))
		f, next := d.feedAnswer(), []crawl.AuxRequest(nil)
		for _, e := range d.events {
			next = append(next, e.Aux...)
		}
		if f.Read || f.Again || f.Status != 301 || !strings.Contains(f.Reason, "http://v.test/feed") || len(next) != 1 || next[0].URL != "http://v.test/feed" || next[0].Hop != 3 || next[0].Origin != vouching {
			t.Errorf("%+v, %+v", f, next)
		}
	})
}

// A page's feeds are offered once a visit, to the shards of their hosts, where feeds are wanted and
// the page's links may be followed.
func TestFeedsAreAnnounced(t *testing.T) {
	const page = `<head><link rel=alternate type="application/rss+xml" href=/1><link rel="alternate stylesheet" type=text/css href=/2><link rel=alternate type=application/atom+xml href=http://v.test/3></head>`
	for name, tt := range map[string]struct {
		page string
		spec func(s *crawl.Spec)
		want []string
	}{
		"wanted":        {page, func(*crawl.Spec) {}, []string{"http://h.test/1", "http://h.test/linked", "http://v.test/3"}},
		"nofollow":      {"<meta name=robots content=nofollow>" + page, func(*crawl.Spec) {}, nil},
		"not wanted":    {page, func(s *crawl.Spec) { s.Feeds = false }, nil},
		"no re-crawl":   {page, func(s *crawl.Spec) { s.Recrawl = false }, nil},
		"one page only": {page, func(s *crawl.Spec) { s.Scope = "page" }, nil},
		"no links":      {page, func(s *crawl.Spec) { s.MaxDepth = 0 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/html")
					w.Header().Set("Link", `</linked>; rel="alternate"; type="application/rss+xml", </other>; rel=alternate; type=text/html`)
					io.WriteString(w, tt.page)
				})
				d := newDesk(t, 4)
				spec := testSpec(4, addr)
				spec.Recrawl, spec.Feeds = true, true
				tt.spec(&spec)
				startFetcher(t, d, spec, Options{})
				d.outcome(d.grant(crawl.Visit{Host: "h.test", URLs: []crawl.VisitURL{{URL: "http://h.test/", Depth: 1}, {URL: "http://h.test/b", Depth: 1}},
					Robots: []crawl.Robots{{Origin: originH, State: crawl.RobotsUnavailable, Fresh: time.Hour}}}))
				var got []string
				d.mu.Lock()
				defer d.mu.Unlock()
				for i, e := range d.events {
					for _, x := range e.Aux {
						if x.Kind != crawl.AuxFeed || x.Hop != 2 || x.Origin != originH || d.shards[i] != crawl.ShardOf(x.URL.Host(), 4) {
							t.Errorf("%+v in shard %d", x, d.shards[i])
						}
						got = append(got, string(x.URL))
					}
				}
				if slices.Sort(got); !slices.Equal(got, tt.want) {
					t.Errorf("announced %v, want %v", got, tt.want)
				}
			})
		})
	}
}
