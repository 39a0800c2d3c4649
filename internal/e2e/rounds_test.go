package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// A crawl of a site with rounds: in each round every page is requested once, with conditions,
// whatever is stopped meanwhile. What has changed is stored again, what was deleted is removed, and
// the delay is kept.
func TestRoundsOfASite(t *testing.T) { simnet.Test(t, testRoundsOfASite) }

func testRoundsOfASite(t *testing.T) {
	const pages, delay = 8, 20 * time.Millisecond
	web := serve(t, simweb.Config{Seed: 9, Hosts: 2, PagesPerHost: pages, LinksPerPage: 20, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll}
	}})
	spec := specFor(web)
	spec.Delay = delay
	spec.SetEvery(4*time.Second, time.Now())
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	var at crawl.Round
	over := func(least int) func() bool {
		return func() bool {
			st, err := asker.Status(t.Context(), r.q, r.spec)
			if err != nil || st.Round == nil || st.Stored == 0 {
				return false
			}
			at = *st.Round
			return at.Over && at.Number >= least
		}
	}
	r.until("all pages are stored", func() bool { return len(r.listed()) == 2*pages })
	was := r.listed()
	r.until("a round is over", over(1))
	var changed, gone string
	for _, q := range pageRequests(web)[pages/2:] {
		u := "http://" + q.Host + q.Path
		switch {
		case changed == "":
			changed = u
		case gone == "" && q.Path != "/":
			gone = u
		}
	}
	web.Change(changed)
	web.Override(gone, &simweb.Answer{Status: 404, Body: "gone"})
	r.until("two more rounds are over", over(at.Number+2))
	now := r.listed()
	if _, there := now[gone]; there || len(now) != 2*pages-1 {
		t.Errorf("%d pages are stored, the deleted one among them: %v", len(now), there)
	}
	for u, p := range now {
		if other := p.SHA256 != was[u].SHA256; other != (u == changed) {
			t.Errorf("%s is another page: %v", u, other)
		}
	}
	r.stop()
	r.start(r.dir, fetcher.Options{})
	r.until("a round after a restart is over", over(at.Number+1))
	r.stop()

	asked := map[string]int{} // by URL and round
	full := map[string]int{}  // answers with a body
	for _, q := range pageRequests(web) {
		u := "http://" + q.Host + q.Path
		round, _ := spec.RoundAt(q.Start)
		if asked[fmt.Sprint(u, " in round ", round.Number)]++; q.Status == 200 {
			full[u]++
		}
	}
	for what, n := range asked {
		if n > 1 && what[:len(gone)] != gone {
			t.Errorf("%d requests for %s", n, what)
		}
	}
	for u := range was {
		if want := map[string]int{changed: 2}[u]; full[u] != max(want, 1) {
			t.Errorf("%s was sent %d times", u, full[u])
		}
	}
	politeLog(t, web.Log(), requestlog.CheckOptions{Token: token, Delay: requestlog.Every(delay), RobotsMaxAge: time.Hour})
}
