package search

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/web"
)

// Filters become words of the query, pages an offset.
func TestAsked(t *testing.T) {
	for path, want := range map[string]crawl.SearchRequest{
		"?q=event+loop":     {Query: "event loop", Limit: 10},
		"?q=a&page=3&per=7": {Query: "a", Offset: 14, Limit: 7},
		"?site=x.example&q=%22open&lang=de&type=text/html&before=2025&after=2024-05": {Query: `"open" site:x.example lang:de type:text/html after:2024-05-01 before:2025-01-01`, Limit: 10},
		"?like=HTTPS://a.example/%23b&site=x.example":                                {Query: "site:x.example", Like: "https://a.example/", Limit: 10},
		"?lang=de":                    {Query: "lang:de", Limit: 10},
		"?q=a%00b%0Ac&explain=1":      {Query: "ab c", Limit: 10, Explain: true},
		"?q=%20a%20&page=&site=&per=": {Query: "a", Limit: 10},
		"?q=a+site:x.example&site=y.example&site=z.example&lang=de&lang=de": {Query: "a site:y.example site:z.example lang:de", Limit: 10},
		"?q=a&cursor=abc_-9&page=400&sort=date":                             {Query: "a", Limit: 10, Cursor: "abc_-9", Sort: "date"},
		"?q=a&cursor=" + strings.Repeat("x", 8192):                          {Query: "a", Limit: 10, Cursor: strings.Repeat("x", 8192)},
		"?q=a&per_site=2&verbatim=1&languages=de-CH,fr%3Bq=0.9,de":          {Query: "a", Limit: 10, PerSite: 2, Verbatim: true, Languages: []string{"de", "fr"}},
		"?q=a&per_site=100&verbatim=0&languages=*":                          {Query: "a", Limit: 10, PerSite: 100},
		"?q=a&site=s1.example" + siteValues(2, 31):                          {Query: "a" + strings.ReplaceAll(siteValues(1, 31), "&site=", " site:"), Limit: 10},
		"?q=a&page=10&per=100":                                              {Query: "a", Offset: 900, Limit: 100},
		"?q=" + strings.Repeat("x", 2048):                                   {Query: strings.Repeat("x", 2048), Limit: 10},
	} {
		for _, at := range []string{"/api/v1/search", "/api/search", "/search"} {
			f := answers(crawl.SearchAnswer{}, nil)
			if code, _, body := get(t, New(Options{Crawl: f}), at+path); code != http.StatusOK || len(f.asked) != 1 || !reflect.DeepEqual(f.asked[0], want) {
				t.Errorf("%s%s: %d, asked %+v, want %+v: %s", at, path, code, f.asked, want, body)
			}
		}
	}
}

// siteValues are parameters for the sites with the numbers from first to last.
func siteValues(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "&site=s%d.example", i)
	}
	return b.String()
}

