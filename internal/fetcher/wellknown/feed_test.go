package wellknown

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/sitemap"
)

// Whatever a feed and its header say, a hub is a canonical URL, and the name of the feed is on
// its own origin. Without a hub it has no name.
func FuzzHub(f *testing.F) {
	const at = canon.URL("https://a.example/feed")
	for _, link := range []string{
		`<https://hub.example/>; rel="hub", </own>; rel=self`, `<>; rel=hub`, `<//hub.example>; rel="Self HUB"; type="x, <y>"`,
		`<https://u:p@hub.example/>;rel=hub`, `<x;rel=hub`, `,;<a>;;rel=hub,`, strings.Repeat(`<mailto:x>;rel=hub,`, 30),
	} {
		f.Add(link, `<feed><link rel="hub" href="http://hub.example/"/><link rel="self" href="http://b.example/feed"/></feed>`)
	}
	f.Add("", `<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link rel="hub" href="/hub"/><atom:link rel="self" href="/own"/></channel></rss>`)
	f.Fuzz(func(t *testing.T, link, body string) {
		// What is wrong with the feed does not matter here.
		sum, _ := sitemap.ReadFeed(strings.NewReader(body), sitemap.Options{MaxBytes: 64 << 10, MaxEntries: 10}, func(sitemap.Entry) error { return nil })
		r := &list{base: canon.NewBase(at), sum: sum}
		hub, self := r.hub(at, http.Header{"Link": {link}})
		if (hub == "") != (self == "") || self != "" && self.Origin() != at.Origin() {
			t.Errorf("hub %q, self %q", hub, self)
		}
		for _, u := range []canon.URL{hub, self} {
			if again, err := canon.Parse(string(u)); u != "" && (err != nil || again != u) {
				t.Errorf("%q is %q, %v", u, again, err)
			}
		}
	})
}

// feedRequest asks for a feed of host, which pages of v.test announce.
func feedRequest(path string) crawl.AuxRequest {
	return crawl.AuxRequest{Kind: crawl.AuxFeed, URL: canon.URL("http://h.test" + path), Origin: vouching, Hop: 3}
}

var vouching = canon.URL("http://v.test/").Origin()

// The entries of a feed are published as links with their dates, at the depth of the request: those
// of its own host and of the host that announces it.
func TestFeedIsRead(t *testing.T) {
	const items = `<item><link>/1</link><pubDate>Thu, 19 Nov 2026 10:30:00 GMT</pubDate></item><item><link>http://v.test/2</link></item><item><link>http://x.test/3</link></item>`
	rss := `<rss><channel><ttl>30</ttl>` + items + `</channel></rss>`
	var long strings.Builder
	for i := range MaxFeedEntries + 1 {
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
		"a sitemap": {"", `<urlset><url><loc>http://h.test/1</loc></url></urlset>`, 200, nil, crawl.Feed{Status: 200, Reason: "it is neither RSS nor Atom"}, 0},
		"a list":    {"", "http://h.test/1\n", 200, nil, crawl.Feed{Status: 200, Reason: "it is neither RSS nor Atom"}, 0},
		"nofollow":  {"", rss, 200, map[string]string{"X-Robots-Tag": "nofollow"}, crawl.Feed{Status: 200, Reason: "its header forbids following its links (nofollow)"}, 0},
		"closed":    {"User-agent: *\nDisallow: /feed", rss, 200, nil, crawl.Feed{Reason: "robots: line 2: Disallow: /feed"}, 0},
		"at the limit": {"", "<rss>" + strings.TrimSuffix(long.String(), fmt.Sprintf("<item><link>/%d</link></item>", MaxFeedEntries)) + "</rss>", 200, nil,
			crawl.Feed{Status: 200, Read: true, Entries: MaxFeedEntries}, MaxFeedEntries},
		"past the limit": {"", "<rss>" + long.String() + "</rss>", 200, nil,
			crawl.Feed{Status: 200, Read: true, Entries: MaxFeedEntries, Reason: "only a part was read"}, MaxFeedEntries},
		"too long": {"", "<rss>" + items + "<!--" + strings.Repeat(strings.Repeat("x", 1000)+"--><!--", 4200) + "--></rss>", 200, nil,
			crawl.Feed{Status: 200, Read: true, Entries: 2, Skipped: 1, Reason: "only a part was read"}, 2},
		"no end": {"", "<rss>" + items, 200, nil, crawl.Feed{Status: 200, Read: true, Entries: 2, Skipped: 1, Reason: "only a part was read"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				// Its dates may be a day in the future.
				time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
				read := fetch(t, feedRequest("/feed.xml"), tt.robots, func(w http.ResponseWriter, _ *http.Request) {
					for k, v := range tt.header {
						w.Header().Set(k, v)
					}
					w.WriteHeader(tt.status)
					io.WriteString(w, tt.body)
				})
				got := *read.answer.Feed
				got.Digest, got.Scope = 0, 0
				if strings.HasPrefix(got.Reason, "only a part was read") {
					got.Reason = "only a part was read"
				}
				if got != tt.want || !read.done {
					t.Errorf("%+v, want %+v", got, tt.want)
				}
				var links []string
				for _, l := range read.links {
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
				if len(links) != tt.links || slices.Contains(links, "http://x.test/3") {
					t.Errorf("%d links, want %d", len(links), tt.links)
				}
			})
		})
	}
}

