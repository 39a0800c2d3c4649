package search

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/curtsy/curtsy/internal/crawl"
)

// see asks for a page and reads it.
func see(t *testing.T, w *Web, path string) (*goquery.Document, string) {
	t.Helper()
	code, _, body := get(t, w, path)
	d, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil || code != 200 {
		t.Fatal(code, err)
	}
	return d, body
}

// links are where the links of a selection lead, by their text.
func links(s *goquery.Selection) map[string]string {
	all := map[string]string{}
	s.Find("a").Each(func(_ int, a *goquery.Selection) {
		all[strings.Join(strings.Fields(a.Text()), " ")], _ = a.Attr("href")
	})
	return all
}

// The policy allows the style of the page, and nothing else may be loaded or run.
func TestPolicy(t *testing.T) {
	_, header, body := get(t, New(Options{Crawl: &fake{}}), "/search")
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(body)
	if style == nil {
		t.Fatal("no style")
	}
	sum := sha256.Sum256([]byte(style[1]))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	if got := header.Get("Content-Security-Policy"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if strings.Contains(body, "<script") || strings.Contains(body, "style=") || strings.Contains(body, " on") && regexp.MustCompile(`<[^>]* on\w+=`).MatchString(body) {
		t.Errorf("the page wants what its policy forbids: %s", body)
	}
}

func TestFacets(t *testing.T) {
	w := New(Options{Crawl: answers(crawl.SearchAnswer{Hits: []crawl.Hit{{URL: "https://a.example/"}}, Total: 9, Facets: map[string][]crawl.FacetValue{
		"site": {{Value: "a.example", Count: 5}, {Value: "b.example", Count: 4}, {Value: "not a host", Count: 1}},
		"lang": {{Value: "de", Count: 9}},
		"year": {{Value: "2024", Count: 5000}, {Value: "2019", Count: 1}},
		"odd":  {{Value: "x", Count: 1}, {Value: "y", Count: 1}},
	}}, nil)})
	d, _ := see(t, w, "/search?q=quiet+site:a.example&page=3&per=20")
	to := func(q string) string { return "/search?q=" + url.QueryEscape(q) + "&per=20" }
	want := map[string]string{
		"Remove a.example 5 pages": to("quiet"), "b.example 4 pages": to("quiet site:b.example"),
		"best first": "/search?q=quiet+site%3Aa.example&per=20", "newest first": "/search?q=quiet+site%3Aa.example&per=20&sort=-date",
		"2024 5,000 pages": to("quiet site:a.example after:2024-01-01 before:2025-01-01"), "2019 1 pages": to("quiet site:a.example after:2019-01-01 before:2020-01-01"),
	}
	got := links(d.Find("aside"))
	for text, url := range want {
		if strings.Join(strings.Fields(got[text]), "") != url {
			t.Errorf("%q leads to %q, want %q", text, got[text], url)
		}
		delete(got, text)
	}
	if len(got) > 0 {
		t.Errorf("choices that are none: %v", got)
	}
	// With several values each can be removed.
	several := links(see1(t, w, "/search?q=quiet&site=a.example&site=b.example").Find("aside"))
	if got := several["Remove b.example 4 pages"]; got != "/search?q=quiet+site%3Aa.example" {
		t.Errorf("one of two sites leads to %q (of %q)", got, several)
	}
	chips := links(see1(t, w, "/search?q=quiet+site:a.example+-lang:de+inurl:x+after:2024+before:2025").Find(".chips"))
	for text, url := range map[string]string{
		"Remove site: a.example":      "quiet inurl:x -lang:de after:2024-01-01 before:2025-01-01",
		"Remove not language: German": "quiet site:a.example inurl:x after:2024-01-01 before:2025-01-01",
		"Remove in the address: x":    "quiet site:a.example -lang:de after:2024-01-01 before:2025-01-01",
		"Remove year: 2024":           "quiet site:a.example inurl:x -lang:de",
	} {
		if got := chips[text]; !sameWords(got, url) {
			t.Errorf("%q leads to %q, want %q", text, got, url)
		}
	}
	if len(chips) != 4 {
		t.Errorf("%v", chips)
	}
	if chips := links(see1(t, w, "/search?q=quiet+after:2024-05+before:2025").Find(".chips")); chips["Remove since 1 May 2024"] == "" || chips["Remove before 1 January 2025"] == "" {
		t.Errorf("%v", chips)
	}
}

func see1(t *testing.T, w *Web, path string) *goquery.Document {
	t.Helper()
	d, _ := see(t, w, path)
	return d
}

// sameWords reports whether a link asks for these words, in any order.
func sameWords(link, words string) bool {
	u, err := url.Parse(link)
	if err != nil {
		return false
	}
	a, b := strings.Fields(u.Query().Get("q")), strings.Fields(words)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestPaging(t *testing.T) {
	hits := slices.Repeat([]crawl.Hit{{URL: "https://a.example/"}}, 10)
	for _, c := range []struct {
		query   string
		total   int64
		atLeast bool
		numbers string // the one shown in brackets
		sum     string
	}{
		{"q=a", 10, false, "", "10 pages"},
		{"q=a", 1, false, "", "1 page"},
		{"q=a", 10, true, "[1] 2", "at least 10 pages"},
		{"q=a", 45, false, "[1] 2 3 4", "45 pages"},
		{"q=a&page=5", 450000, false, "2 3 4 [5] 6 7 8", "450,000 pages, page 5"},
		{"q=a&page=30", 450000, false, "27 28 29 [30] 31 32 33", "450,000 pages, page 30"},
		{"q=a&page=100", 450000, false, "97 98 99 [100]", "450,000 pages, page 100"},
	} {
		f := answers(crawl.SearchAnswer{Hits: hits, Total: c.total, AtLeast: c.atLeast, Next: map[bool]string{true: "c"}[c.atLeast || c.total > 10]}, nil)
		f.fields = someFields
		d, _ := see(t, New(Options{Crawl: f}), "/search?"+c.query)
		var got []string
		d.Find(".numbers").Children().Each(func(_ int, s *goquery.Selection) {
			s.Find(".unseen").Remove()
			if s.Is("b") {
				got = append(got, "["+s.Text()+"]")
			} else {
				got = append(got, s.Text())
			}
		})
		if strings.Join(got, " ") != c.numbers || strings.TrimSpace(d.Find(".sum").Text()) != c.sum {
			t.Errorf("%s of %d: pages %q, %q", c.query, c.total, got, d.Find(".sum").Text())
		}
		if start, _ := d.Find(".hits").Attr("start"); c.query == "q=a&page=5" && start != "41" {
			t.Errorf("hits count from %s", start)
		}
	}
}

func TestSaid(t *testing.T) {
	d, _ := see(t, New(Options{Crawl: answers(crawl.SearchAnswer{Loosened: "Any <word>.", Notes: []string{"No <~1>."}, Suggestion: `vacuum "freeze"`, Behind: 1, Incomplete: true, Missing: []int{7}, MissingPages: 1200}, nil)}), "/search?q=vacum")
	var notes []string
	d.Find(".note").Each(func(_ int, s *goquery.Selection) { notes = append(notes, s.Text()) })
	want := []string{"Any <word>.", "No <~1>.", "Part of the crawl does not answer at the moment, and with it 1,200 pages (shard 7). The page shows the rest.", "Search is 1 page behind the crawl."}
	if !slices.Equal(notes, want) {
		t.Errorf("%q", notes)
	}
	if got := links(d.Find(".mean")); got[`vacuum "freeze"`] != "/search?q=vacuum+%22freeze%22" {
		t.Errorf("%v", got)
	}
	if !strings.Contains(d.Find("main").Text(), "Nothing found") {
		t.Error("it is not said that nothing was found")
	}
	long := see1(t, New(Options{Crawl: answers(crawl.SearchAnswer{}, nil)}), "/search?q="+strings.Repeat("word+", 100))
	if !strings.Contains(long.Find(".note").Text(), "Only its beginning") {
		t.Error("a query that is cut is not said to be")
	}
	if rows := see1(t, New(Options{Crawl: &fake{}}), "/search").Find(".help tbody tr"); rows.Length() < 8 || !strings.Contains(rows.Text(), "site:example.org") {
		t.Errorf("the query language: %s", rows.Text())
	}
}

// A hit shows its section, and the languages of its translations by their own names.
func TestSectionAndTranslations(t *testing.T) {
	w := New(Options{Crawl: answers(crawl.SearchAnswer{Total: 2, Hits: []crawl.Hit{
		{URL: "https://a.example/b", Title: "B", Section: &crawl.Section{Title: "How \u202eit works", URL: "https://a.example/b#how"}, Pinned: true,
			Translations: []crawl.Translation{{Lang: "de", URL: "https://a.example/de/b"}, {Lang: "fr", URL: "https://a.example/fr/b"}, {Lang: "ja", URL: "javascript:x"}}},
		{URL: "https://a.example/c", Title: "C", Section: &crawl.Section{Title: "Bad", URL: "javascript:x"}},
	}}, nil)})
	d, _ := see(t, w, "/search?q=a")
	first := d.Find("article").First()
	if got := links(first.Find(".part")); len(got) != 1 || got["How it works"] != "https://a.example/b#how" {
		t.Errorf("the section: %v", got)
	}
	if got := links(first.Find(".tongues")); len(got) != 2 || got["Deutsch"] != "https://a.example/de/b" || got["français"] != "https://a.example/fr/b" {
		t.Errorf("translations: %v", got)
	}
	if lang, _ := first.Find(".tongues a").First().Attr("hreflang"); lang != "de" || !strings.Contains(first.Find(".tongues").Text(), "Also in: Deutsch, français") {
		t.Errorf("%q: %s", lang, first.Find(".tongues").Text())
	}
	if !strings.Contains(first.Find(".facts").Text(), "pinned") {
		t.Errorf("facts: %s", first.Find(".facts").Text())
	}
	if second := d.Find("article").Last(); second.Find(".part a").Length() > 0 || !strings.Contains(second.Find(".part").Text(), "Bad") {
		t.Errorf("a section that leads nowhere: %s", second.Text())
	}
}

// A query that was corrected is shown with the one that was typed on offer.
func TestCorrected(t *testing.T) {
	w := New(Options{Crawl: answers(crawl.SearchAnswer{Hits: make([]crawl.Hit, 1), Total: 1, Corrected: "vacuum <full>"}, nil)})
	d, _ := see(t, w, "/search?q=vacum+full&per=20&page=2")
	if got := strings.Join(strings.Fields(d.Find(".mean").Text()), " "); got != "Showing results for vacuum <full>. Search instead for vacum full." {
		t.Errorf("%q", got)
	}
	if got := links(d.Find(".mean"))["vacum full"]; got != "/search?q=vacum+full&per=20&verbatim=1" {
		t.Errorf("the typed form leads to %q", got)
	}
	if d.Find("form input[name=verbatim]").Length() > 0 {
		t.Error("the next query would be verbatim, too")
	}
}

// Text of sites and of the query is text everywhere, and links lead to http and https only.
func TestHostile(t *testing.T) {
	const evil = `"'></title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}` + "\u202e\x00\x1b]8;;x\x07"
	shown := crawl.SearchAnswer{Total: 2, Loosened: evil, Suggestion: evil,
		Facets: map[string][]crawl.FacetValue{"site": {{Value: evil, Count: 1}, {Value: "a.example", Count: 1}}, "lang": {{Value: evil, Count: 1}, {Value: "zz", Count: 1}}, evil: {{Value: evil}}},
		Hits: []crawl.Hit{
			{URL: "javascript:alert(1)//" + evil, Title: evil, Snippet: text(evil), Marks: [][2]int{{3, 20}}, Also: []string{"data:text/html," + evil, "https://b.example/?" + evil}, Lang: evil, Type: evil,
				Signals: []crawl.Signal{{Name: evil}}},
			{URL: "https://a.example/?" + evil, Title: evil, Canonical: evil, AliasOf: evil},
		}}
	w := New(Options{Crawl: answers(shown, nil), Name: "<b>"})
	d, body := see(t, w, "/search?explain=1&q="+url.QueryEscape(evil))
	if d.Find("script, img, iframe, object, base").Length() > 0 || d.Find("style").Length() != 1 {
		t.Errorf("markup got in: %s", body)
	}
	if strings.ContainsAny(html.UnescapeString(body), "\u202e\x00\x1b\x07") {
		i := strings.IndexAny(html.UnescapeString(body), "\u202e\x00\x1b\x07")
		t.Errorf("control characters got in: %q", html.UnescapeString(body)[max(0, i-80):i+40])
	}
	d.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Nodes[0].Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" {
				t.Errorf("%s has the attribute %s=%q", s.Nodes[0].Data, a.Key, a.Val)
			}
			if a.Key == "href" && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "https://") && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("a link leads to %q", a.Val)
			}
			if rel, _ := s.Attr("rel"); a.Key == "href" && strings.HasPrefix(a.Val, "https://") && rel != "noreferrer noopener" {
				t.Errorf("%s has rel %q", a.Val, rel)
			}
		}
	})
	if got := d.Find(".hits h2").First().Text(); !strings.Contains(got, "<script>alert(1)</script>") || d.Find(".hits h2").First().Find("a").Length() > 0 {
		t.Errorf("the title is %q", got)
	}
	if q, _ := d.Find("#q").Attr("value"); !strings.Contains(q, "<img src=x") {
		t.Errorf("the box says %q", q)
	}
}

// A hit without text, date and other addresses, because of nosnippet, has its title and address.
func TestBareHit(t *testing.T) {
	w := New(Options{Crawl: answers(crawl.SearchAnswer{Hits: []crawl.Hit{{URL: "https://a.example/b"}}, Total: 1}, nil)})
	d, _ := see(t, w, "/search?q=a")
	if got := strings.Join(strings.Fields(d.Find("article").Text()), " "); got != "b a.example › b Similar pages to b" {
		t.Errorf("%q", got)
	}
}
