package robots_test

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
)

// From the answer to GET /robots.txt to whether a URL may be fetched, with the reason.
func Example() {
	status, body := 200, []byte(`
User-agent: *
Disallow: /shop
Allow: /shop/open
Crawl-delay: 2.5
`)
	origin, err := robots.ParseOrigin("https://www.example.org/robots.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := robots.ForStatus(status, body).Rules("examplebot", origin)
	for _, url := range []string{"/", "/shop?id=7", "/shop/open/today"} {
		fmt.Printf("%s %+v\n", url, rules.Match(url))
	}
	fmt.Println(rules.CrawlDelay())
	// Output:
	// / {Allowed:true Line:0 Rule:}
	// /shop?id=7 {Allowed:false Line:3 Rule:Disallow: /shop}
	// /shop/open/today {Allowed:true Line:4 Rule:Allow: /shop/open}
	// 2.5s true
}

func ExampleParse() {
	file := robots.Parse([]byte("Disalow: /x\nUser-agent: *\nSitemap: /sitemap.xml\nNoindex: /y\n"))
	fmt.Println(file.SitemapURLs("https://www.example.org/robots.txt"))
	for _, d := range file.Diagnostics {
		fmt.Printf("line %d: %s\n", d.Line, d.Reason)
	}
	// Output:
	// [https://www.example.org/sitemap.xml]
	// line 1: misspelled name: read as the name that it resembles
	// line 1: rule before the first user-agent line: skipped
	// line 4: this crawler does not use this kind of line: skipped
}

// One server has two names, and its robots.txt names the main one.
func ExampleFile_Claim() {
	file := robots.Parse([]byte("User-agent: *\nDisallow: /cgi-bin\nHost: www.myhost.example\n"))
	for _, url := range []string{"http://www.myhost.example", "http://alias.example"} {
		origin, _ := robots.ParseOrigin(url)
		claim := file.Claim(origin)
		fmt.Println(origin, file.Rules("examplebot", origin).Match("/").Allowed, claim.Kind)
	}
	// Output:
	// http://www.myhost.example true self
	// http://alias.example false target
}

func ExampleFile_AgentServer() {
	file := robots.Parse([]byte("Mobile-agent-server: / none\nMobile-agent-server: /dir1 atp://www.fict.example:544\n"))
	fmt.Println(file.AgentServer("/"))
	fmt.Println(file.AgentServer("/dir1/a"))
	// Output:
	//  false
	// atp://www.fict.example:544 true
}

func ExampleFile_CleanURL() {
	file := robots.Parse([]byte("Clean-param: sid&ref /forum\n"))
	fmt.Println(file.CleanURL("/forum/show?sid=a1&t=8243"))
	// Output: /forum/show?t=8243
}

// A server has answered 503 since the copy expired.
func ExampleHistory() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h := robots.History{}.Succeeded(now, time.Hour)

	now = now.Add(2 * time.Hour)
	h = h.Failed(now, 503, 0)
	fmt.Println(h.Decide(now).Use, h.Decide(now).Ask.Sub(now))

	now = now.Add(24 * time.Hour)
	h = h.Failed(now, 503, 0)
	fmt.Println(h.Decide(now).Use, h.Decide(now).Ask.Sub(now))
	// Output:
	// copy 5m0s
	// nothing 10m0s
}