// Wrong parameters are answered with correct ones, and no shard is asked.
func TestWrong(t *testing.T) {
	long := strings.Repeat("x", 2049)
	for query, c := range map[string]struct{ parameter, says string }{
		"":                            {"q", "?q=words"},
		"q=" + long:                   {"q", "2049 bytes; the limit is 2048"},
		"q=" + long[:1] + "%ff":       {"q", "UTF-8"},
		"q=-%22a%22+-b":               {"q", "excludes"},
		"q=%22":                       {"q", "no words"},
		"q=(((":                       {"q", "no words"},
		"q=a&page=0":                  {"page", "1 to 1000"},
		"q=a&page=x":                  {"page", "1 to 1000"},
		"q=a&page=101":                {"page", "at most 1000"},
		"q=a&per=100&page=11":         {"page", "at most 1000"},
		"q=a&per=101":                 {"per", "1 to 100"},
		"q=a&per=-1":                  {"per", "1 to 100"},
		"q=a&explain=maybe":           {"explain", "1 or 0"},
		"q=a&site=a%20b":              {"site", "docs.example.org"},
		"q=a&site=a%22b":              {"site", "docs.example.org"},
		"q=a&site=" + long[:257]:      {"site", "at most 256"},
		"q=a&lang=d":                  {"lang", "de"},
		"q=a&lang=de+OR":              {"lang", "de"},
		"q=a&before=2024-13-01":       {"before", "2024-05-31"},
		"q=a&after=soon":              {"after", "2024-05-31"},
		"q=a&q=b":                     {"q", "once"},
		"q=a&before=2024&before=2023": {"before", "once"},
		"q=a" + siteValues(1, 32):     {"q", "too long to be narrowed by site"},
		"q=a&cursor=" + strings.Repeat("x", 8193):  {"cursor", "links.next"},
		"q=a&cursor=a%20b":                         {"cursor", "links.next"},
		"q=a&cursor=x&page=1000001":                {"page", "1 to 1000"},
		"q=a&per_site=0":                           {"per_site", "1 to 100"},
		"q=a&per_site=101":                         {"per_site", "1 to 100"},
		"q=a&verbatim=yes":                         {"verbatim", "1 or 0"},
		"q=a&languages=german":                     {"languages", "de,fr"},
		"q=a&languages=aa,bb,cc,dd,ee,ff,gg,hh,ii": {"languages", "at most 8"},
		"q=a&sites=b":                              {"sites", "there are q, like, page"},
		"q=a&like=https://a.example/":              {"q", "no words"},
		"q=-a&like=https://a.example/":             {"q", "no words"},
		"like=no+address":                          {"like", "https://example.org/"},
		"like=https://a.example/" + long + long:    {"like", "the limit is 4096"},
		"q=%zz":                                    {"", "not valid"},
		"q=a;b":                                    {"", "not valid"},
	} {
		f := answers(crawl.SearchAnswer{}, nil)
		w := New(Options{Crawl: f})
		code, p := getJSON[web.Details](t, w, "/api/v1/search?"+query)
		if code != 400 || p.Status != 400 || p.Title != "Bad Request" || p.Type != "about:blank" || p.Parameter != c.parameter || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s: %d %+v", shown(query), code, p)
		}
		if p.Parameter == "" || query == "" || strings.Contains(query, "sites") {
			continue // to a person the page of an empty query is no error, nor is another parameter
		}
		if code, _, body := get(t, w, "/search?"+query); code != 400 || !strings.Contains(body, `role="alert"`) {
			t.Errorf("/search?%s: %d %s", shown(query), code, body)
		}
		if len(f.asked) > 0 {
			t.Errorf("%s: asked %+v", shown(query), f.asked)
		}
	}
}

func TestAnswer(t *testing.T) {
	hits := make([]crawl.Hit, 10)
	for i := range hits {
		hits[i] = crawl.Hit{URL: fmt.Sprintf("https://a.example/%d", i), Title: "A", Snippet: text("b\u202ec"), Marks: [][2]int{{0, 1}}}
	}
	w := New(Options{Crawl: answers(crawl.SearchAnswer{Hits: hits, Total: 25, Next: "c", Suggestion: "better", Facets: map[string][]crawl.FacetValue{"site": {{Value: "a.example", Count: 25}}}}, nil)})
	code, a := getJSON[Answer](t, w, "/api/v1/search?q=a%26b&page=2&lang=de")
	want := Links{Self: "/api/v1/search?q=a%26b+lang%3Ade&page=2", Next: "/api/v1/search?q=a%26b+lang%3Ade&page=3&cursor=c", Prev: "/api/v1/search?q=a%26b+lang%3Ade"}
	if code != 200 || a.Query != "a&b lang:de" || a.Page != 2 || a.PerPage != 10 || a.Links != want || a.Total != 25 || len(a.Hits) != 10 || a.Suggestion != "better" ||
		!reflect.DeepEqual(a.Hits[3], hits[3]) || a.Facets["site"][0].Count != 25 {
		t.Errorf("%d %+v", code, a)
	}
	if _, _, body := get(t, w, "/api/v1/search?q=a"); strings.Contains(body, "\u202e") || !strings.Contains(body, `\u202e`) {
		t.Errorf("a terminal would obey %s", body)
	}
	if _, header, body := get(t, w, "/api/v1/search?q=%3Cscript%3E"); !strings.Contains(body, "/api/v1/search?q=%3Cscript%3E&page=2&cursor=c") || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("links cannot be copied from %s", body)
	}
	w = New(Options{Crawl: answers(crawl.SearchAnswer{Hits: hits, Total: 500}, nil)})
	if _, a := getJSON[Answer](t, w, "/api/search?q=a&page=3"); a.Links.Next != "" || a.Links.Prev != "/api/search?q=a&page=2" {
		t.Errorf("the last page links to %+v", a.Links)
	}
	w = New(Options{Crawl: answers(crawl.SearchAnswer{}, nil)})
	if code, _, body := get(t, w, "/api/v1/search?q=a"); code != 200 || !strings.Contains(body, `"hits":[]`) || strings.Contains(body, `"next"`) {
		t.Errorf("nothing found: %d %s", code, body)
	}
	f := answers(crawl.SearchAnswer{}, crawl.ErrCursor)
	if code, p := getJSON[web.Details](t, New(Options{Crawl: f}), "/api/v1/search?q=a&cursor=x"); code != 400 || p.Parameter != "cursor" || !strings.Contains(p.Detail, "leave it out") {
		t.Errorf("a cursor of nobody: %d %+v", code, p)
	}
}

