package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// curated are forty pages about kiwis and three others, on two shards.
func curated(t *testing.T) []*Index {
	a, b := newFixture(t), newFixture(t)
	for i := range 40 {
		f := []*fixture{a, b}[i%2]
		f.add(page(fmt.Sprintf("https://h%d.example/kiwi/%02d", i%2, i), "en", fmt.Sprintf("Kiwi %d", i), "<p>All about the kiwi, part "+strings.Repeat("x", i+1)))
	}
	a.add(page("https://h0.example/fruit", "en", "Fruit", "<p>A list of fruit."), page("https://h0.example/de", "de", "Obst", "<p>Eine Liste."))
	b.add(page("https://h1.example/birds", "en", "Birds", "<p>A list of birds."))
	return []*Index{a.Index, b.Index}
}

const pinRules = `results:
  - query: kiwi
    pin: [https://h1.example/birds, https://h0.example/kiwi/38, https://gone.example/, https://h0.example/fruit]
    hide: [https://h0.example/kiwi/00, https://h1.example/kiwi/01, https://elsewhere.example/]
`

// TestPins: pinned pages come first in their order, also those that the query does not find. Parts
// of the answer follow one another without gaps or repetitions, and the total is right.
func TestPins(t *testing.T) {
	shards := curated(t)
	const want = 40 - 2 + 2 // two are hidden, and two are pinned that the query does not find
	whole := askBy(t, pinRules, crawl.SearchRequest{Query: "kiwi", Limit: 100}, shards...)
	if whole.Total != want || len(whole.Hits) != want || whole.AtLeast {
		t.Errorf("total %d, %d hits, want %d", whole.Total, len(whole.Hits), want)
	}
	if got := strings.Join(strings.Fields(paths(whole))[:3], " "); got != "/birds /kiwi/38 /fruit" {
		t.Errorf("the first are %s", got)
	}
	for i, h := range whole.Hits {
		if h.Pinned != (i < 3) {
			t.Errorf("hit %d, %s: pinned %v", i, h.URL, h.Pinned)
		}
	}
	if n := sum(whole.Facets["site"]); n != want {
		t.Errorf("the facet counts %d pages, want %d", n, want)
	}
	var parts []string
	for offset := 0; offset < 50; offset += 10 {
		a := askBy(t, pinRules, crawl.SearchRequest{Query: "kiwi", Limit: 10, Offset: offset}, shards...)
		if a.Total != want {
			t.Errorf("from %d: total %d, want %d", offset, a.Total, want)
		}
		parts = append(parts, strings.Fields(paths(a))...)
	}
	if got := strings.Join(parts, " "); got != paths(whole) {
		t.Errorf("in parts:\n%s\nwhole:\n%s", got, paths(whole))
	}
	if hidden := paths(whole); strings.Contains(hidden, "kiwi/00") || strings.Contains(hidden, "kiwi/01") {
		t.Errorf("a hidden page is in %s", hidden)
	}
	if a := askBy(t, pinRules, crawl.SearchRequest{Query: "kiwi part", Limit: 100}, shards...); a.Hits[0].Pinned || len(a.Hits) != 40 {
		t.Errorf("another query has %d hits, the first of them pinned: %v", len(a.Hits), a.Hits[0].Pinned)
	}
	if a := askBy(t, pinRules, crawl.SearchRequest{Query: "kiwi", Limit: 100, Sort: "version"}, shards...); slices.ContainsFunc(a.Hits, func(h crawl.Hit) bool { return h.Pinned }) {
		t.Error("an answer sorted by a field has a pinned hit")
	}
}

func sum(values []crawl.FacetValue) (n int64) {
	for _, v := range values {
		n += v.Count
	}
	return n
}

