package dashboard

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// Whatever sites write, it is text on a page of limited length that is accessible to everybody.
func TestPagesOfAHostileWeb(t *testing.T) {
	handlers := hostileCrawl()
	// The most that a site may send here keeps a race detector busy for seconds.
	c := browse(t, New(Options{Ask: answering(handlers), Timeout: time.Minute}))
	_, list := c.get("/datasets")
	id := regexp.MustCompile(`/dataset/([0-9a-z]+)`).FindStringSubmatch(list)
	if id == nil {
		t.Fatalf("no dataset is listed: %.2000s", list)
	}
	for _, path := range []string{
		"/host/evil.example", "/explain?url=https://evil.example/", "/explain?url=" + url.QueryEscape(evilURL), "/datasets", "/dataset/" + id[1], "/mirrors", "/updates", "/feeds", "/queries", "/queries?show=%22%3E&days=x", "/hosts", "/hosts?sort=queued&down=1&q=evil", "/mobile-robots", "/pages", "/pages?type=x&lang=%22%3E", "/log", "/log?class=audit&host=evil.example", "/log?host=%22%3E", "/settings",
		"/copy?url=https://evil.example/", "/robots?url=https://evil.example/",
		"/datasets?q=" + url.QueryEscape(long[:900]) + "&license=" + url.QueryEscape(evil), "/mirrors?q=%22%3E%3Cscript%3E&from=51", "/explain?url=" + url.QueryEscape(long[:3000]),
	} {
		t.Run(path[:min(len(path), 60)], func(t *testing.T) {
			code, body := c.get(path)
			if code != 200 || !strings.Contains(body, "<h1") {
				t.Fatalf("%d %.2000s", code, body)
			}
			if len(body) > 400<<10 {
				t.Errorf("the page has %d bytes", len(body))
			}
			checkMarkup(t, body)
		})
	}
}

// An empty page says what to type.
func TestPagesOfNothing(t *testing.T) {
	c := browse(t, New(Options{Ask: answering(ask.Handlers{})}))
	for path, says := range map[string]string{
		"/explain": "curtsy explain URL", "/datasets": "curtsy check datatxt", "/mirrors": "curtsy check robots", "/updates": "curtsy crawl --updates", "/feeds": "curtsy feed --to", "/queries": "curtsy serve --query-report",
		"/hosts": "curtsy crawl --contact", "/mobile-robots": "curtsy check mobile-agent", "/pages": "curtsy crawl --contact", "/log": "curtsy log --follow", "/settings": "curtsy seed",
	} {
		code, body := c.get(path)
		if code != 200 || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", path, code, body)
		}
		checkMarkup(t, body)
	}
	for path, says := range map[string]string{
		"/host/new.example": "curtsy seed", "/host/a%20b": "not a host name", "/dataset/nothing": "curtsy datasets",
		"/robots?url=https://new.example/": "curtsy explain",
		"/copy?url=https://new.example/":   "curtsy explain https://new.example/",
	} {
		if code, body := c.get(path); code != 404 || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// Lists are shown in parts, each of which leads to the next with the same filter.
func TestPaging(t *testing.T) {
	var all []any
	for i := range 120 {
		word := "rain"
		if i%2 == 0 {
			word = "snow"
		}
		at := fmt.Sprintf("https://d.example/%d", i)
		all = append(all, crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: at, Origin: "https://d.example", Title: word, Allowed: true, Files: []crawl.DatasetFile{{URL: at + ".csv"}}})
	}
	c := browse(t, New(Options{Ask: answering(ask.Handlers{"datasets": sends(all...)})}))
	rows := func(body string) int { return strings.Count(body, `<th scope="row">`) }
	_, body := c.get("/datasets?q=rain")
	if rows(body) != 50 || !strings.Contains(body, "1 to 50 of 60 (120 in all)") || !strings.Contains(body, `href="/datasets?from=51&amp;q=rain"`) || strings.Contains(body, "Previous") {
		t.Errorf("the first part: %s", body)
	}
	_, body = c.get("/datasets?from=51&q=rain")
	if rows(body) != 10 || !strings.Contains(body, "51 to 60 of 60") || strings.Contains(body, ">Next<") || !strings.Contains(body, `href="/datasets?q=rain"`) {
		t.Errorf("the last part: %s", body)
	}
	for _, from := range []string{"-1", "0", "x", "99999999999999999999", ""} {
		if _, body = c.get("/datasets?from=" + from); rows(body) != 50 {
			t.Errorf("from=%s: %d rows", from, rows(body))
		}
	}
	if _, body = c.get("/datasets?from=500"); rows(body) != 0 || !strings.Contains(body, "From the beginning") {
		t.Errorf("past the end: %s", body)
	}
}

