package search

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search/segment"
	"github.com/curtsy/curtsy/pkg/canon"
)

// manual makes pages of several hosts that link to each other and have words in common.
func manual(n int) (all []pages.Page) {
	rng := rand.New(rand.NewPCG(5, 6))
	vocabulary := strings.Fields("index table vacuum query planner lock transaction row column join cursor view trigger role schema " +
		"backup restore replica stream wal checkpoint buffer cache tuple page heap btree hash gist gin statistics analyze explain")
	word := func() string { return vocabulary[int(rng.ExpFloat64()*9)%len(vocabulary)] }
	for i := range n {
		host := fmt.Sprintf("h%d.example", i%23)
		title := word() + " " + word()
		var b strings.Builder
		fmt.Fprintf(&b, "<h1>%s</h1>", title)
		for range 3 + rng.IntN(5) {
			fmt.Fprintf(&b, "<h2>%s %s</h2><p>", word(), word())
			for range 20 + rng.IntN(60) {
				b.WriteString(word() + " ")
			}
			to := (i + 23*rng.IntN(n)) % n
			fmt.Fprintf(&b, `<a href="/%s/%d">%s %s</a>`, "p", to, word(), word())
		}
		p := page(fmt.Sprintf("https://%s/p/%d", host, i), []string{"en", "de"}[i%2], title, b.String())
		p.LastModified = time.Date(2000+i%20, 1, 2, 3, 4, 5, 0, time.UTC).Format(time.RFC1123)
		all = append(all, p)
	}
	return all
}

// spread distributes pages to shards by their host.
func spread(t *testing.T, all []pages.Page, shards int) (x []*Index) {
	t.Helper()
	parts := make([][]pages.Page, shards)
	for _, p := range all {
		k := int(segment.HashOf([]byte(p.URL.Host()))>>8) % shards
		parts[k] = append(parts[k], p)
	}
	for _, part := range parts {
		f := newFixture(t)
		for batch := range slices.Chunk(part, 17) {
			f.add(batch...)
		}
		x = append(x, f.Index)
	}
	return x
}

// The answer is the same with one shard, four and sixteen.
func TestSameAnswerForAnyNumberOfShards(t *testing.T) {
	all := manual(600)
	for i, slip := range []string{"checkpiont and an index", "the checkpiont", "statistik"} {
		all = append(all, page(fmt.Sprintf("https://slips%d.example/p", i), "en", "Notes", "<p>"+slip))
	}
	one, four, sixteen := spread(t, all, 1), spread(t, all, 4), spread(t, all, 16)
	for _, q := range []string{"vacuum", "query planner", `"table index"`, "vacuum OR wal", "trans*", "index -explain", "how is a lock", "site:h3.example cache",
		"lang:de trigger view", "after:2010 btree", "vacum", "gistt", "backup restore replica stream wal checkpoint", "nowhere index", "title:hash gin", "type:html",
		"checkpiont", "checkpiont index", "statistik"} {
		want := ask(t, crawl.SearchRequest{Query: q, Limit: 20, Explain: true}, one...)
		if len(want.Hits) == 0 {
			t.Errorf("%q finds nothing", q)
		}
		for _, shards := range [][]*Index{four, sixteen} {
			got := ask(t, crawl.SearchRequest{Query: q, Limit: 20, Explain: true}, shards...)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q: %d shards answer otherwise than one:\n%s\n%s", q, len(shards), brief(got), brief(want))
			}
		}
		// The same hits come if they are asked for page by page.
		var paged []crawl.Hit
		for at := 0; at < 20; at += 7 {
			paged = append(paged, ask(t, crawl.SearchRequest{Query: q, Offset: at, Limit: min(7, 20-at), Explain: true}, four...).Hits...)
		}
		if !reflect.DeepEqual(paged, want.Hits) {
			t.Errorf("%q: page by page it is another list", q)
		}
	}
}