// The engine says with a cursor whether there are further hits. Then the total promises nothing.
func TestCursor(t *testing.T) {
	f := answers(crawl.SearchAnswer{Hits: make([]crawl.Hit, 10), Total: 5000, Next: "c2"}, nil)
	w := New(Options{Crawl: f})
	for path, want := range map[string]Links{
		"?q=a":                             {Self: "?q=a", Next: "?q=a&page=2&cursor=c2"},
		"?q=a&per_site=3&page=100":         {Self: "?q=a&page=100&per_site=3", Next: "?q=a&page=101&per_site=3&cursor=c2", Prev: "?q=a&page=99&per_site=3"},
		"?q=a&page=101&cursor=c1":          {Self: "?q=a&page=101&cursor=c1", Next: "?q=a&page=102&cursor=c2", Prev: "?q=a&page=100"},
		"?q=a&page=2&cursor=c1&verbatim=1": {Self: "?q=a&page=2&verbatim=1&cursor=c1", Next: "?q=a&page=3&verbatim=1&cursor=c2", Prev: "?q=a&verbatim=1"},
	} {
		want.Self, want.Next = "/api/v1/search"+want.Self, "/api/v1/search"+want.Next
		if want.Prev != "" {
			want.Prev = "/api/v1/search" + want.Prev
		}
		if _, a := getJSON[Answer](t, w, "/api/v1/search"+path); a.Links != want || a.Next != "c2" {
			t.Errorf("%s: %+v, want %+v", path, a.Links, want)
		}
	}
	d, _ := see(t, w, "/search?q=a&page=101&cursor=c1")
	if next, _ := d.Find(".pages a[rel=next]").Attr("href"); next != "/search?q=a&page=102&cursor=c2" {
		t.Errorf("the page leads to %q", next)
	}
	if start, _ := d.Find(".hits").Attr("start"); start != "1001" {
		t.Errorf("hits count from %s", start)
	}
	// The last page of a cursor, and a cursor behind the last hit.
	for _, hits := range []int{10, 0} {
		w := New(Options{Crawl: answers(crawl.SearchAnswer{Hits: make([]crawl.Hit, hits), Total: 5000, Next: map[int]string{0: "c3"}[hits]}, nil)})
		if _, a := getJSON[Answer](t, w, "/api/v1/search?q=a&cursor=c2"); a.Links.Next != "" || a.Next != "" {
			t.Errorf("%d hits: there is no more, but %+v", hits, a.Links)
		}
		if d, _ := see(t, w, "/search?q=a&page=5&cursor=c2"); d.Find(".pages a[rel=next]").Length() > 0 || strings.Contains(d.Find(".numbers").Text(), "6") {
			t.Errorf("%d hits: the page promises more: %s", hits, d.Find(".pages").Text())
		}
	}
}

