package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
)

// A site announces a feed in its pages. A crawl with --recrawl reads the feed repeatedly,
// conditionally and with one request at a time. It fetches what is new and what has changed, and
// nothing that is forbidden or on other sites. `updates` shows the result.
func TestFeedCrawl(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var now atomic.Int32 // requests under way
		asked, version := map[string]int{}, 1
		began := time.Now().Add(-time.Hour)
		site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if now.Add(1) > 1 {
				t.Error("two requests at once")
			}
			defer now.Add(-1)
			time.Sleep(5 * time.Millisecond) // so that another would be seen
			mu.Lock()
			defer mu.Unlock()
			asked[r.URL.Path]++
			switch r.URL.Path {
			case "/robots.txt":
				io.WriteString(w, "User-agent: *\nDisallow: /closed\n")
			case "/feed":
				etag := fmt.Sprintf(`"%d"`, version)
				if w.Header().Set("Etag", etag); r.Header.Get("If-None-Match") == etag {
					asked["same"]++
					w.WriteHeader(http.StatusNotModified)
					return
				}
				date, items := began, ""
				if version > 1 {
					date = time.Now()
					items = `<entry><link href="/new"/></entry><entry><link href="/closed"/></entry><entry><link href="http://b.test/"/></entry>`
				}
				fmt.Fprintf(w, `<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="/page"/><updated>%s</updated></entry>%s</feed>`, date.UTC().Format(time.RFC3339), items)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<title>page</title><link rel=alternate type="application/atom+xml" href=/feed><a href=/page>page</a> version %d of %s`, version, r.URL.Path)
			}
		})
		count := func(path string) int {
			mu.Lock()
			defer mu.Unlock()
			return asked[path]
		}
		dir, addr := filepath.Join(t.TempDir(), "data"), strings.TrimPrefix(site.URL, "http://")
		start(t, "crawl", "--dir", dir, "--allow-private", "--delay", "20ms", "--sitemaps=false", "--updates=false", "--recrawl", "--recrawl-min", "1s",
			"--scope", "host", "--resolve", "a.test="+addr, "--resolve", "b.test="+addr, "http://a.test/")
		await(t, "the pages, and the feed as it was", func() bool { return count("/page") > 0 && count("same") > 0 })
		mu.Lock()
		version = 2
		pages := asked["/page"]
		mu.Unlock()
		await(t, "what is new and what has changed", func() bool { return count("/new") > 0 && count("/page") > pages })
		var u crawl.UpdatesInfo
		await(t, "what updates says", func() bool {
			for line := range strings.Lines(curtsy(t, app.ExitOK, "updates", "--json", "--dir", dir)) {
				if err := json.Unmarshal([]byte(line), &u); err != nil {
					t.Fatal(err)
				}
			}
			return u.Confirmed > 0
		})
		if u.Source != "feed" || u.State != "read" || u.Requests < 3 || u.Reported < 4 || u.Sooner < 2 {
			t.Errorf("%+v", u)
		}
		if n := count("/closed"); n != 0 {
			t.Errorf("asked for what is closed %d times", n)
		}
		if out := curtsy(t, app.ExitOK, "explain", "--dir", dir, "http://a.test/new"); !strings.Contains(out, "http://a.test/feed") {
			t.Errorf("explain: %s", out)
		}
	})
}