// If few pages have a word, another spelling is suggested, or answered instead if no page has all
// words as they were typed.
func TestSuggestsWhenFewPagesMatch(t *testing.T) {
	all := manual(200)
	for i, text := range []string{"checkpiont", "the checkpiont and a vacuum", "checkpoimt", "relications"} {
		all = append(all, page(fmt.Sprintf("https://slips.example/%d", i), "en", "Notes", "<p>"+text))
	}
	all = append(all, page("https://h.example/statistios", "en", "Statistios", "<p>the statistios of an island"))
	shards := spread(t, all, 4)
	for _, c := range []struct {
		asked, suggested string
		hits             int64
	}{
		{"checkpiont", "checkpoint", -1}, // no title has it as it was typed
		{"checkpoimt", "checkpoint", -1},
		{"vacuum checkpiont", "vacuum checkpoint", -1},
		{"statistios", "", 1},  // a title has the word, so it is probably meant
		{"relications", "", 1}, // no other word is similar
		{"checkpiont -island index", "checkpoint index -island", -1},
		{"checkpiont site:slips.example", "", 2}, // the suggested word finds nothing on that site
		{`"checkpiont"`, "", 2},
		{"checkpoint", "", -1},
		{"island", "", 1},
	} {
		a := ask(t, crawl.SearchRequest{Query: c.asked}, shards...)
		if cmp.Or(a.Suggestion, a.Corrected) != c.suggested || c.hits >= 0 && a.Total != c.hits {
			t.Errorf("%q: %d hits, suggested %q; want %d and %q", c.asked, a.Total, a.Suggestion, c.hits, c.suggested)
		}
		if c.hits > 0 && c.suggested != "" && a.Loosened != "" {
			t.Errorf("%q: %s", c.asked, a.Loosened)
		}
	}
}

// Words that no page has are corrected also as parts of names, after an apostrophe and between
// signs. The rest of the query stays as it was typed.
func TestSuggestsForPartsOfNames(t *testing.T) {
	f := newFixture(t)
	f.add(page("https://a.example/1", "en", "Vectors", "<p>std::vector::push_back appends. Call it from python -m http.server; see serveur and server"),
		page("https://a.example/2", "en", "Networks", "<p>/etc/network/interfaces has the server's addresses; include &lt;algorithm&gt;"),
		page("https://a.example/3", "fr", "LDAP", "<p>l'annuaire LDAP du server; getElementById; serveur web; the Weißabgleich"))
	for i := range 4 {
		f.add(page(fmt.Sprintf("https://b.example/%d", i), "en", "ZIP", fmt.Sprintf("<p>zip archives and a server, number %d; vectors are read-only; les développeurs, développer", i)))
	}
	for _, c := range []struct{ asked, suggested string }{
		{"std::vectr::push_back", "std::vector::push_back"},
		{"std::vectr::psuh_back vector", "std::vector::push_back vector"},
		{"/etc/netwrok/intrfaces", "/etc/network/interfaces"},
		{"<alorithm>", "<algorithm>"},
		{"l'anuaire LDAP", "l'annuaire LDAP"},
		{"getElemntById", "getElementById"},
		{"pyton -m http.server", "python -m http.server"},
		// Two letters are swapped; this is preferred to the more frequent word "server"
		{"servuer web", "serveur web"},
		{"weissabglech", "weißabgleich"},
		{"zip archivs", "zip archives"}, // its stem finds a page, but it is misspelled nevertheless
		{"zip archive", ""},             // another form of the word, not a misspelling
		{"developpeur", ""},             // as before, although développer is spelled similarly
		{"vectr OR server", ""},         // the alternative finds a page
		{`"std::vectr"`, ""},
		{`"alorithm"`, ""},
		{`"vectr" vectr`, `"vectr" vector`},
		{"site:vectr.example vectr", ""}, // no page there has the other word
		{"vectr -server", ""},
		{"push_back::vector", ""}, // known words, but not in this order
		{"std::vector::push_back", ""},
		{"xyzzyx::plughh", ""},
	} {
		if a := ask(t, crawl.SearchRequest{Query: c.asked}, f.Index); cmp.Or(a.Suggestion, a.Corrected) != c.suggested {
			t.Errorf("%q: suggested %q, want %q (%s)", c.asked, a.Suggestion, c.suggested, a.Loosened)
		}
	}
	a := ask(t, crawl.SearchRequest{Query: "std::vectr::push_back"}, f.Index)
	if len(a.Hits) != 1 || a.Hits[0].URL != "https://a.example/1" {
		t.Errorf("a name with a slip finds %s", brief(a))
	}
}

func brief(a crawl.SearchAnswer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %q:", a.Total, a.Loosened, a.Suggestion)
	for _, h := range a.Hits {
		fmt.Fprintf(&b, " %s %.6f", strings.TrimPrefix(h.URL, "https://"), h.Score)
	}
	return b.String()
}

