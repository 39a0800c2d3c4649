package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb"
)

// Mirrors over time: detected when their pages are stored already, dissolved, compared again.

const day = 24 * time.Hour

// late is a site and a copy of it that does not claim it yet; the pages of both are stored.
func late(t *testing.T, shards int, same bool, features ...simweb.Feature) (m *mirrors, copy string) {
	t.Helper()
	copy = apart("copy", m0, shards, same)
	site, other := main(m0, ""), copyOf(m0, copy, "")
	site.Features, other.Features = features, features
	m = newMirrors(t, shards, site, other)
	m.spec.Sitemaps = true
	m.crawl(append(m.pages(copy), home(m0)...)...)
	return m, copy
}

// A mirror that is detected late: the stored copies are merged, one record each with its aliases,
// and only robots.txt is requested from the mirror, and no known page from the main host. When the
// Host line is removed, everything is as it was.
func TestMirrorsLateAndDissolved(t *testing.T) {
	for _, shards := range []int{1, 4} {
		for _, same := range []bool{true, false} {
			if shards == 1 && !same {
				continue
			}
			t.Run(fmt.Sprintf("%d shards, same %v", shards, same), func(t *testing.T) {
				simnet.Test(t, func(t *testing.T) {
					m, copy := late(t, shards, same)
					both := append(m.pages(m0), m.pages(copy)...)
					m.want(nil, both)
					discovered := m.crawl().Discovered

					m.later(25 * time.Hour)
					m.setRobots(copy, hostLine(m0))
					st := m.crawl("http://" + copy + "/new.html")
					states := []string{"http://" + copy + " mirror http://" + m0 + " pages 5/5"}
					m.want(states, m.merged(m0, copy))
					m.quiet(copy)
					if got := m.asked(m0); !slices.Equal(got, []string{"/sitemap.xml", "/new.html"}) {
						t.Errorf("%q were asked of the main host, want its sitemap, which is due, and the one page that only the mirror's links know", got)
					}
					m.explained("refused mirror", append(m.pages(copy), "http://"+copy+"/new.html")...)
					m.explained("stored", m.pages(m0)...)
					if st.Discovered != discovered+2 || st.Stored != 6 || st.ByReason["mirror"] != 7 {
						t.Errorf("%+v", st)
					}
					m.counted(map[string]float64{"_claims_total": 1, "s_merged_total host": 1, "s_dissolved_total": 0, "s mirror": 1, "s unconfirmed": 0})
					m.isAlias(m.pages(copy)[3], m.pages(m0)[3])

					// It keeps the claim for some more days.
					m.later(25 * time.Hour)
					m.crawl("http://" + copy + "/newer.html")
					m.want(states, m.merged(m0, copy))
					m.quiet(copy)

					// Then the claim is removed, which the upkeep notices without a link.
					m.later(25 * time.Hour)
					m.setRobots(copy, "")
					st = m.crawl()
					m.want(nil, both)
					if st.Stored != 12 || st.ByReason["mirror"] != 0 || st.ByReason["http-4xx"] != 4 {
						t.Errorf("%+v", st)
					}
					m.counted(map[string]float64{"_claims_total": 0, "s_dissolved_total": 1, "s mirror": 0, "s unconfirmed": 0})
					// And perhaps /data.txt.
					if got, want := len(m.asked(copy)), len(m.pages(copy))+2; got < want || got > want+1 {
						t.Errorf("%q were asked of what is a mirror no more, want its %d URLs once", m.asked(copy), want)
					}
				})
			})
		}
	}
}

func (m *mirrors) counted(want map[string]float64) {
	m.t.Helper()
	if !maps.Equal(m.met, want) {
		m.t.Errorf("metrics %v, want %v", m.met, want)
	}
}

// isAlias checks what `curtsy page` shows for an alias.
func (m *mirrors) isAlias(u, of string) {
	m.t.Helper()
	x, err := indexer.OpenDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	defer x.Close()
	var rec indexer.Record
	err = x.Handlers(token).Ask(m.t.Context(), "page", map[string]string{"url": u}, func(v any) error { rec = v.(indexer.Record); return nil })
	if err != nil || rec.AliasOf != of {
		m.t.Errorf("page %s: %+v, %v; want an alias of %s", u, rec, err, of)
	}
}

// What the main host does not serve, or does not want kept, is not kept under the name of a mirror
// either: its own rules, tags and answers decide, although the copies of the mirror were stored
// before.
func TestMirrorsMainDecides(t *testing.T) { simnet.Test(t, testMirrorsMainDecides) }

