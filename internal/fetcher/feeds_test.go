package fetcher

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A page's feeds are offered once in a visit, to the shards of their hosts, if the crawl reads
// feeds and the links of the page may be followed.
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