// TestPinsPassFilters: a pinned page must pass the filters of the query and may have none of the
// words that it excludes.
func TestPinsPassFilters(t *testing.T) {
	shards := curated(t)
	const rules = "results: [{query: kiwi, match: words, pin: [https://h0.example/de, https://h1.example/birds]}]"
	for typed, want := range map[string]string{
		"kiwi":                 "/de /birds",
		"kiwi lang:de":         "/de",
		"kiwi site:h1.example": "/birds",
		"kiwi -birds":          "/de",
		"kiwi nowhere":         "/de /birds", // also if the query itself finds other pages or none
	} {
		var pinned []string
		for _, h := range askBy(t, rules, crawl.SearchRequest{Query: typed}, shards...).Hits {
			if h.Pinned {
				pinned = append(pinned, canon.URL(h.URL).Path())
			}
		}
		if got := strings.Join(pinned, " "); got != want {
			t.Errorf("%q: pinned are %s, want %s", typed, got, want)
		}
	}
	if a := askBy(t, "results: [{query: zebra, pin: https://h1.example/birds}]", crawl.SearchRequest{Query: "zebra", Verbatim: true}, shards...); paths(a) != "/birds" || a.Total != 1 {
		t.Errorf("a query that finds nothing: %s, total %d", paths(a), a.Total)
	}
}

// TestPinsAreShownOnce: of a pinned page and its copies, the pinned page is the hit, and the only
// one.
func TestPinsAreShownOnce(t *testing.T) {
	f := newFixture(t)
	const body = "<p>The kiwi is a bird of New Zealand."
	copied := page("https://a.example/print/kiwi", "en", "Kiwi", body)
	copied.Canonical = "https://a.example/kiwi"
	f.add(page("https://a.example/kiwi", "en", "Kiwi", body), copied, page("https://a.example/other", "en", "Other", "<p>A kiwi elsewhere."))
	a := askBy(t, "results: [{query: kiwi, pin: https://a.example/print/kiwi}]", crawl.SearchRequest{Query: "kiwi"}, f.Index)
	if got := paths(a); got != "/print/kiwi /other" || !a.Hits[0].Pinned || a.Total != 2 || !slices.Contains(a.Hits[0].Also, "https://a.example/kiwi") {
		t.Errorf("%s, total %d, %+v", got, a.Total, a.Hits[0])
	}
}

// TestPinnedTranslations: of the translations of a page the pinned one is shown, in its place.
func TestPinnedTranslations(t *testing.T) {
	f := newFixture(t)
	f.add(page("https://a.example/en/kiwi", "en", "Kiwi", "<p>The kiwi is a bird of New Zealand."), page("https://a.example/de/kiwi", "de", "Kiwi", "<p>Der Kiwi ist ein Vogel aus Neuseeland."),
		page("https://a.example/other", "en", "Kiwi kiwi", "<p>Kiwi, kiwi and kiwi elsewhere."))
	a := askBy(t, "results: [{query: kiwi, pin: https://a.example/en/kiwi}]", crawl.SearchRequest{Query: "kiwi", Languages: []string{"de"}}, f.Index)
	if got := paths(a); got != "/en/kiwi /other" || !a.Hits[0].Pinned || len(a.Hits[0].Translations) != 1 {
		t.Errorf("%s: %+v", got, a.Hits[0])
	}
}

// TestPinnedPagesMayBeShown: what must not be shown is not pinned.
func TestPinnedPagesMayBeShown(t *testing.T) {
	f := newFixture(t)
	secret := page("https://a.example/secret", "en", "Secret", "<p>A kiwi.")
	secret.Directives = crawl.NoIndex
	old := page("https://a.example/old", "en", "Old", "<p>A kiwi of old.")
	old.UnavailableAfter = f.now.Add(-1)
	f.add(page("https://a.example/kiwi", "en", "Kiwi", "<p>A kiwi."), secret, old)
	a := askBy(t, "results: [{query: kiwi, pin: [https://a.example/secret, https://a.example/old]}]", crawl.SearchRequest{Query: "kiwi"}, f.Index)
	if paths(a) != "/kiwi" || a.Total != 1 {
		t.Errorf("%s, total %d", paths(a), a.Total)
	}
}