func testMirrorsMainDecides(t *testing.T) {
	copy := apart("copy", m0, 4, false)
	m := newMirrors(t, 4, main(m0, ""), copyOf(m0, copy, ""))
	own, theirs := m.pages(m0), m.pages(copy)
	tagged := simweb.Answer{Body: "<title>a page</title>This page is on both, and one of them does not want it kept."}
	m.web.Override(theirs[3], &tagged)
	tagged.Header = []string{"X-Robots-Tag: noindex"}
	m.web.Override(own[3], &tagged)
	m.web.Override(own[4], &simweb.Answer{Status: 410})
	m.web.SetRobots(m0, "User-agent: *\nDisallow: "+pathOf(own[5])+"\n", func(path, _ string) bool { return path == pathOf(own[5]) })
	m.crawl(append(append([]string{}, theirs...), own...)...)
	m.want(nil, append(slices.Clone(own[:3]), theirs...))
	m.later(25 * time.Hour)
	m.setRobots(copy, hostLine(m0))
	m.crawl("http://" + copy + "/new.html")
	m.want([]string{"http://" + copy + " mirror http://" + m0 + " pages 4/5"}, m.merged(m0, copy)[:3])
	m.quiet(copy)
	m.explained("refused noindex", own[3])
	m.explained("refused robots", own[5])
	m.explained("refused mirror", theirs...)
}

// Hosts are compared by pages which both of them allow, however many other pages were known before.
func TestMirrorsComparedByOtherPages(t *testing.T) { simnet.Test(t, testMirrorsComparedByOtherPages) }

func testMirrorsComparedByOtherPages(t *testing.T) {
	copy := apart("copy", m0, 4, false)
	m := newMirrors(t, 4, main(m0, ""), copyOf(m0, copy, ""))
	m.spec.Sitemaps = false
	own := m.pages(m0)
	text := "User-agent: *\nDisallow: /$\n"
	for _, u := range own[1:5] {
		text += "Disallow: " + pathOf(u) + "\n"
	}
	m.web.SetRobots(m0, text, func(path, _ string) bool { return slices.Contains(own[:5], "http://"+m0+path) })
	m.crawl(append(m.pages(copy), own...)...)
	m.want(nil, append(m.pages(copy), own[5]))
	m.later(25 * time.Hour)
	m.setRobots(copy, hostLine(m0))
	m.crawl("http://" + copy + "/new.html")
	m.want([]string{"http://" + copy + " mirror http://" + m0 + " pages 1/1"}, m.merged(m0, copy)[5:])
	m.quiet(copy)
	if got := m.asked(m0); !slices.Equal(got, []string{"/new.html"}) {
		t.Errorf("%q were asked of the main host", got)
	}
}

func pathOf(u string) string { return "/" + strings.SplitN(u, "/", 4)[3] }

// A chain that is detected late, and for all members at once: everything is merged into its end.
func TestMirrorsLateChain(t *testing.T) { simnet.Test(t, testMirrorsLateChain) }

func testMirrorsLateChain(t *testing.T) {
	const a, b = "a.sim.test", "b.sim.test"
	m := newMirrors(t, 4, main(m0, ""), copyOf(m0, a, ""), copyOf(m0, b, ""))
	m.crawl(append(m.pages(a, b), home(m0)...)...)
	m.want(nil, m.pages(m0, a, b))
	m.later(25 * time.Hour)
	m.setRobots(a, hostLine(b))
	m.setRobots(b, hostLine(m0))
	m.crawl("http://"+a+"/new.html", "http://"+b+"/new.html")
	m.want([]string{"http://" + a + " mirror http://" + m0 + " pages 5/5", "http://" + b + " mirror http://" + m0 + " pages 5/5"}, m.merged(m0, a, b))
	m.quiet(a, b)

	// The end of the chain changes.
	m.later(25 * time.Hour)
	m.setRobots(a, hostLine(b, "# still")) // so that it is read again
	m.setRobots(b, "")
	m.crawl("http://" + b + "/newer.html")
	m.want([]string{"http://" + a + " mirror http://" + b + " pages 5/5"}, append(m.merged(b, a), m.pages(m0)...))
	m.quiet(a)
}

