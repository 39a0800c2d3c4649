package main

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// Formats §8.33: a site submits pages by HTTP to a running crawl. They are requested when its key
// file has been seen. With a key that the site does not have, or for a host that is not crawled,
// nothing is requested.
func TestUsage_8_33_Crawl(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.Host+r.URL.Path]++
		mu.Unlock()
		switch {
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /closed\n")
		case r.URL.Path == "/good-key.txt":
			io.WriteString(w, "good-key\n")
		case strings.HasSuffix(r.URL.Path, ".txt"):
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>page</title>")
		}
	})
	count := func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return asked[path]
	}
	at := unused(t)
	dir, addr := filepath.Join(t.TempDir(), "data"), strings.TrimPrefix(site.URL, "http://")
	begin(t, "crawl", "--dir", dir, "--allow-private", "--delay", "20ms", "--sitemaps=false", "--recrawl", "--updates-indexnow", at,
		"--resolve", "a.test="+addr, "--resolve", "b.test="+addr, "http://a.test/")
	await(t, "the seed", func() bool { return count("a.test/") == 1 })
	post := func(body string) int {
		t.Helper()
		res, err := http.Post("http://"+at+"/indexnow", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	for want, body := range map[int]string{
		202: `{"host":"a.test","key":"wrong-key","urlList":["http://a.test/wrong"]}`,
		422: `{"host":"a.test","key":"good-key","urlList":["http://b.test/other"]}`,
	} {
		if got := post(body); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
	if got := post(`{"host":"b.test","key":"good-key","urlList":["http://b.test/other"]}`); got != 202 {
		t.Errorf("of a host that is not crawled: %d", got)
	}
	if got := post(`{"host":"a.test","key":"good-key","urlList":["http://a.test/new","http://a.test/closed"]}`); got != 202 {
		t.Errorf("%d", got)
	}
	await(t, "what was submitted", func() bool { return count("a.test/new") == 1 && count("a.test/wrong-key.txt") == 1 })
	var out string
	await(t, "what updates says", func() bool {
		out = curtsy(t, app.ExitOK, "updates", "--dir", dir)
		return strings.Contains(out, "indexnow")
	})
	if !strings.Contains(out, "proved") || !strings.Contains(out, "2/") {
		t.Errorf("updates: %s", out)
	}
	if out := curtsy(t, app.ExitOK, "explain", "--dir", dir, "http://a.test/new"); !strings.Contains(out, "http://a.test/good-key.txt") {
		t.Errorf("explain: %s", out)
	}
	for _, u := range []string{"a.test/wrong", "a.test/closed", "b.test/other", "b.test/robots.txt", "b.test/good-key.txt"} {
		if n := count(u); n != 0 {
			t.Errorf("%s was asked for %d times", u, n)
		}
	}
	if n := count("a.test/good-key.txt"); n != 1 {
		t.Errorf("the key file was asked for %d times", n)
	}
}