// Each filter works by itself, and the facets state how many pages each value has.
func TestFiltersAndFacets(t *testing.T) {
	f := newFixture(t)
	dated := func(p pages.Page, year int) pages.Page {
		p.LastModified = time.Date(year, 5, 6, 0, 0, 0, 0, time.UTC).Format(time.RFC1123)
		return p
	}
	text := page("https://a.example/docs/notes", "", "", "")
	text.ContentType, text.Body, text.Lang = "text/plain", []byte("okapi notes in plain text, without a date"), "en"
	f.add(dated(page("https://a.example/docs/one", "en", "One", "<p>okapi"), 2019), dated(page("https://www.a.example/two", "de", "Zwei", "<p>okapi zwei"), 2021),
		dated(page("https://b.example:8080/three", "en", "Three", "<p>okapi three"), 2021), text)
	for q, want := range map[string]string{
		"okapi":                                 "/docs/notes /docs/one /three /two",
		"okapi site:a.example":                  "/docs/notes /docs/one /two",
		"okapi site:a.example/docs":             "/docs/notes /docs/one",
		"okapi -site:a.example":                 "/three",
		"okapi -site:a.example/docs":            "/three /two",
		"okapi site:b.example":                  "/three",
		"okapi lang:de":                         "/two",
		"okapi -lang:de":                        "/docs/notes /docs/one /three",
		"okapi type:text":                       "/docs/notes",
		"okapi type:html":                       "/docs/one /three /two",
		"okapi inurl:DOCS":                      "/docs/notes /docs/one",
		"okapi -inurl:docs":                     "/three /two",
		"okapi after:2020":                      "/three /two",
		"okapi before:2020":                     "/docs/one",
		"okapi after:2021-05-06":                "/three /two",
		"okapi after:2021-05-07":                "",
		"okapi before:2021-05-06 after:2019-05": "/docs/one",
		"site:a.example":                        "/docs/notes /docs/one /two",
		"lang:de":                               "/two",
		"site:nowhere.example":                  "",
		"one OR two OR zwei":                    "/docs/one /two",
		"title:three okapi":                     "/three",
		"okapi -zwei -three":                    "/docs/notes /docs/one",
	} {
		got := f.urls(q)
		slices.Sort(got)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %s, want %s", q, s, want)
		}
		if a := ask(t, crawl.SearchRequest{Query: q}, f.Index); a.Total != int64(len(got)) || a.AtLeast {
			t.Errorf("%q: %d in all, at least: %v; want %d", q, a.Total, a.AtLeast, len(got))
		}
	}
	a := ask(t, crawl.SearchRequest{Query: "okapi"}, f.Index)
	want := map[string][]crawl.FacetValue{
		"site": {{Value: "a.example", Count: 2}, {Value: "b.example", Count: 1}, {Value: "www.a.example", Count: 1}},
		"lang": {{Value: "en", Count: 3}, {Value: "de", Count: 1}},
		"type": {{Value: "text/html", Count: 3}, {Value: "text/plain", Count: 1}},
		"year": {{Value: "2021", Count: 2}, {Value: "2019", Count: 1}},
	}
	if !reflect.DeepEqual(a.Facets, want) {
		t.Errorf("facets %v, want %v", a.Facets, want)
	}
	for _, h := range a.Hits {
		if h.URL == "https://www.a.example/two" && (h.Date.Year() != 2021 || h.Lang != "de" || h.Type != "text/html" || h.Size == 0) {
			t.Errorf("%+v", h)
		}
	}
}

