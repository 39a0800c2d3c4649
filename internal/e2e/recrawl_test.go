package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

// respec changes the spec of the running services.
func (r *rig) respec(change func(*crawl.Spec)) {
	r.t.Helper()
	change(&r.spec)
	if err := r.engine.SetSpec(r.spec); err != nil {
		r.t.Fatal(err)
	}
}

func gather[T any](r *rig, question string, req any, each func(T)) {
	r.t.Helper()
	err := ask.Gather(r.t.Context(), r.q.NC, crawl.Names(r.spec.Name), question, req, r.spec.Shards, func(raw json.RawMessage) error {
		var part T
		err := json.Unmarshal(raw, &part)
		each(part)
		return err
	})
	if err != nil {
		r.t.Fatalf("%s: %v", question, err)
	}
}

// listed returns the pages that the indexer lists.
func (r *rig) listed() map[string]crawl.PageInfo {
	r.t.Helper()
	all := map[string]crawl.PageInfo{}
	gather(r, "pages", nil, func(p crawl.PageInfo) { all[p.URL] = p })
	return all
}

// found returns the hits of a query.
func (r *rig) found(query string) []crawl.Hit {
	r.t.Helper()
	c := asker.Crawl{Spec: r.spec, Queue: r.q}
	a, err := c.Search(r.t.Context(), crawl.SearchRequest{Query: query, Limit: 50})
	if err != nil {
		r.t.Fatal(err)
	}
	return a.Hits
}

func (r *rig) finds(query, url string) bool {
	r.t.Helper()
	return slices.ContainsFunc(r.found(query), func(h crawl.Hit) bool { return h.URL == url })
}

// pageRequests returns the requests in the log for pages, that is, without robots.txt, data.txt and
// sitemap.xml.
func pageRequests(web *website) []requestlog.Request {
	return slices.DeleteFunc(web.Log(), func(q requestlog.Request) bool { return q.Robots || q.Path == "/data.txt" || q.Path == "/sitemap.xml" })
}

// A site of 1,000 pages of 18 KB that has not changed is crawled again: all answers are 304, and
// they have less than 2 % of the bytes of the first crawl, as the server counts them, with their
// heads.
func TestRecrawlOfAnUnchangedSite(t *testing.T) { simnet.Test(t, testRecrawlOfAnUnchangedSite) }

func testRecrawlOfAnUnchangedSite(t *testing.T) {
	const pages = 1000
	web := serve(t, simweb.Config{Seed: 3, Hosts: 1, PagesPerHost: pages, PageBytes: 18 << 10, LinksPerPage: 43, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll}
	}})
	r := newRigWith(t, &rig{t: t, net: web.net, spec: specFor(web), index: true}, fetcher.Options{})
	r.seed()
	first := r.wait(2 * time.Minute)
	if first.Stored != pages {
		t.Fatalf("%+v", first)
	}
	bytesOf := func() (n int64) {
		for _, q := range web.Log() {
			n += q.Bytes
		}
		return n
	}
	before := bytesOf()
	r.until("the indexer has all pages", func() bool { return len(r.listed()) == pages })
	was := r.listed()
	web.ResetLog()
	began := time.Now()
	r.respec(func(s *crawl.Spec) { s.Recrawl, s.RecrawlMin, s.RecrawlMax = true, time.Second, time.Second })
	seen := map[string]bool{}
	r.until("each page is asked for again", func() bool {
		for _, q := range pageRequests(web) {
			seen[q.Path] = true
		}
		return len(seen) == pages
	})
	r.respec(func(s *crawl.Spec) { s.Recrawl = false })
	took := time.Since(began)
	r.until("the last visit is over", func() bool {
		st, err := asker.Status(t.Context(), r.q, r.spec)
		return err == nil && st.InFlight == 0 && st.Shards != nil && !slices.ContainsFunc(st.Shards, func(s crawl.ShardStatus) bool { return s.Outstanding > 0 })
	})
	after, log := bytesOf(), web.Log()
	if len(log) < pages {
		t.Fatalf("%d requests for %d pages", len(log), pages)
	}
	for _, q := range log {
		if q.Status != 304 {
			t.Errorf("%s was answered %d with %d bytes, want 304 only", q.Path, q.Status, q.Bytes)
		}
	}
	t.Logf("first crawl %d bytes for %d pages; again %d bytes in %d answers, all 304, in %v: %.2f %%", before, pages, after, len(log), took.Round(time.Millisecond),
		100*float64(after)/float64(before))
	if before < pages*18<<10 || float64(after) >= 0.02*float64(before) {
		t.Errorf("%d bytes the second time, %d the first: want less than 2 %%", after, before)
	}
	r.until("every page has its new date", func() bool {
		listed := r.listed()
		for u, p := range listed {
			if !p.FetchedAt.After(was[u].FetchedAt) || p.SHA256 != was[u].SHA256 {
				return false
			}
		}
		return len(listed) == pages
	})
	r.accounts()
}