// Takedown and mirrors: no name of a forgotten mirror is shown any more; a main host that is
// forgotten stays so, whatever pages its mirrors have.
func TestMirrorsForgotten(t *testing.T) { simnet.Test(t, testMirrorsForgotten) }

func testMirrorsForgotten(t *testing.T) {
	m, copy := late(t, 4, false)
	m.later(25 * time.Hour)
	m.setRobots(copy, hostLine(m0))
	m.crawl("http://" + copy + "/new.html")
	states := []string{"http://" + copy + " mirror http://" + m0 + " pages 5/5"}
	m.want(states, m.merged(m0, copy))
	m.spec.Forgotten = []string{copy}
	m.crawl()
	m.want(states, m.merged(m0))
	m.quiet(copy)
	m.explained("refused forgotten", m.pages(copy)...)
	m.spec.Forgotten = []string{m0}
	m.crawl()
	m.want(states, nil)
	m.quiet(copy, m0)
	m.explained("refused forgotten", m.pages(m0)...)
	m.explained("refused mirror", m.pages(copy)...)
	m.spec.Forgotten = nil
	m.crawl()
	m.want(states, m.pages(m0))
	m.quiet(copy)
}

// The pages that were stored before the claim differ: the host is closed, and no mirror. It is
// compared again after 30 days, and not earlier.
func TestMirrorsContentDiffers(t *testing.T) { simnet.Test(t, testMirrorsContentDiffers) }

func testMirrorsContentDiffers(t *testing.T) {
	m := newMirrors(t, 4, main(m0, ""), main("a.sim.test", ""))
	m.spec.Sitemaps = false
	m.crawl(append(m.pages("a.sim.test"), home(m0)...)...)
	m.later(25 * time.Hour)
	m.setRobots("a.sim.test", hostLine(m0))
	m.crawl("http://a.sim.test/new.html")
	states := []string{"http://a.sim.test unconfirmed http://" + m0 + " content-differs"}
	stored := append(m.pages(m0), m.pages("a.sim.test")...)
	m.want(states, stored)
	m.quiet("a.sim.test")
	m.explained("refused robots", "http://a.sim.test/new.html")
	if got := len(m.asked(m0)); got > 5 {
		t.Errorf("%d pages were asked of the target, want five samples at most", got)
	}
	for range 2 {
		m.later(25 * time.Hour)
		m.crawl("http://a.sim.test/newer.html")
		m.want(states, stored)
		m.quiet("a.sim.test", m0)
	}
	m.later(30 * day)
	m.crawl("http://a.sim.test/newest.html")
	m.want(states, stored)
	m.quiet("a.sim.test")
	if got := len(m.asked(m0)); got == 0 || got > 5 {
		t.Errorf("%d pages were asked of the target a month later, want some samples, five at most", got)
	}
}

// A merge for which there is no evidence any more is dissolved: the pages are stored under their
// own names again.
func TestMirrorsEvidenceExpires(t *testing.T) { simnet.Test(t, testMirrorsEvidenceExpires) }

func testMirrorsEvidenceExpires(t *testing.T) {
	const bare, www = "twin.sim.test", "www.twin.sim.test"
	m := newMirrors(t, 4, main(bare, ""), copyOf(bare, www, ""), main("old.sim.test", ""), main("sold.sim.test", ""))
	m.crawl(home(bare)...)
	m.crawl(m.pages(www)...)
	states := []string{"http://" + www + " mirror http://" + bare + " www 5/5"}
	m.want(states, append(m.merged(bare, www), m.pages("old.sim.test", "sold.sim.test")...))
	for _, u := range m.pages(bare) {
		m.web.Override(u, &simweb.Answer{Body: "<title>page</title>This site was sold to somebody else, who has nothing but this: " + u})
	}
	m.later(31 * day)
	m.crawl()
	if got := m.states(); len(got) != 0 {
		t.Errorf("mirrors: %q", got)
	}
	got := m.stored()
	for _, u := range append(m.pages(www), m.pages(bare)...) {
		if aliases, ok := got[u]; !ok || len(aliases) > 0 {
			t.Errorf("%s: stored %v, aliases %q", u, ok, aliases)
		}
	}
}

// What a mirror states about datasets, in /data.txt, the files nested in it and its pages, and in
// its sitemaps, is not used during the merge (formats §7); what the main host states is.
func TestMirrorsDataTxtAndSitemaps(t *testing.T) { simnet.Test(t, testMirrorsDataTxtAndSitemaps) }