// The request has the validators of the last answer, and a 304 is reported. A redirect that leaves
// the host becomes a request to the host that it leads to.
func TestFeedConditionsAndRedirects(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		answer := func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/moved":
				http.Redirect(w, r, "http://v.test/feed", http.StatusMovedPermanently)
			case r.Header.Get("If-None-Match") == `"7"`:
				w.WriteHeader(http.StatusNotModified)
			}
		}
		aux := feedRequest("/feed")
		aux.ETag = `"7"`
		if f := fetch(t, aux, "", answer).answer.Feed; !f.NotModified || f.Status != 304 || f.Read || f.Again {
			t.Errorf("%+v", f)
		}
		got := fetch(t, feedRequest("/moved"), "", answer)
		f, next := got.answer.Feed, got.aux
		if f.Read || f.Again || f.Status != 301 || !strings.Contains(f.Reason, "http://v.test/feed") || len(next) != 1 || next[0].URL != "http://v.test/feed" || next[0].Hop != 3 || next[0].Origin != vouching {
			t.Errorf("%+v, %+v", f, next)
		}
	})
}

// A feed names its hub in its Link fields or in itself. Its own name is on its own origin.
func TestFeedNamesItsHub(t *testing.T) {
	for name, tt := range map[string]struct {
		link, body string
		hub, self  canon.URL
	}{
		"in itself":     {"", `<feed><link rel=hub href="http://hub.test/"/><link rel=self href="/own"/></feed>`, "http://hub.test/", "http://h.test/own"},
		"in its header": {`<http://hub.test/2>; rel="hub", </own2>; rel=self`, `<feed><link rel=hub href="http://hub.test/"/></feed>`, "http://hub.test/2", "http://h.test/own2"},
		"for another":   {"", `<feed><link rel=hub href="http://hub.test/"/><link rel=self href="http://v.test/feed"/></feed>`, "http://hub.test/", "http://h.test/feed"},
		"none":          {"", `<feed><link rel=self href="/own"/></feed>`, "", ""},
		"no URL":        {"", `<feed><link rel=hub href="mailto:x"/></feed>`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				f := fetch(t, feedRequest("/feed"), "", func(w http.ResponseWriter, _ *http.Request) {
					if tt.link != "" {
						w.Header().Set("Link", tt.link)
					}
					io.WriteString(w, tt.body)
				}).answer.Feed
				if !f.Read || f.Hub != tt.hub || f.Self != tt.self {
					t.Errorf("%+v, want %s %s", f, tt.hub, tt.self)
				}
			})
		})
	}
}
