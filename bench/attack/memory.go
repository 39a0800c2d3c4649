package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"strings"
)

// mostMemory is what a crawl may use while pages cost as much as possible: --page-memory is
// 256 MiB, and the embedded NATS server, the stores and the search index come on top.
const mostMemory = 700 << 20

// withinMemory is the row of a crawl that must also stay within its memory.
func withinMemory(res Result) Row {
	row := res.Row(0.8)
	row.Held = row.Held && res.RSS <= mostMemory
	row.Because += fmt.Sprintf("; %d MB, of at most %d", res.RSS>>20, mostMemory>>20)
	return row
}

// manyLinks: each page of many domains has as many links as a page may have, without a delay.
func manyLinks(ctx context.Context, r *Rig) (Row, error) {
	evil := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/robots.txt" {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		var b bytes.Buffer
		for i := range 10_000 {
			fmt.Fprintf(&b, `<a href="%s/%d">a</a> `, strings.TrimSuffix(q.URL.Path, "/"), i)
		}
		_, _ = w.Write(b.Bytes())
	})
	c := Crawl{Args: []string{"--hurry", "*.example", "--delay", "0s"}, Delay: "0s", Evil: evil}
	for i := range 300 {
		c.Hosts = append(c.Hosts, fmt.Sprintf("www.links%03d.example", i))
	}
	res, err := c.Run(ctx, r)
	return withinMemory(res), err
}

// bombs: pages, robots.txt and sitemaps of many domains are a megabyte that becomes a gigabyte.
func bombs(ctx context.Context, r *Rig) (Row, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := bytes.Repeat([]byte("<p>\n"), 1<<18)
	for range 1 << 10 {
		_, _ = w.Write(zeros) // a buffer takes everything
	}
	_ = w.Close()
	evil := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/html")
		if q.URL.Path == "/robots.txt" {
			w.Header().Set("Content-Type", "text/plain")
		}
		_, _ = w.Write(b.Bytes())
	})
	c := Crawl{Args: []string{"--hurry", "*.example", "--visits", "64"}, Evil: evil}
	for i := range 100 {
		c.Hosts = append(c.Hosts, fmt.Sprintf("www.bomb%03d.example", i))
	}
	res, err := c.Run(ctx, r)
	return withinMemory(res), err
}
