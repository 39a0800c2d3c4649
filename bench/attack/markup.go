package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// mark is markup that must not reach a browser as markup.
const mark = `<img src=x onerror=alert(7)>`

// storedMarkup: a site puts markup into everything of which curtsy stores a text. Browsers of the
// dashboard and of the search page must see it as text.
func storedMarkup(ctx context.Context, r *Rig) (Row, error) {
	evil, err := r.Serve("127.0.0.2", http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Language", mark)
		switch q.URL.Path {
		case "/robots.txt":
			fmt.Fprintf(w, "User-agent: *\nAllow: /%s\nSitemap: /%s\nContent-Usage: %s\nLicense: javascript:alert(7)//%s\nHost: %s\n", mark, mark, mark, mark, mark)
		case "/data.txt":
			fmt.Fprintf(w, "title: %s\nurl: javascript:alert(7)//%s\nlicense: javascript:alert(7)\n", mark, mark)
		case "/.well-known/security.txt":
			fmt.Fprintf(w, "Contact: javascript:alert(7)//%s\nExpires: 2030-01-01T00:00:00Z\n", mark)
		default:
			w.Header().Set("Content-Type", "text/html; charset="+mark)
			fmt.Fprintf(w, `<html lang='%s'><title>harbour &lt;img src=x onerror=alert(7)></title><meta name=description content='%s'>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Dataset","name":"harbour %s","url":"javascript:alert(7)","license":"javascript:alert(7)","description":"%s"}</script>
<p>harbour &lt;img src=x onerror=alert(7)&gt; &lt;script>alert(7)&lt;/script> %s <a href="/%s">a</a> <a href="javascript:alert(7)">b</a>`, mark, mark, mark, mark, mark, url.PathEscape(mark))
		}
	}))
	if err != nil {
		return Row{}, err
	}
	defer evil.Close()
	seed := "http://www.markup.example:" + evil.Port() + "/"
	dir := r.File("data")
	p, err := r.Start(ctx, "crawl", "crawl", "--dir", dir, "--allow-private", "--progress", "none", "--listen", "off", "--security-txt", "--hurry", "www.markup.example", "--delay", "20ms",
		"--resolve", "*.example=127.0.0.2", "--max-time", "10s", "--max-pages", "20", "--min-free", "1MiB", seed)
	if err != nil {
		return Row{}, err
	}
	if code := p.Wait(ctx, 30*time.Second); code != 0 && code != 3 {
		return Row{}, errors.New("the crawl failed: " + p.Output())
	}
	row := Row{Took: p.Stop()}
	row.Took.Connections, row.Took.Bytes = int(evil.Connections.Load()), evil.Bytes.Load()
	var bad []string
	seen := 0
	for _, c := range []struct {
		command string
		paths   []string
	}{
		{"serve", []string{"/search?q=harbour", "/search?q=" + url.QueryEscape(mark), "/api/v1/search?q=harbour", "/nothing" + url.PathEscape(mark)}},
		{"dashboard", []string{
			"/", "/hosts", "/hosts?q=" + url.QueryEscape(mark), "/hosts/www.markup.example:" + evil.Port(), "/host?name=www.markup.example:" + evil.Port(), "/pages", "/explain?url=" + url.QueryEscape(seed),
			"/explain?url=" + url.QueryEscape("javascript:"+mark), "/datasets", "/datasets?q=harbour", "/log", "/mirrors", "/updates", "/settings", "/search?q=harbour", "/robots?host=www.markup.example:" + evil.Port(), "/" + url.PathEscape(mark),
		}},
	} {
		address, err := freePort()
		if err != nil {
			return row, err
		}
		s, err := r.Start(ctx, c.command, c.command, "--dir", dir, "--listen", address)
		if err != nil {
			return row, err
		}
		defer s.Stop()
		if err := s.Answers(ctx, "http://"+address+c.paths[0]); err != nil {
			return row, err
		}
		for _, path := range c.paths {
			resp, err := http.Get("http://" + address + path)
			if err != nil {
				return row, err
			}
			text, err := io.ReadAll(resp.Body)
			if err = errors.Join(err, resp.Body.Close()); err != nil {
				return row, err
			}
			add := func(what string) { bad = append(bad, c.command+" "+path+" "+what) }
			html := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
			if strings.Contains(string(text), "onerror") {
				seen++
			}
			switch policy := resp.Header.Get("Content-Security-Policy"); {
			case html && (strings.Contains(string(text), mark) || strings.Contains(string(text), "<script>alert")):
				add("has the markup")
			case html && strings.Contains(string(text), `href="javascript:`):
				add("has a javascript: link")
			case html && (!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe-inline")):
				add("has the policy " + policy)
			case resp.Header.Get("X-Content-Type-Options") != "nosniff":
				add("lacks nosniff")
			}
		}
	}
	row.Good = fmt.Sprintf("%d answers show the site's markup as text", seen)
	row.Held, row.Because = len(bad) == 0 && seen > 3, strings.Join(bad, "; ")
	return row, nil
}