// Mirrors and updates are shown page by page, each beginning where the one before ended.
func TestPagingByCursor(t *testing.T) {
	mirrors, updates := make([]crawl.MirrorInfo, 120), make([]crawl.UpdatesInfo, 120)
	c := browse(t, New(Options{Ask: answering(ask.Handlers{"mirrors-page": pagesOf(questions.MirrorsPage.Sorts, mirrors), "updates-page": pagesOf(questions.UpdatesPage.Sorts, updates)})}))
	for _, path := range []string{"/mirrors?state=main", "/updates?source=rup"} {
		if n, pages := follow(t, c, path, `<th scope="row">`); n != 120 || pages != 3 {
			t.Errorf("%s: %d rows on %d pages", path, n, pages)
		}
	}
	for _, path := range []string{"/mirrors?after=nonsense", "/updates?after=nonsense"} {
		if code, _ := c.get(path); code != 400 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

func TestExplainPage(t *testing.T) {
	_, body := browse(t, New(Options{Ask: answering(hostileCrawl())})).get("/explain?url=https://evil.example/")
	for _, want := range []string{"https://evil.example/robots.txt", ", line 7", "at depth 3", "not allowed", "curtsy explain https://evil.example/"} {
		if !strings.Contains(body, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	// The directive that limits excerpts of the page, and its place.
	h := hostileCrawl()
	h["explain"] = sends(crawl.Explanation{URL: "https://evil.example/", Canonical: "https://evil.example/", Seen: true, State: crawl.Stored.String()})
	h["quoting"] = sends(crawl.QuoteLimit{Rule: crawl.RuleMaxSnippet, From: crawl.FromHeader, Chars: 17},
		crawl.QuoteLimit{Rule: crawl.RuleDataNoSnippet, From: crawl.FromText, Parts: 3})
	_, body = browse(t, New(Options{Ask: answering(h)})).get("/explain?url=https://evil.example/")
	for _, want := range []string{`>at most 17 characters<td data-l="file and line">its X-Robots-Tag or Robots-Tag header<td data-l="rule"><code>max-snippet:17</code>`,
		`>all but 3 parts of the text<td data-l="file and line">its text<td data-l="rule"><code>data-nosnippet</code>`} {
		if !strings.Contains(body, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

func TestDatasetFilters(t *testing.T) {
	kib, gib := int64(1<<10), int64(11<<30)
	spec := func(name, license string, f ...crawl.DatasetFile) any {
		return crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: "https://d.example/" + name, Origin: "https://d.example", Title: name, License: license, Allowed: true, Files: f}
	}
	c := browse(t, New(Options{Ask: answering(ask.Handlers{"datasets": sends(
		spec("Rain", "https://creativecommons.org/licenses/by/4.0/", crawl.DatasetFile{URL: "https://files.example/rain.csv", Bytes: &kib}),
		spec("Snow", "ask us", crawl.DatasetFile{URL: "https://d.example/snow", MediaType: "application/x-ndjson", Bytes: &gib}),
		spec("Wind", "", crawl.DatasetFile{URL: "https://d.example/wind.zip"}),
	)})}))
	for query, want := range map[string]string{
		"": "Rain Snow Wind", "q=RAIN": "Rain", "q=rain+snow": "", "license=cc-by-4.0": "Rain", "license=ask+us": "Snow", "license=none": "Wind",
		"format=CSV": "Rain", "format=jsonl": "Snow", "format=zip": "Wind", "host=files.": "Rain", "host=d.example": "Rain Snow Wind",
		"size=s": "Rain", "size=xl": "Snow", "size=unknown": "Wind", "size=nonsense": "", "size=s&format=zip": "",
	} {
		code, body := c.get("/datasets?" + query)
		var got []string
		for _, name := range []string{"Rain", "Snow", "Wind"} {
			if strings.Contains(body, "<bdi>"+name+"</bdi>") {
				got = append(got, name)
			}
		}
		if code != 200 || strings.Join(got, " ") != want {
			t.Errorf("%s: %d, %v, want %s", query, code, got, want)
		}
	}
	_, body := c.get("/datasets?q=rain")
	id := regexp.MustCompile(`/dataset/([0-9a-z]+)`).FindStringSubmatch(body)
	if id == nil {
		t.Fatal("no link to a dataset")
	}
	code, body := c.get("/dataset/" + id[1])
	for _, want := range []string{"curtsy datasets get " + id[1], "https://files.example/rain.csv", "1 KiB", "CC-BY-4.0", "https://d.example/Rain", "json-ld"} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("the dataset: %d, it does not say %q", code, want)
		}
	}
}

// A robots.txt is shown line by line, with the rules for us marked.
func TestRobotsPage(t *testing.T) {
	c := browse(t, New(Options{Ask: answering(ask.Handlers{"robots-text": sends(crawl.RobotsText{Origin: "https://h.example", Size: 70, Text: "User-agent: *\r\nDisallow: /a\r\nnonsense\r\nCrawl-delay: 7\r\nUser-agent: x\r\nDisallow: /b"})})}))
	code, body := c.get("/robots?url=https://h.example/")
	for _, want := range []string{"1 rule applies to this crawler", "7 s between", "<td><b>rule</b><td><code>Disallow: /a</code>", "<td><td><code>Disallow: /b</code>", "<td><td><code>nonsense</code><td>"} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("%d, it does not say %q: %s", code, want, body)
		}
	}
}
