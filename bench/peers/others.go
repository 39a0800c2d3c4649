package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
	"golang.org/x/net/html"
)

// atOnce is the number of concurrent requests of a crawler that must be configured with one.
const atOnce = 64

// wget2 crawls the whole site, obeys robots.txt, and writes one file per page and nothing else.
func wget2(ctx context.Context, r *race) error {
	argv, err := r.withNames("wget2", "--no-config", "--quiet", "--recursive", "--level=inf", "--span-hosts", "--domains=sim.test", "--robots=on",
		"--tries=1", "--no-xattr", "--directory-prefix="+r.mem, r.web.Seeds[0])
	if err != nil {
		return err
	}
	const someAnswerWasAnError = 8 // the log of the web shows what is missing
	return r.finish(ctx, "wget2", argv, someAnswerWasAnError)
}

//go:embed spider.py
var spider []byte

func scrapy(ctx context.Context, r *race) error {
	file := filepath.Join(r.dir, "spider.py")
	if err := os.WriteFile(file, spider, 0o600); err != nil {
		return err
	}
	// Debian's scrapy belongs to Debian's python3, whichever python3 is first in the path.
	argv, err := r.withNames("/usr/bin/python3", file, r.web.Seeds[0], fmt.Sprint(atOnce))
	if err != nil {
		return err
	}
	return r.finish(ctx, "scrapy", argv)
}

// transport connects to one address, whatever the name is.
func transport(addr string) *http.Transport {
	var d net.Dialer
	return &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) },
		MaxIdleConnsPerHost: atOnce,
	}
}

func collyRow(ctx context.Context, r *race) error {
	return r.self(ctx, "colly", r.web.Addr, r.web.Seeds[0])
}

// collyCrawl crawls the web at an address from a seed.
func collyCrawl(args []string) error {
	c := colly.NewCollector(colly.Async(true), colly.UserAgent("bench"))
	c.IgnoreRobotsTxt = false
	c.WithTransport(transport(args[0]))
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: atOnce}); err != nil {
		return err
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		u, err := url.Parse(e.Request.AbsoluteURL(e.Attr("href")))
		if err != nil || !strings.HasSuffix(strings.ToLower(u.Host), ".sim.test") {
			return
		}
		// Otherwise it would fetch a page once for each spelling.
		u.Host, u.Fragment = strings.ToLower(u.Host), ""
		_ = e.Request.Visit(u.String()) // an error usually means that it was visited
	})
	if err := c.Visit(args[1]); err != nil {
		return err
	}
	c.Wait()
	return nil
}

func rawRow(ctx context.Context, r *race) error {
	file, err := r.urls()
	if err != nil {
		return err
	}
	return r.self(ctx, "raw", r.web.Addr, file)
}

// raw fetches the URLs in a file from an address, and counts the links of the pages. As many
// goroutines as concurrent requests take one URL each; connections are kept.
func raw(args []string) error {
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport(args[0])}
	var wg sync.WaitGroup
	var links atomic.Int64
	var failed error
	var once sync.Once
	hosts := make(chan []string)
	for range atOnce {
		wg.Go(func() {
			for urls := range hosts {
				for _, u := range urls {
					n, err := tokenized(client, u)
					if err != nil {
						once.Do(func() { failed = err })
					}
					links.Add(int64(n))
				}
			}
		})
	}
	for _, urls := range byHost(strings.Fields(string(text))) {
		hosts <- urls
	}
	close(hosts)
	wg.Wait()
	fmt.Println(links.Load(), "links")
	return failed
}

// byHost divides URLs where the host changes.
func byHost(urls []string) (out [][]string) {
	last := ""
	for _, u := range urls {
		after := strings.TrimPrefix(u, "http://")
		host, _, _ := strings.Cut(after, "/")
		if host != last || len(out) == 0 {
			out, last = append(out, nil), host
		}
		out[len(out)-1] = append(out[len(out)-1], u)
	}
	return out
}

// tokenized fetches a page and counts its links.
func tokenized(client *http.Client, u string) (links int, err error) {
	resp, err := client.Get(u)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", u, resp.Status)
	}
	z := html.NewTokenizer(resp.Body)
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				return links, z.Err()
			}
			return links, nil
		case html.StartTagToken:
			name, more := z.TagName()
			link := len(name) == 1 && name[0] == 'a'
			for more && link {
				var key []byte
				key, _, more = z.TagAttr()
				if string(key) == "href" {
					links++
				}
			}
		}
	}
}
