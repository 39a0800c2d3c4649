package simulation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simweb"
)

// web makes the web of a world with feeders: a few small sites that answer quickly. Some hosts
// serve the pages of the first one.
func (f *feeds) web() simweb.Config {
	r := f.r
	cfg := simweb.Config{
		Seed: r.Int64(), Hosts: 3 + r.IntN(3), PagesPerHost: 3 + r.IntN(5), PageBytes: 500, PageSpread: 0.5, LinksPerPage: 4, CrossLinks: 1,
		Behaviors: map[int]simweb.Behavior{},
	}
	features := []simweb.Feature{simweb.FeatureTags, simweb.FeatureStatuses, simweb.FeatureRedirects, simweb.FeatureTypes, simweb.FeatureDataRecords}
	for i := range cfg.Hosts {
		b := simweb.Behavior{Robots: simweb.RobotsAllowAll, DataRows: 5, Latency: time.Duration(r.IntN(60)) * ms}
		if r.IntN(3) == 0 {
			b.Features = append(b.Features, features[r.IntN(len(features))])
		}
		if i > 1 && r.IntN(3) == 0 {
			b.CopyOf, b.Features = hostName(0), nil
			b.Robots, b.RobotsText = simweb.RobotsCustom, robotsOf(r.IntN(2))
			f.copies = append(f.copies, hostName(i))
		}
		cfg.Behaviors[i] = b
	}
	return cfg
}

func hostName(i int) string { return fmt.Sprintf("h%04d.sim.test", i) }

// robotsOf is the robots.txt of a copy: one that names the first host as the main one, or none, or
// another host.
func robotsOf(kind int) string {
	switch kind {
	case 0:
		return "User-agent: *\nHost: " + hostName(0) + "\n"
	case 1:
		return "User-agent: *\nDisallow:\n"
	}
	return "User-agent: *\nHost: " + hostName(1) + "\n"
}

// moveCopies changes what the copies of the first host say about it.
func (f *feeds) moveCopies() {
	for _, host := range f.copies {
		kind := f.r.IntN(3)
		f.w.web.SetRobots(host, robotsOf(kind), nil)
		f.w.note("the robots.txt of %s is now %q", host, robotsOf(kind))
	}
}

// setUp changes the spec of a world with feeders.
func (f *feeds) setUp(spec *crawl.Spec) {
	spec.Shards = 1 + f.r.IntN(3)
	for _, host := range f.copies {
		spec.Seeds = append(spec.Seeds, "http://"+host+"/")
	}
	if f.r.IntN(2) == 0 {
		spec.Recrawl, spec.RecrawlMin, spec.RecrawlMax = true, 15*time.Second, 30*time.Second
	}
}

// plan makes a plan of what changes: pages, the spec, and the feeders.
func (f *feeds) plan() {
	at := func(do func()) { f.w.later(time.Duration(f.r.Int64N(int64(busy-5*time.Second))), do) }
	for range 10 + f.r.IntN(20) {
		at(func() { f.changePage(true) })
	}
	for range f.r.IntN(4) {
		at(f.changeSpec)
	}
	if f.r.IntN(3) == 0 {
		at(f.loseStore)
	}
	for _, fl := range f.followers {
		if f.r.IntN(3) == 0 {
			at(fl.changeOptions)
		}
		for range f.r.IntN(3) {
			at(fl.breakConnections)
		}
	}
}

// loseStore kills an indexer together with its disk: its pages are crawled again.
func (f *feeds) loseStore() {
	for _, s := range f.w.all {
		if s.role != "indexer" || s.life == nil || !s.life.kill() {
			continue
		}
		f.w.note("%s is killed; its disk is lost", s.life)
		s.over()
		s.loseDisk()
		f.w.later(pause(f.r), s.start)
		return
	}
}

