package wellknown

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// sitemapRoom is a shard that reads sitemaps, if its spec wants that.
func sitemapRoom(t *testing.T, wanted bool) *room {
	r := newRoom(t, func(s *shardtest.Shard) []hosts.Feature {
		return []hosts.Feature{NewSitemaps(s.Features, s.Ledger, s.Polite, s.URLs).SitemapsFeature()}
	})
	r.respec(func(s *crawl.Spec) { s.Sitemaps = wanted })
	return r
}

// learned gives an origin a robots.txt, and the sitemaps that it names to their hosts.
func (r *room) learned(h *hosts.Host, i int, text string) {
	r.Helper()
	f := crawl.Robots{Origin: h.Origins[i].Origin, State: crawl.RobotsParsed, Status: 200, Body: []byte(text), Digest: make([]byte, 32), Fresh: 24 * time.Hour}
	now := time.Now()
	if err := h.Origins[i].KeepRobots(&f, robots.Parse(f.Body), false, now); err != nil {
		r.Fatal(err)
	}
	if err := r.Features.AskOrigin(h, i, now); err != nil {
		r.Fatal(err)
	}
	events, _ := r.Sent()
	for _, ev := range events[0] {
		for _, e := range ev.Aux {
			r.add(e)
		}
	}
}

// add adds an auxiliary request.
func (r *room) add(e crawl.AuxRequest) {
	r.Helper()
	if err := r.Features.AddAux(e, time.Now()); err != nil {
		r.Fatal(err)
	}
}

// Sitemaps are read for a host with URLs, while the spec wants that, and not from more indexes in
// indexes than there are steps.
func TestSitemapsAreNotRequested(t *testing.T) {
	r := sitemapRoom(t, false)
	h, _ := r.visited("a.example")
	if r.learned(h, 0, "Sitemap: /s1.xml\n"); len(h.Aux) != 0 {
		t.Errorf("the spec does not want them: %+v", h.Aux)
	}
	r = sitemapRoom(t, true)
	h, i := r.Host("a.example")
	if r.learned(h, i, "Sitemap: /s1.xml\n"); len(h.Aux) != 0 {
		t.Errorf("a host without URLs: %+v", h.Aux)
	}
	e := crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: "http://a.example/s", Origin: h.Origins[i].Origin, Hop: SitemapIndexes + 1}
	if r.add(e); len(h.Aux) != 0 {
		t.Errorf("too deep: %+v", h.Aux)
	}
	e.Hop--
	if r.add(e); len(h.Aux) != 1 {
		t.Errorf("%+v, want one request", h.Aux)
	}
}

// A robots.txt may name so many sitemaps of its own host and of others, and so many are stored for
// a host. A few of them at a time are auxiliary requests.
func TestSitemapLimits(t *testing.T) {
	r := sitemapRoom(t, true)
	h, i := r.Host("a.example")
	h.Stored = 1
	var lines strings.Builder
	for i := range MaxOwnSitemaps + 5 {
		fmt.Fprintf(&lines, "Sitemap: /s%d.xml\nSitemap: http://b.example/%d\n", i, i)
	}
	r.learned(h, i, lines.String())
	b, _ := r.Host("b.example")
	if h.Sitemaps != MaxOwnSitemaps || b.Sitemaps != MaxOtherSitemaps {
		t.Errorf("%d sitemaps of its own host and %d of another one by one robots.txt", h.Sitemaps, b.Sitemaps)
	}
	if n := len(h.Aux); n == 0 || n > SitemapAux {
		t.Errorf("%d auxiliary requests, want 1 to %d", n, SitemapAux)
	}
	b.Sitemaps = MaxHostSitemaps - 1
	for _, path := range []string{"last", "late", "later"} {
		r.add(crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: canon.URL("http://b.example/" + path), Origin: canon.URL("http://b.example/").Origin()})
	}
	if b.Sitemaps != MaxHostSitemaps || b.SitemapsDue != MaxOtherSitemaps+1 {
		t.Errorf("%d sitemaps of one host, %d due", b.Sitemaps, b.SitemapsDue)
	}
}