// Missing parts are reported. If no shard answers, there is no answer.
func TestMissing(t *testing.T) {
	part := crawl.SearchAnswer{Hits: []crawl.Hit{{URL: "https://a.example/"}}, Total: 1, MissingPages: -1}
	w := New(Options{Crawl: answers(part, errors.Join(errors.New("a disk"), &ask.IncompleteError{Question: "search", Missing: []int{1, 3}, Shards: 4}))})
	code, header, body := get(t, w, "/api/v1/search?q=a")
	if code != 200 || header.Get("Curtsy-Incomplete") != "shards=1,3" || !strings.Contains(body, `"missing":[1,3],"incomplete":true`) || strings.Contains(body, "disk") {
		t.Errorf("%d %v %s", code, header, body)
	}
	if code, header, body := get(t, w, "/search?q=a"); code != 200 || header.Get("Curtsy-Incomplete") == "" || !strings.Contains(body, "(shards 1 and 3)") {
		t.Errorf("%d %v %s", code, header, body)
	}
	for name, err := range map[string]error{
		"nobody":  fmt.Errorf("%w: really", ask.ErrNobody),
		"all":     &ask.IncompleteError{Missing: []int{0, 1}, Shards: 2},
		"in time": context.DeadlineExceeded,
		"broken":  errors.New("/secret/file is damaged"),
	} {
		w := New(Options{Crawl: answers(crawl.SearchAnswer{}, err)})
		want := 503
		if name == "broken" {
			want = 500
		}
		code, p := getJSON[web.Details](t, w, "/api/v1/search?q=a")
		if code != want || strings.Contains(p.Detail, "secret") || p.Detail == "" {
			t.Errorf("%s: %d %+v", name, code, p)
		}
		code, header, body := get(t, w, "/search?q=a")
		if code != want || !strings.Contains(html.UnescapeString(body), p.Detail) || (header.Get("Retry-After") != "") != (want == 503) {
			t.Errorf("%s: %d %v", name, code, header)
		}
	}
}

// Questions beyond the limit wait, and those beyond the queue are refused.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(ctx context.Context, _ crawl.SearchRequest) (crawl.SearchAnswer, error) {
			<-ctx.Done()
			return crawl.SearchAnswer{}, ctx.Err()
		}}
		w := New(Options{Crawl: f, Limits: web.Limits{AtOnce: 2, Queue: 3, Timeout: 10 * time.Second}})
		codes := make(chan int, 10)
		ask := func() {
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, httptest.NewRequest("GET", "/api/v1/search?q=a", nil))
			if rec.Code == 503 && rec.Header().Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			codes <- rec.Code
		}
		for range 5 {
			go ask()
		}
		synctest.Wait()
		if f.times() != 2 || len(codes) != 0 {
			t.Fatalf("%d asked, %d answered", f.times(), len(codes))
		}
		ask() // the sixth
		if code := <-codes; code != 503 {
			t.Errorf("past all places: %d", code)
		}
		start := time.Now()
		for range 5 {
			if code := <-codes; code != 503 {
				t.Errorf("%d", code)
			}
		}
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("given up after %v", d)
		}
		f.answer = func(context.Context, crawl.SearchRequest) (crawl.SearchAnswer, error) {
			return crawl.SearchAnswer{}, nil
		}
		if ask(); <-codes != 200 {
			t.Error("no room afterwards")
		}
	})
}

// A question that waits before each of its steps is given up at the same time as others.
func TestStepsShareTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := web.NewSemaphore(1, 1, 10*time.Second)
		hold := func(d time.Duration) {
			if err := s.Do(t.Context(), func(context.Context) error { time.Sleep(d); return nil }); err != nil {
				t.Error(err)
			}
		}
		began, end := time.Now(), s.End()
		go hold(8 * time.Second)
		synctest.Wait()
		if err := s.DoUntil(t.Context(), end, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		go hold(8 * time.Second)
		synctest.Wait()
		if err := s.DoUntil(t.Context(), end, func(context.Context) error { return nil }); !errors.Is(err, web.ErrBusy) {
			t.Error(err)
		}
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("given up after %v", d)
		}
		time.Sleep(time.Minute)
	})
}