// changePage changes a random page. With fetch, it is usually fetched again soon, also if the crawl
// does not do so by itself.
func (f *feeds) changePage(fetch bool) {
	r, web := f.r, f.w.web
	hosts := web.Hosts()
	all := web.PageURLs(hosts[r.IntN(len(hosts))])
	u := all[r.IntN(len(all))]
	other := all[r.IntN(len(all))]
	f.changes++
	page := func(head string) string {
		return fmt.Sprintf("<!DOCTYPE html><html><head><title>Change %d</title>%s</head><body><p>Text %d of this page.</p></body></html>\n", f.changes, head, r.IntN(3))
	}
	what := ""
	set := func(a *simweb.Answer, why string) {
		web.Override(u, a)
		what = why
	}
	if f.changed[u] && r.IntN(2) == 0 {
		set(nil, "is what it was")
		delete(f.changed, u)
	} else if n := r.IntN(14); n < 5 {
		web.Change(u)
		what = "changes"
	} else {
		f.changed[u] = true
		switch n {
		case 5, 6:
			set(&simweb.Answer{Status: []int{http.StatusNotFound, http.StatusGone}[r.IntN(2)]}, "vanishes")
		case 7:
			set(&simweb.Answer{Body: page(`<meta name="robots" content="noindex">`)}, "has noindex")
		case 8:
			set(&simweb.Answer{Header: []string{"X-Robots-Tag: noindex"}, Body: page("")}, "has noindex in its header")
		case 9:
			set(&simweb.Answer{Body: page(`<meta name="robots" content="noarchive">`)}, "has noarchive")
		case 10:
			set(&simweb.Answer{Status: http.StatusMovedPermanently, Header: []string{"Location: " + other}}, "is redirected to "+other)
		case 11:
			until := time.Now().Add(time.Duration(r.IntN(40)) * time.Second)
			if until.After(f.until) {
				f.until = until
			}
			end := until.UTC().Format(time.RFC850)
			set(&simweb.Answer{Header: []string{"X-Robots-Tag: unavailable_after: " + end}, Body: page("")}, "is there until "+end)
		case 12:
			set(&simweb.Answer{Status: http.StatusInternalServerError}, "fails")
		case 13:
			set(&simweb.Answer{Body: page(fmt.Sprintf("<link rel=canonical href=%q>", other))}, "has the canonical address "+other)
		}
	}
	f.w.note("%s %s", u, what)
	if fetch && r.IntN(4) > 0 {
		f.w.later(time.Duration(r.Int64N(int64(3*time.Second))), func() { f.refetch([]string{u}) })
	}
}

// refetch makes pages due for another fetch. A broker that is away loses the request.
func (f *feeds) refetch(urls []string) {
	ctx, cancel := context.WithTimeout(f.w.t.Context(), 10*time.Second)
	defer cancel()
	if err := asker.Submit(ctx, f.w.q, f.w.spec, asker.Refetches(f.w.spec, urls)); err != nil {
		f.w.note("%d URLs are not requested again: %v", len(urls), err)
	}
}

// siteRules are files of site rules. The last one skips pages, and puts some out of scope.
var siteRules = []string{
	"",
	"sites:\n  \"*.sim.test\":\n    fields:\n      kind: {path: '^/([a-z]+)/', default: home}\n      name: {css: title}\n",
	"sites:\n  \"*.sim.test\":\n    fields:\n      part: {path: '/p(\\d+)', type: number}\n    content: {drop: [p]}\n",
	"sites:\n  h0001.sim.test:\n    skip:\n      - {css: title, matches: \"[02468]\"}\n  \"*.sim.test\":\n    exclude: [\"/notes/**\"]\n",
}

// changeSpec changes the settings of the crawl, as an operator does while it runs.
func (f *feeds) changeSpec() {
	r, w := f.r, f.w
	next := w.spec
	switch r.IntN(5) {
	case 0, 1:
		hosts := w.web.Hosts()
		host := hosts[r.IntN(len(hosts))]
		all := w.web.PageURLs(host)
		entry := all[r.IntN(len(all))]
		if r.IntN(4) == 0 && host != hostName(0) {
			entry = host
		}
		undo := len(next.Forgotten) > 0 && r.IntN(3) == 0
		if undo {
			entry = next.Forgotten[r.IntN(len(next.Forgotten))]
		}
		var err error
		if next, _, err = next.Forget(entry, undo); err != nil {
			w.t.Error(err)
		}
		w.note("forgotten: %q", next.Forgotten)
	case 2, 3:
		next.Sites = siteRules[r.IntN(len(siteRules))]
		w.note("site rules: %q", next.Sites)
	case 4:
		if next.Exclude == nil {
			next.Exclude = []string{[]string{"/notes/", "p[13]\\.html", "^http://h0001"}[r.IntN(3)]}
		} else {
			next.Exclude = nil
		}
		w.note("exclude: %q", next.Exclude)
	}
	w.setSpec(next)
}

// setSpec gives the services another spec, each a moment later than the others.
func (w *world) setSpec(next crawl.Spec) {
	w.spec = next
	for _, s := range w.all {
		l := s.life
		if l == nil {
			continue
		}
		w.later(time.Duration(w.feeds.r.Int64N(int64(3*time.Second))), func() {
			if s.life != l || l.isDead() {
				return
			}
			if err := l.setSpec(w.spec); err != nil {
				w.fail("spec", "%s: %v", l, err)
			}
		})
	}
}