// accounts checks that what the frontier counts as stored is what the indexer lists, exports and
// has, while both run, and in their files after they have stopped. It stops the crawl.
func (r *rig) accounts() {
	t := r.t
	t.Helper()
	r.until("status and pages agree", func() bool {
		st, err := asker.Status(t.Context(), r.q, r.spec)
		return err == nil && st.Stored == int64(len(r.listed()))
	})
	r.stop()
	rd := r.files()
	defer rd.Close()
	st, err := rd.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed, lines := int64(0), new(lineCount)
	if err := questions.Pages.Each(t.Context(), rd, nil, func(crawl.PageInfo) error { listed++; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := rd.Export(t.Context(), crawl.ExportQuery{What: "pages", Format: "jsonl"}, lines); err != nil {
		t.Fatal(err)
	}
	if sum := st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed; sum != st.Discovered {
		t.Errorf("discovered %d, classes add up to %d", st.Discovered, sum)
	}
	x, err := indexer.OpenDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if st.Stored != listed || listed != lines.n || listed != x.Status().Pages {
		t.Errorf("stored %d by status, %d listed, %d exported, %d counted by the store", st.Stored, listed, lines.n, x.Status().Pages)
	}
}

type lineCount struct{ n int64 }

func (c *lineCount) Write(p []byte) (int, error) {
	c.n += int64(strings.Count(string(p), "\n"))
	return len(p), nil
}

// The model: 1,000 pages, of which the same 10 change at the beginning of each round, like news
// pages do; the delay of the host allows requests for a tenth of its pages in a round, that is, a
// round is 100 requests. Each page is due once a round, ten times what the delay allows. A change
// is found if the page is requested before it changes again. Round robin is evaluated on the same
// requests that were sent: at the time of each it would have requested the next page in turn.
//
// TestChangesAreFound of internal/frontier does the same in virtual time, for longer and for other
// models, among them one in which all pages change equally often and nothing can be gained.
func TestRecrawlFindsWhatChanges(t *testing.T) { simnet.Test(t, testRecrawlFindsWhatChanges) }

func testRecrawlFindsWhatChanges(t *testing.T) {
	const pages, hot, budget, rounds = 1000, 10, 100, 12
	web := serve(t, simweb.Config{Seed: 4, Hosts: 1, PagesPerHost: pages, PageBytes: 1 << 10, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll}
	}})
	r := newRigWith(t, &rig{t: t, net: web.net, spec: specFor(web), index: true}, fetcher.Options{})
	r.seed()
	if st := r.wait(2 * time.Minute); st.Stored != pages {
		t.Fatalf("%+v", st)
	}
	var all []string // in the order of the first crawl, which is that of round robin
	for _, q := range pageRequests(web) {
		all = append(all, "http://"+q.Host+q.Path)
	}
	if len(all) != pages {
		t.Fatalf("%d pages asked for", len(all))
	}
	changing := map[string]bool{}
	for i := range hot {
		changing[all[(i*97+41)%pages]] = true
	}
	web.ResetLog()
	r.respec(func(s *crawl.Spec) {
		s.Delay, s.Recrawl, s.RecrawlMin, s.RecrawlMax = 10*time.Millisecond, true, time.Second, time.Second
	})
	var changed []time.Time // when the frequently changing pages changed
	for round := range rounds {
		r.until(fmt.Sprintf("round %d begins", round), func() bool { return len(pageRequests(web)) >= round*budget })
		for u := range changing {
			web.Change(u)
		}
		changed = append(changed, time.Now())
	}
	r.until("the last round is over", func() bool { return len(pageRequests(web)) >= rounds*budget })
	log := pageRequests(web)[:rounds*budget]
	editions := func(at time.Time) (n int) {
		for n < len(changed) && !changed[n].After(at) {
			n++
		}
		return n
	}
	found, robin := 0, 0
	last := map[string]int{} // the edition that round robin saw last
	for i, q := range log {
		switch u := "http://" + q.Host + q.Path; {
		case q.Status == 200 && !changing[u]:
			t.Errorf("%s has not changed and was sent again", u)
		case q.Status == 200:
			found++
		}
		if turn := all[i%pages]; changing[turn] {
			if e := editions(q.Start); e > last[turn] {
				last[turn] = e
				robin++
			}
		}
	}
	t.Logf("of %d changes in %d rounds of %d requests found %d, round robin %d: %.1f times as many", hot*rounds, rounds, budget, found, robin, float64(found)/float64(max(robin, 1)))
	if robin == 0 || found < 2*robin {
		t.Errorf("found %d, round robin %d: want at least twice as many", found, robin)
	}
	r.stop()
	for _, v := range requestlog.Check(web.Log(), requestlog.CheckOptions{Token: token, Delay: requestlog.Every(10 * time.Millisecond), RobotsMaxAge: time.Hour}) {
		// robots.txt was requested before the log was reset.
		if v.Rule != requestlog.RuleRobotsFirst && v.Rule != requestlog.RuleUnreachable {
			t.Error(v)
		}
	}
}