// TestFactors: boosts, demotions and weights change the order, and --explain shows why.
func TestFactors(t *testing.T) {
	f := newFixture(t)
	f.add(
		page("https://docs.example/guide/kiwi", "en", "Growing fruit", "<p>Some words about the kiwi and other fruit."),
		page("https://docs.example/kiwi", "en", "Kiwi", "<p>The kiwi."),
		page("https://docs.example/archive/kiwi", "en", "Kiwi", "<p>The kiwi was a bird."),
	)
	for _, c := range []struct{ rules, first, last string }{
		{"weights: {}", "", "/guide/kiwi"},
		{"results: [{query: kiwi, boost: [{url: 'https://docs.example/guide/', by: 10}]}]", "/guide/kiwi", ""},
		{"results: [{query: kiwi, boost: [{url: 'https://docs.example/kiwi', by: 0}]}]", "", "/kiwi"},
		{"demote: [{site: docs.example/archive, by: 0.1}]", "/kiwi", "/archive/kiwi"},
		{"demote: [{site: docs.example/kiwi, by: 0}, {site: docs.example/guide, by: 0.1}]", "/archive/kiwi", "/kiwi"},
		{"demote: [{site: other.example, by: 0}]", "", "/guide/kiwi"},
	} {
		a := askBy(t, c.rules, crawl.SearchRequest{Query: "kiwi"}, f.Index)
		got := strings.Fields(paths(a))
		if len(got) != 3 || c.first != "" && got[0] != c.first || c.last != "" && got[2] != c.last {
			t.Errorf("%s: %v, want %s first and %s last", c.rules, got, c.first, c.last)
		}
	}
	for _, h := range askBy(t, "demote: [{site: docs.example/archive, by: 0.5}]\nweights: {title: 0, headings: 3}", crawl.SearchRequest{Query: "kiwi", Explain: true}, f.Index).Hits {
		points := 0.0
		for _, s := range h.Signals {
			points += s.Points
			if s.Name == "title" && s.Weight != 0 || s.Name == "rules" && s.Value != 0.5 {
				t.Errorf("%s: %+v", h.URL, s)
			}
		}
		if d := points - h.Score; d > 1e-5 || d < -1e-5 {
			t.Errorf("%s: the signals add up to %v, and the score is %v", h.URL, points, h.Score)
		}
	}
}

// TestFreshness: newer pages are better if freshness has a weight, and only then.
func TestFreshness(t *testing.T) {
	f := newFixture(t)
	older := page("https://a.example/a", "en", "Kiwi", "<meta name=date content=2019-01-01><p>A kiwi of a year.")
	newer := page("https://a.example/longer", "en", "Kiwi", "<meta name=date content=2025-12-31><p>A kiwi of one day.")
	f.add(older, newer, page("https://a.example/undated", "en", "Kiwi", "<p>A kiwi of no time."))
	if got := paths(askBy(t, "weights: {freshness: 10}", crawl.SearchRequest{Query: "kiwi"}, f.Index)); got != "/longer /a /undated" {
		t.Errorf("with freshness: %s", got)
	}
	for _, c := range []struct {
		date  int32
		today int64
		want  float64
	}{{0, 100, 0}, {100, 100, 1}, {200, 100, 1}, {1, 366, 0.5}} {
		if got := freshness(c.date, c.today); got != c.want {
			t.Errorf("freshness of day %d on day %d: %v, want %v", c.date, c.today, got, c.want)
		}
	}
}

// TestEverySignalIsWeighted: a new signal is weighted under a name, or is listed here.
func TestEverySignalIsWeighted(t *testing.T) {
	for _, s := range signals {
		if _, ok := weightedBy[s.name]; !ok && s.name != "shallow" && s.name != "missing" {
			t.Errorf("signal %q is in no group of weights", s.name)
		}
	}
}