// A query that finds nothing is loosened, and the answer states it.
func TestLoosened(t *testing.T) {
	f := newFixture(t)
	f.add(page("https://a.example/vacuum", "en", "Vacuum", "<p>the vacuum reclaims storage"), page("https://a.example/storage", "en", "Storage", "<p>the storage of tables is read only"))
	for q, want := range map[string]struct{ urls, loosened, corrected string }{
		"vacuum storage":      {"/storage /vacuum", "do not have all words", ""},
		`"vacuum" storage`:    {"/vacuum", "", ""},
		"vacuum tables":       {"/storage /vacuum", "no page has all words", ""},
		`"vacuum" tables`:     {"/storage /vacuum", "no page has all words", ""},
		"vacuum -x":           {"/vacuum", "no page has all words", ""},
		"vaccum storage":      {"/storage /vacuum", "do not have all words", "vacuum storage"},
		"vac*":                {"/vacuum", "", ""},
		"vacu":                {"/vacuum", "begin with it", ""},
		"only-read":           {"/storage", "parts of a name", ""},
		"read-only":           {"/storage", "", ""},
		`"storage vacuum"`:    {"", "", ""},
		"the of":              {"/storage /vacuum", "do not have all words", ""},
		"what is the storage": {"/storage /vacuum", "", ""},
		"xyzzyx":              {"", "", ""},
	} {
		a := ask(t, crawl.SearchRequest{Query: q}, f.Index)
		var got []string
		for _, h := range a.Hits {
			got = append(got, canon.URL(h.URL).Path())
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want.urls || (a.Loosened == "") != (want.loosened == "") || !strings.Contains(a.Loosened, want.loosened) || a.Corrected != want.corrected {
			t.Errorf("%q: %v, %q, %q; want %+v", q, got, a.Loosened, a.Corrected, want)
		}
	}
}

// A page about two of the three words ranks above pages that merely contain all three, unless the
// query demands all words. The number of pages with all words still decides what is suggested.
func TestAWordMayBeMissing(t *testing.T) {
	f := newFixture(t)
	f.add(page("https://a.example/reflog", "en", "The reflog of commits", "<p>The reflog notes where commits were. "+strings.Repeat("A reflog is kept for each branch. ", 5)))
	for i := range 5 {
		// A different text for each page, or they would be collapsed into one hit
		var text strings.Builder
		for j, word := range []string{"Nothing", "commits", "lost", "reflog"} {
			fmt.Fprintf(&text, "<p>%s.", word)
			for k := range 60 {
				fmt.Fprintf(&text, " w%dx%dx%d", i, j, k)
			}
		}
		f.add(page(fmt.Sprintf("https://a.example/%d", i), "en", fmt.Sprintf("Matter %d", i), text.String()))
	}
	for _, c := range []struct {
		typed, first string
		total        int64
		loosened     bool
	}{
		{"lost commits reflog", "/reflog", 6, true},
		{"the lost commits of a reflog", "/reflog", 6, true},
		{"lost commits", "", 6, true},
		{`"lost" commits reflog`, "", 5, false},
		{`lost commits title:reflog`, "/reflog", 6, true}, // no page has all words
		{"nothing lost commits reflog", "", 6, true},      // the page about reflog lacks two words
	} {
		a := ask(t, crawl.SearchRequest{Query: c.typed}, f.Index)
		if a.Total != c.total || (a.Loosened != "") != c.loosened || len(a.Hits) == 0 || c.first != "" && canon.URL(a.Hits[0].URL).Path() != c.first {
			t.Errorf("%s: %d, %q, %+v; want %+v", c.typed, a.Total, a.Loosened, a.Hits, c)
		}
	}
	if a := ask(t, crawl.SearchRequest{Query: "lost commits reflog", Offset: 1, Limit: 4}, f.Index); a.Loosened != "" {
		t.Errorf("of a page on which nothing is missing it says %q", a.Loosened)
	}
}

// The contributions in the explanation of a hit add up to its score.
func TestExplain(t *testing.T) {
	f := newFixture(t)
	f.add(page("https://a.example/okapi", "en", "The okapi", `<p>the okapi is shy`), page("https://a.example/", "en", "Animals", `<p><a href="/okapi">okapi</a> and others`))
	a := ask(t, crawl.SearchRequest{Query: "okapi", Explain: true}, f.Index)
	if len(a.Hits) != 2 || a.Hits[0].URL != "https://a.example/okapi" {
		t.Fatalf("%+v", a.Hits)
	}
	for _, h := range a.Hits {
		sum, names := 0.0, map[string]float64{}
		for _, s := range h.Signals {
			sum += s.Points
			names[s.Name] = s.Value
			if s.Value < 0 || s.Value > 1 || s.Points != s.Value*s.Weight {
				t.Errorf("%s: %+v", h.URL, s)
			}
		}
		if d := sum - h.Score; d > 1e-5 || d < -1e-5 {
			t.Errorf("%s: signals add up to %v, the score is %v", h.URL, sum, h.Score)
		}
		if linked := names["links"] > 0; linked != (h.URL == "https://a.example/okapi") {
			t.Errorf("%s: links %v", h.URL, names["links"])
		}
	}
	if s := ask(t, crawl.SearchRequest{Query: "okapi"}, f.Index).Hits[0].Signals; s != nil {
		t.Errorf("signals nobody asked for: %v", s)
	}
}

// The words of links count for the page that the links lead to, but not those of a deleted page or
// of a link to another site.
func TestWordsOfLinks(t *testing.T) {
	f := newFixture(t)
	from := page("https://a.example/", "en", "Start", `<p><a href="/animal">the striped giraffe</a>`)
	f.add(from, page("https://a.example/animal", "en", "Animal", "<p>It is shy."), page("https://b.example/", "en", "B", `<a href="https://a.example/animal">zebroid</a>`))
	if got := f.urls("giraffe"); !slices.Contains(got, "/animal") {
		t.Errorf("giraffe: %v", got)
	}
	if got := f.urls("zebroid"); slices.Contains(got, "/animal") {
		t.Errorf("zebroid: %v", got)
	}
	from.Deleted, from.Visit.N = crawl.ReasonHTTP4xx, visits+1
	f.add(from)
	if got := f.urls("giraffe"); len(got) != 0 {
		t.Errorf("giraffe, after its page is gone: %v", got)
	}
}

// Pages with the same text are one hit, also if their markup differs.
func TestSameText(t *testing.T) {
	f := newFixture(t)
	text := "the okapi is shy and lives in the forest, where it eats leaves and buds all day long"
	f.add(page("https://a.example/a", "en", "Okapi", "<p>"+text), page("https://a.example/b", "en", "Okapi", "<div class=x>"+text+"</div>"),
		page("https://a.example/c", "en", "Okapi", "<p>"+text+" and night"))
	if hits := f.search("okapi"); len(hits) != 2 || !slices.ContainsFunc(hits, func(h crawl.Hit) bool { return len(h.Also) == 1 }) {
		t.Errorf("%+v", hits)
	}
}

// A batch of pages with very many words is indexed in parts, and no page is lost.
func TestLargeBatch(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for b.Len() < 1<<20 {
		b.WriteString("okapi ibis gnu ")
	}
	n := batchWords/(3*b.Len()/15) + 3
	var all []pages.Page
	for i := range n {
		all = append(all, page(fmt.Sprintf("https://a.example/%d", i), "en", fmt.Sprint("Page ", i), fmt.Sprintf("<p>%s number%d", b.String(), i)))
	}
	if _, err := f.store.Put(all); err != nil {
		t.Fatal(err)
	}
	first, err := f.Step(t.Context())
	if err != nil || first >= n || first == 0 {
		t.Fatalf("%d of %d pages in the first batch, %v", first, n, err)
	}
	f.follow()
	if got := f.live(); got != uint64(n) {
		t.Errorf("%d pages, want %d", got, n)
	}
}

// Pages of a site with the same title and nearly the same text are one hit; pages with different
// titles are not, and neither are texts that differ in more than one or two words.
func TestNearDuplicates(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var text []string
	for range 800 {
		text = append(text, fmt.Sprintf("w%d", rng.IntN(500)))
	}
	with := func(changes int) string {
		t := slices.Clone(text)
		for i := range changes {
			t[(i*97+13)%len(t)] = fmt.Sprint("other", i)
		}
		return "<p>okapi " + strings.Join(t, " ")
	}
	f := newFixture(t)
	f.add(page("https://a.example/page", "en", "The okapi", with(0)), page("https://a.example/page?print", "en", "The okapi", with(2)),
		page("https://a.example/page?other", "en", "The okapi", with(300)), page("https://a.example/zebra", "en", "The zebra", with(2)),
		page("https://b.example/page", "en", "The okapi", with(1)))
	hits := f.search("okapi")
	if got := also(hits); !slices.Equal(got, []string{"https://a.example/page also https://a.example/page?print", "https://a.example/page?other",
		"https://a.example/zebra", "https://b.example/page"}) {
		t.Errorf("%q", got)
	}
}

// The more of a text differs, the more bits of its hash differ.
func TestSimHash(t *testing.T) {
	of := func(changes int) uint64 {
		var s simHash
		for i := range 2000 {
			w := uint32(i * 2654435761)
			if changes > 0 && i%(2000/changes) == 0 {
				w++
			}
			s.add([]uint32{w}, 0)
		}
		return s.hash()
	}
	if !alike(of(0), of(0)) || !alike(of(0), of(4)) || alike(of(0), of(500)) {
		t.Errorf("%x %x %x", of(0), of(4), of(500))
	}
	var short simHash
	for i := range 20 {
		short.add([]uint32{uint32(i)}, 0)
	}
	if short.hash() != 0 || alike(0, 0) {
		t.Error("a short text says something")
	}
}
