package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// mostCaused is how many requests one domain may have sent to a third party's site of ten names: 32
// by each of four shards, and a robots.txt of each name.
const mostCaused = 4*32 + 10

// victim: 300 names of one domain, each of which does everything by which a site may have another
// one asked: it claims to be its mirror, redirects its robots.txt and lists of datasets there, and
// names its licences, sitemaps, feeds and hubs. The other site is not crawled.
func victim(ctx context.Context, r *Rig) (Row, error) {
	v, err := r.Serve("127.0.0.3", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>The victim's page %s", q.URL.Path, q.URL.Path)
	}))
	if err != nil {
		return Row{}, err
	}
	defer v.Close()
	target := func(host string) string {
		host, _, _ = strings.Cut(host, ":")
		name := strings.TrimSuffix(host, ".causes.example")
		return fmt.Sprintf("http://www%c.victim.test:%s", name[len(name)-1], v.Port())
	}
	evil := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		to := target(q.Host)
		switch {
		case q.URL.Path == "/robots.txt" && strings.HasPrefix(q.Host, "r"):
			http.Redirect(w, q, to+"/robots.txt", http.StatusMovedPermanently)
		case q.URL.Path == "/robots.txt":
			fmt.Fprintf(w, "User-agent: *\nAllow: /\nHost: %s\nLicense: %s/licence.xml\nSitemap: %s/sitemap.xml\n", strings.TrimPrefix(to, "http://"), to, to)
		case strings.HasSuffix(q.URL.Path, ".txt"), strings.HasSuffix(q.URL.Path, ".json"), strings.HasPrefix(q.URL.Path, "/.well-known/"):
			http.Redirect(w, q, to+q.URL.Path, http.StatusFound)
		default:
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Link", fmt.Sprintf(`<%s/hub>; rel="hub", <%s/license.xml>; rel="license"`, to, to))
			fmt.Fprintf(w, `<link rel="alternate" type="application/rss+xml" href="%s/feed"><p>The victim's page %s`, to, q.URL.Path)
			for i := range 10 {
				fmt.Fprintf(w, `<a href="/%d">a</a> `, i)
			}
		}
	})
	c := Crawl{Args: []string{"--security-txt", "--llms-txt", "--recrawl", "--purpose", "search", "--resolve", "*.victim.test=127.0.0.3", "--hurry", "*.example"}, Evil: evil}
	for i := range 300 {
		c.Hosts = append(c.Hosts, fmt.Sprintf("%c%03d.causes.example", "mr"[i%2], i))
	}
	res, err := c.Run(ctx, r)
	row := res.Row(0.8)
	v.mu.Lock()
	total := 0
	for _, n := range v.hosts {
		total += n
	}
	v.mu.Unlock()
	row.Held = row.Held && total <= mostCaused
	row.Because += fmt.Sprintf("; the victim received %d requests, of at most %d", total, mostCaused)
	return row, err
}
