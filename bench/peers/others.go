package main

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/gocolly/colly/v2"
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
