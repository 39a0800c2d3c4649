package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// result has everything that a crawl with mirrors produces, without what depends on the time of
// day.
type result struct {
	mirrors []string
	pages   []string
	hits    []string
	classes string
}

// result returns the result of a crawl that does not run.
func (r *rig) result() (x result) {
	t := r.t
	t.Helper()
	c := r.files()
	defer c.Close()
	err := questions.Mirrors.Each(t.Context(), c, nil, func(i crawl.MirrorInfo) error {
		i.Since = time.Time{}
		text, err := json.Marshal(i)
		x.mirrors = append(x.mirrors, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = questions.Pages.Each(t.Context(), c, nil, func(i crawl.PageInfo) error {
		slices.Sort(i.Aliases)
		x.pages = append(x.pages, fmt.Sprint(i.URL, " ", i.SHA256, " ", i.Aliases))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.spec.Search {
		a, err := c.Search(t.Context(), crawl.SearchRequest{Query: "page", Limit: 1000})
		if err != nil || a.Behind > 0 {
			t.Fatalf("search: %d behind, %v", a.Behind, err)
		}
		for _, h := range a.Hits {
			x.hits = append(x.hits, fmt.Sprint(h.URL, " ", h.Also))
		}
	}
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.adds(st)
	x.classes = fmt.Sprint(st.Discovered, st.Queued, st.InFlight, st.Stored, st.Redirected, st.Refused, st.Failed, st.ByReason)
	slices.Sort(x.pages)
	slices.Sort(x.hits)
	return x
}

// asked counts the requests in the log so far: for robots.txt, or for pages.
func (w *website) asked(host string, robots bool) (n int) {
	for _, r := range w.Log() {
		if r.Host == host && (r.Path == "/robots.txt") == robots {
			n++
		}
	}
	return n
}

// twoSites is a crawl of a site and a copy of it, of so many pages each.
func twoSites(t *testing.T, pages int, site, copy simweb.Behavior) *mirrors {
	t.Helper()
	return mirrorsOf(serve(t, simweb.Config{Seed: 4, Hosts: 2, PagesPerHost: pages, PageBytes: 1 << 10, Mix: func(i int) simweb.Behavior {
		b := []simweb.Behavior{site, copy}[i]
		b.Latency = 4 * time.Millisecond
		return b
	}}), t, 4)
}

// copied makes a second crawl with the files of the first one, which does not run.
func (m *mirrors) copied() *mirrors {
	m.t.Helper()
	m.endNATS()
	dir := m.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		m.t.Fatal(err)
	}
	m.serveNATS(m.dir)
	c := &mirrors{rig: &rig{t: m.t, net: m.net, spec: m.spec, index: m.index}, web: m.web}
	c.spec.Seeds = slices.Clone(m.spec.Seeds)
	c.serveNATS(dir)
	c.stop = func() {}
	return c
}

// A merge of several hundred URLs, all of which must still be requested from the main host, in a
// crawl that is killed again and again: the mirror database, the stored pages with their aliases,
// search and the counts are the same as without kills.
func TestMirrorsKilledInAMerge(t *testing.T) { simnet.Test(t, testMirrorsKilledInAMerge) }

func testMirrorsKilledInAMerge(t *testing.T) {
	const copy, pages = "copy.sim.test", 240
	// All pages of the copy are stored, none of the main host is known.
	calm := twoSites(t, pages, main(m0, ""), copyOf(m0, copy, ""))
	web := calm.web
	calm.spec.Scope = "host"
	calm.crawl(web.PageURLs(copy)...)
	calm.later(25 * time.Hour)
	calm.spec.Scope = "domain"
	hurt := calm.copied()
	web.SetRobots(copy, hostLine(m0), closedBy(copy, hostLine(m0)))

	web.ResetLog()
	calm.crawl("http://" + copy + "/new.html")
	want := calm.result()
	if len(want.mirrors) != 1 || !strings.Contains(want.mirrors[0], `"state":"mirror","reason":"","detail":"","evidence":"pages 5/5"`) || len(want.pages) != pages {
		t.Fatalf("undisturbed: %q, %d pages", want.mirrors, len(want.pages))
	}
	for i, line := range want.pages {
		if !strings.HasPrefix(line, "http://"+m0) || !strings.Contains(line, "[http://"+copy+"/") {
			t.Fatalf("undisturbed: page %d is %s", i, line)
		}
	}
	calm.quiet(copy)

	web.ResetLog()
	hurt.spec.Seeds = append(hurt.spec.Seeds, "http://"+copy+"/new.html")
	kills := 0
	kill := func(what string, so func() bool) {
		t.Helper()
		if hurt.killWhen(web, what, so) {
			t.Errorf("the crawl was over before %s", what)
		}
		kills++
	}
	kill("its robots.txt was asked for", func() bool { return web.asked(copy, true) > 0 })
	kill("that of the main host was asked for", func() bool { return web.asked(m0, true) > 0 })
	for _, n := range []int{1, 8, 40, 100, 160, 235} {
		kill(fmt.Sprintf("%d pages of the main host were asked for", n), func() bool { return web.asked(m0, false) >= n })
	}
	for _, after := range []time.Duration{100, 300, 600} {
		began := time.Now()
		kill("so late", func() bool { return time.Since(began) > after*time.Millisecond })
	}
	hurt.crawl()
	hurt.log = web.Log()
	hurt.quiet(copy)
	if got := hurt.result(); got.classes != want.classes || !slices.Equal(got.mirrors, want.mirrors) || !slices.Equal(got.pages, want.pages) || !slices.Equal(got.hits, want.hits) {
		t.Errorf("%v after %d kills, and without them\n%s\n%s", errors.Join(differs("mirrors", got.mirrors, want.mirrors), differs("pages", got.pages, want.pages),
			differs("hits", got.hits, want.hits)), kills, got.classes, want.classes)
	}
}

// A twin is detected while its pages are being fetched, in a crawl that is killed again and again:
// no page stays under its name, although many were handed over by fetchers that were killed before
// they could report it.
func TestMirrorsKilledWhileFetched(t *testing.T) { simnet.Test(t, testMirrorsKilledWhileFetched) }

func testMirrorsKilledWhileFetched(t *testing.T) {
	const bare, www, pages = "twin.sim.test", "www.twin.sim.test", 120
	m := twoSites(t, pages, main(bare, ""), copyOf(bare, www, ""))
	m.crawl(home(bare)...)
	m.spec.Seeds = append(m.spec.Seeds, m.pages(www)...)
	kills := 0
	for n := 1; n < 100; n += 2 + n/2 {
		if !m.killWhen(m.web, fmt.Sprintf("%d pages were asked for", n), func() bool { return m.web.asked(www, false) >= n }) {
			kills++
		}
	}
	m.crawl()
	got := m.result()
	// Which of them is the main host depends on how many pages of the second are there when the
	// twin is detected; it must be the same for all pages.
	mainHost, alias := bare, www
	is := func(alias, mainHost string) string {
		return `{"host":"` + alias + `","origin":"http://` + alias + `","main":"http://` + mainHost + `","state":"mirror"`
	}
	if len(got.mirrors) == 1 && strings.HasPrefix(got.mirrors[0], is(bare, www)) {
		mainHost, alias = www, bare
	}
	if len(got.mirrors) != 1 || !strings.HasPrefix(got.mirrors[0], is(alias, mainHost)) {
		t.Errorf("mirrors %q after %d kills", got.mirrors, kills)
	}
	for _, line := range slices.Concat(got.pages, got.hits) {
		if !strings.HasPrefix(line, "http://"+mainHost+"/") {
			t.Errorf("listed or found: %s", line)
		}
	}
	if len(got.pages) != pages || len(got.hits) != pages {
		t.Errorf("%d pages, %d hits, want %d", len(got.pages), len(got.hits), pages)
	}
	// New pages of the other host are handed to the main host, and not requested.
	before := m.web.asked(alias, false)
	m.crawl("http://" + alias + "/new.html")
	if n := m.web.asked(alias, false) - before; n > 0 {
		t.Errorf("%d page requests to an alias", n)
	}
	t.Logf("%d kills, %s is the main host, %d requests to the other", kills, mainHost, before)
}

// differs returns the first lines that two sorted lists do not have in common.
func differs(what string, got, want []string) error {
	var errs []error
	for _, l := range got {
		if _, ok := slices.BinarySearch(want, l); !ok && len(errs) < 5 {
			errs = append(errs, fmt.Errorf("%s: %s is not to be there", what, l))
		}
	}
	for _, l := range want {
		if _, ok := slices.BinarySearch(got, l); !ok && len(errs) < 10 {
			errs = append(errs, fmt.Errorf("%s: %s is missing", what, l))
		}
	}
	return errors.Join(errs...)
}

// TestStatusMovesWithEachPage requests the status of a crawl of one host with a delay of a second:
// all pages except for the last two requested ones are counted, although a visit has ten.
func TestStatusMovesWithEachPage(t *testing.T) { simnet.Test(t, testStatusMovesWithEachPage) }

func testStatusMovesWithEachPage(t *testing.T) {
	web := serve(t, simweb.Config{Seed: 4, Hosts: 1, PagesPerHost: 10, Mix: func(int) simweb.Behavior { return simweb.Behavior{Latency: 4 * time.Millisecond} }})
	spec := specFor(web)
	spec.Delay = time.Second
	r := newRigWith(t, &rig{t: t, net: web.net, spec: spec, index: true}, fetcher.Options{})
	r.seed()
	seen := map[int64]bool{}
	r.until("a visit's worth of pages was fetched", func() bool {
		asked := int64(web.asked("h0000.sim.test", false))
		st, _ := r.done()
		if done := st.Stored + st.Failed; done < asked-3 { // data.txt is no page
			t.Errorf("%d requests were sent, and %d pages are counted", asked, done)
		}
		seen[st.Stored] = true
		return asked > 9
	})
	if len(seen) < 8 {
		t.Errorf("the number of pages took only %d values", len(seen))
	}
}