func testMirrorsDataTxtAndSitemaps(t *testing.T) {
	m, copy := late(t, 4, false, simweb.FeatureDataYAML, simweb.FeatureDataRecords, simweb.FeatureOpenData, simweb.FeatureSitemap)
	mine, theirs := m.datasets(m0), m.datasets(copy)
	if mine < 6 || theirs < 6 {
		t.Fatalf("%d datasets of the site, %d of its copy", mine, theirs)
	}
	want := func(when string, ofMain, ofCopy int) {
		t.Helper()
		if a, b := m.datasets(m0), m.datasets(copy); a != ofMain || b != ofCopy {
			t.Errorf("%s: %d datasets of the main host and %d of the mirror, want %d and %d", when, a, b, ofMain, ofCopy)
		}
	}
	m.later(25 * time.Hour)
	m.setRobots(copy, hostLine(m0)+"Sitemap: http://"+m0+"/sitemap.xml\n")
	m.crawl("http://" + copy + "/new.html")
	want("while the merge stands", mine, 0)
	m.later(8 * day) // data.txt is due again
	m.crawl("http://" + copy + "/newer.html")
	m.quiet(copy)
	want("a week later", mine, 0)
	m.later(25 * time.Hour)
	m.setRobots(copy, "")
	m.crawl()
	want("after the merge was dissolved", mine, theirs)
}

// datasets counts the datasets in the catalogue with a claim from a host.
func (m *mirrors) datasets(host string) (n int) {
	m.t.Helper()
	x := m.files()
	defer x.Close()
	err := x.Datasets(m.t.Context(), func(d crawl.DatasetInfo) error {
		text, err := json.Marshal(d)
		if strings.Contains(string(text), "http://"+host+"/") {
			n++
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

// Pages of a mirror are not requested again; those of the main host are, and keep their aliases;
// one that was changed is found with them.
func TestMirrorsRecrawled(t *testing.T) { simnet.Test(t, testMirrorsRecrawled) }

func testMirrorsRecrawled(t *testing.T) {
	m, copy := late(t, 4, false)
	m.later(25 * time.Hour)
	m.setRobots(copy, hostLine(m0))
	m.crawl("http://" + copy + "/new.html")
	m.want([]string{"http://" + copy + " mirror http://" + m0 + " pages 5/5"}, m.merged(m0, copy))

	m.web.Change(m.pages(m0)[2])
	before := len(m.web.Log())
	m.metrics = nil // those of the previous run are registered
	m.start(m.dir, m.options())
	m.respec(func(s *crawl.Spec) { s.Recrawl, s.RecrawlMin, s.RecrawlMax = true, time.Second, time.Second })
	m.until("all pages of the main host were asked for again", func() bool {
		asked := map[string]bool{}
		for _, r := range m.web.Log()[before:] {
			asked["http://"+r.Host+r.Path] = true
		}
		return !slices.ContainsFunc(m.pages(m0), func(u string) bool { return !asked[u] })
	})
	m.respec(func(s *crawl.Spec) { s.Recrawl = false })
	m.crawl()
	m.want([]string{"http://" + copy + " mirror http://" + m0 + " pages 5/5"}, m.merged(m0, copy))
	m.log = m.web.Log()[before:]
	m.quiet(copy)
}

// A twin forbids nothing to us, but is not crawled: its evidence is renewed by a few samples, and
// its sitemaps are not read.
func TestMirrorsTwinIsNotCrawled(t *testing.T) { simnet.Test(t, testMirrorsTwinIsNotCrawled) }

func testMirrorsTwinIsNotCrawled(t *testing.T) {
	const bare, www = "twin.sim.test", "www.twin.sim.test"
	m := newMirrors(t, 4, main(bare, ""), copyOf(bare, www, "User-agent: *\nSitemap: /sitemap.xml\n"))
	m.spec.Sitemaps = true
	m.crawl(home(bare)...)
	m.crawl(m.pages(www)...)
	states := []string{"http://" + www + " mirror http://" + bare + " www 5/5"}
	m.want(states, m.merged(bare, www))
	m.later(31 * day)
	m.crawl()
	m.want(states, m.merged(bare, www))
	paths := m.asked(www)
	if len(paths) != 5 {
		t.Errorf("%q were asked of an alias, want five samples", paths)
	}
	for _, p := range paths {
		if !slices.Contains(m.pages(www), "http://"+www+p) {
			t.Errorf("%s was asked of an alias", p)
		}
	}
}
