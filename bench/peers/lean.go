package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/html"
)

// leanRow is the lean limit: what every crawler in Go that reads links has to do, and nothing else.
// The other rows are compared with it.
func leanRow(ctx context.Context, r *race) error {
	file, err := r.urls()
	if err != nil {
		return err
	}
	return r.self(ctx, "lean", r.web.Addr, file)
}

// lean fetches the URLs in a file from an address with net/http, and counts the links of the pages
// in one pass of a tokenizer. As many goroutines as concurrent requests take one host each, with
// one buffer for bodies; connections are kept. Nothing else is kept.
func lean(args []string) error {
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
			var body bytes.Buffer
			for urls := range hosts {
				for _, u := range urls {
					if err := fetch(client, u, &body); err != nil {
						once.Do(func() { failed = err })
						continue
					}
					links.Add(int64(countLinks(body.Bytes())))
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

// fetch reads the body of a page into the buffer, in place of the previous one.
func fetch(client *http.Client, u string, body *bytes.Buffer) error {
	resp, err := client.Get(u)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", u, resp.Status)
	}
	body.Reset()
	_, err = body.ReadFrom(resp.Body)
	return err
}

// countLinks returns how many links a page has.
func countLinks(page []byte) (links int) {
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken: // the end: a buffer has no other
			return links
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