// A megabyte of query is answered by one sentence, over a connection too.
func TestHugeQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{})
		l, err := network.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: New(Options{Crawl: answers(crawl.SearchAnswer{}, nil)})}
		go srv.Serve(l)
		defer time.Sleep(time.Second) // net/http waits before it closes what it has not read
		defer srv.Close()
		over := &http.Transport{DialContext: network.Dial}
		defer over.CloseIdleConnections()
		client := &http.Client{Transport: over}
		for size, want := range map[int]int{2048: 200, 2049: 400, 1 << 19: 400, 1<<20 + 1<<13: 431} {
			for _, path := range []string{"/search?q=", "/api/v1/search?q=", "/api/v1/pages?url=http://a.example/"} {
				if size <= 2049 && strings.Contains(path, "pages") {
					continue
				}
				resp, err := client.Get("http://" + l.Addr().String() + path + strings.Repeat("x", size))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("%s with %d bytes: %d, want %d", path, size, resp.StatusCode, want)
				}
			}
		}
	})
}

func TestPage(t *testing.T) {
	f := &fake{page: func(url, content string) (rec crawl.PageRecord, found bool, err error) {
		rec.URL, rec.Text = url, content
		switch {
		case strings.Contains(url, "partly"):
			err = &ask.IncompleteError{Question: "page", Missing: []int{1}, Shards: 2}
		case strings.Contains(url, "gone"):
			return rec, false, nil
		}
		return rec, err == nil, err
	}}
	w := New(Options{Crawl: f})
	for path, want := range map[string]string{
		"?url=" + url.QueryEscape("https://a.example/b?c=d&e"): "https://a.example/b?c=d&e text",
		"?url=HTTPS%3A%2F%2FA.example&content=html":            "https://a.example/ html",
		"/" + url.PathEscape("https://a.example/b%2Fc?d"):      "https://a.example/b%2Fc?d text",
		"/https%3A%2F%2Fa.example%2Fx?content=html":            "https://a.example/x html",
		"/https://a.example/b%2Fc//d?content=html&x=%20":       "https://a.example/b%2Fc//d?content=html&x=%20 text",
		"/http:/a.example/b":                                   "http://a.example/b text",
	} {
		if code, rec := getJSON[crawl.PageRecord](t, w, "/api/v1/pages"+path); code != 200 || rec.URL+" "+rec.Text != want {
			t.Errorf("%s: %d %s %s, want %s", path, code, rec.URL, rec.Text, want)
		}
	}
	for path, want := range map[string]int{
		"": 400, "/": 400, "?url=": 400, "?url=mailto:x": 400, "/words": 400, "?url=https://a.example/&all=1": 400, "?url=https://a.example/&content=raw": 400,
		"?url=https://a.example/&url=https://b.example/": 400, "?url=https://a.example/" + strings.Repeat("x", 4096): 400,
		"?url=https://a.example/gone": 404, "/https://a.example/gone": 404, "?url=https://a.example/partly": 503,
	} {
		if code, p := getJSON[web.Details](t, w, "/api/v1/pages"+path); code != want || p.Detail == "" {
			t.Errorf("%s: %d %+v, want %d", shown(path), code, p, want)
		}
	}
}

func TestElsewhere(t *testing.T) {
	w := New(Options{Crawl: answers(crawl.SearchAnswer{}, nil)})
	for path, serves := range map[string]bool{"/search": true, "/api/": true, "/api": true, "/api/v2/search": true, "/opensearch.xml": true, "/search-box.js": true, "/": false, "/searching": false, "/apis": false, "/metrics": false} {
		if w.Serves(path) != serves {
			t.Errorf("Serves(%s) = %v", path, !serves)
		}
	}
	if code, p := getJSON[web.Details](t, w, "/api/v2/search"); code != 404 || !strings.Contains(p.Detail, "openapi.json") {
		t.Errorf("%d %+v", code, p)
	}
	for _, path := range []string{"/search", "/api/v1/search", "/api/v1/pages/x", "/nothing"} {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, httptest.NewRequest("POST", path, strings.NewReader("q=a")))
		if rec.Code != 405 || rec.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d", path, rec.Code)
		}
	}
}