// page makes an answer that is 304 for a client that has this copy.
func page(edition int, head, words string, header ...string) *simweb.Answer {
	return &simweb.Answer{
		Header: append([]string{fmt.Sprintf("ETag: \"%d\"", edition)}, header...),
		Body:   "<!DOCTYPE html><html><head><title>" + words + "</title>" + head + "</head><body><p>" + words + "</p></body></html>",
	}
}

// The outcome of stored pages on re-crawl, as shown by search, the list of pages and the counts.
func TestRecrawlFollowsTheSite(t *testing.T) { simnet.Test(t, testRecrawlFollowsTheSite) }

func testRecrawlFollowsTheSite(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 6, Hosts: 2, PagesPerHost: 3, Mix: func(int) simweb.Behavior {
		return simweb.Behavior{Robots: simweb.RobotsAllowAll}
	}})
	const home = "http://h0000.sim.test/"
	put := func(path string, a *simweb.Answer) { web.Override(home+path, a) }
	names := []string{"tagged", "meta", "gone", "away", "changing", "moving", "twin-a", "twin-b", "print", "main"}
	links := ""
	for _, n := range names {
		links += `<a href="/` + n + `">` + n + `</a> `
		put(n, page(1, "", "the word of "+n+" is zebra"+strings.ReplaceAll(n, "-", "")))
	}
	put("", &simweb.Answer{Body: "<!DOCTYPE html><html><head><title>home</title></head><body>" + links + "</body></html>"})
	twins := page(1, "", "the very same zebratwins")
	put("twin-a", twins)
	put("twin-b", twins)
	put("print", page(1, `<link rel="canonical" href="/main">`, "for printers: zebramain"))
	put("target", page(1, "", "the word of target is zebratarget"))

	spec := specFor(web)
	spec.Search = true
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	r.wait(time.Minute)
	for n, word := range map[string]string{"tagged": "zebratagged", "meta": "zebrameta", "gone": "zebragone", "away": "zebraaway", "changing": "zebrachanging", "moving": "zebramoving"} {
		r.until(n+" can be found", func() bool { return r.finds(word, home+n) })
	}
	r.until("copies are one hit", func() bool {
		hits := r.found("zebratwins")
		return len(hits) == 1 && hits[0].URL == home+"twin-a" && slices.Equal(hits[0].Also, []string{home + "twin-b"})
	})
	r.until("a page is shown as its canonical address", func() bool {
		hits := r.found("zebramain")
		return len(hits) == 1 && hits[0].URL == home+"main" && slices.Equal(hits[0].Also, []string{home + "print"})
	})
	if p := r.listed()[home+"print"]; p.Canonical != home+"main" {
		t.Errorf("%+v: its canonical address is not recorded", p)
	}

	// Each page has a different outcome; the tag by header comes with a 304.
	put("tagged", page(1, "", "the word of tagged is zebratagged", "X-Robots-Tag: noindex"))
	put("meta", page(2, `<meta name="robots" content="noindex">`, "the word of meta is zebrameta"))
	put("gone", &simweb.Answer{Status: 404, Body: "gone"})
	put("away", &simweb.Answer{Status: 500, Body: "sorry"})
	put("changing", page(2, "", "the word of changing is now yakchanging"))
	put("moving", &simweb.Answer{Status: 301, Header: []string{"Location: " + home + "target"}})
	web.ResetLog()
	r.respec(func(s *crawl.Spec) { s.Recrawl, s.RecrawlMin, s.RecrawlMax = true, time.Second, time.Second })
	r.until("noindex removes", func() bool {
		listed := r.listed()
		_, a := listed[home+"tagged"]
		_, b := listed[home+"meta"]
		return !a && !b && len(r.found("zebratagged")) == 0 && len(r.found("zebrameta")) == 0
	})
	for _, n := range []string{"tagged", "meta"} {
		r.until(n+" is reported", func() bool {
			x := r.explain(home + n)
			return x.State == "refused" && x.Reason == "noindex"
		})
	}
	r.until("what is gone is removed", func() bool { return len(r.found("zebragone")) == 0 && r.explain(home+"gone").State == "failed" })
	asked := 0
	for _, q := range web.Log() {
		if q.Path == "/gone" && q.Status == 404 {
			asked++
		}
	}
	if asked < 2 {
		t.Errorf("removed after %d answers 404, want it looked at once more", asked)
	}
	r.until("a changed page is found by its new words only", func() bool { return r.finds("yakchanging", home+"changing") && len(r.found("zebrachanging")) == 0 })
	r.until("what has moved is found where it is", func() bool { return r.finds("zebratarget", home+"target") && len(r.found("zebramoving")) == 0 })
	// it is requested each second, and in flight then
	r.until("what has moved is reported", func() bool { return r.explain(home+"moving").State == "redirected" })
	if !r.finds("zebraaway", home+"away") {
		t.Error("a page whose server fails is removed")
	}

	// All pages come back.
	for _, n := range []string{"tagged", "meta", "gone", "away", "changing", "moving"} {
		put(n, page(3, "", "back is the word gnu"+n))
	}
	for _, n := range []string{"tagged", "meta", "gone", "away", "changing", "moving"} {
		r.until(n+" is back", func() bool { return r.finds("gnu"+n, home+n) })
	}
	if hits := r.found("yakchanging"); len(hits) > 0 {
		t.Errorf("found by words of before: %+v", hits)
	}
	r.until("nothing failed or was refused", func() bool {
		st, err := asker.Status(t.Context(), r.q, r.spec)
		return err == nil && st.Failed+st.Refused == 0
	})
	listed := slices.Sorted(maps.Keys(r.listed()))
	for _, n := range append(names, "target", "") {
		if _, ok := slices.BinarySearch(listed, home+n); !ok {
			t.Errorf("%s%s is not stored", home, n)
		}
	}
	r.respec(func(s *crawl.Spec) { s.Recrawl = false })
	r.wait(time.Minute)
	r.accounts()
}
