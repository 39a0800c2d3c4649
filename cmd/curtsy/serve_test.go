package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/web/search"
)

var adminPort = regexp.MustCompile(`"admin port open".*"url":"([^"]+)"`)

// asked is the answer of the admin port of a daemon, whose address is in its log.
func asked(t *testing.T, log, path string) (*http.Response, string) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	m := adminPort.FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("no admin port in %s", text)
	}
	resp, err := http.Get(m[1] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// searched checks that one of several indexers answers for the whole crawl.
func searched(t *testing.T, log string, pages []string) {
	t.Helper()
	resp, body := asked(t, log, "api/v1/search?q=quiet&per=50")
	var a search.Answer
	if err := json.Unmarshal([]byte(body), &a); err != nil || resp.StatusCode != 200 || a.Incomplete || resp.Header.Get("Curtsy-Incomplete") != "" {
		t.Errorf("search by an indexer's HTTP: %s %s, %v", resp.Status, body, err)
	}
	if want := strings.Count(curtsy(t, 0, "search", "--json", "--limit", "50", "--crawl", "shared", "quiet"), "\n"); len(a.Hits) != want || want == 0 {
		t.Errorf("search by an indexer's HTTP: %d hits, curtsy search has %d", len(a.Hits), want)
	}
	for _, u := range pages {
		resp, body := asked(t, log, "api/v1/pages?url="+url.QueryEscape(u))
		var rec crawl.PageRecord
		if err := json.Unmarshal([]byte(body), &rec); err != nil || resp.StatusCode != 200 || rec.URL != u || rec.Text == "" {
			t.Errorf("%s by an indexer's HTTP: %s %s", u, resp.Status, body)
		}
	}
	if resp, body := asked(t, log, ""); resp.StatusCode != 200 || !strings.Contains(body, `href="/search"`) || !strings.Contains(body, "Pages stored") {
		t.Errorf("an indexer shows no dashboard: %s", body)
	}
}

// searchedPartly: if an indexer is away, the hits of the others are there, and the answer reports
// what is missing.
func searchedPartly(t *testing.T, log string) {
	t.Helper()
	resp, body := asked(t, log, "api/v1/search?q=quiet")
	var a search.Answer
	if err := json.Unmarshal([]byte(body), &a); err != nil || resp.StatusCode != 200 || !a.Incomplete || len(a.Missing) == 0 || a.MissingPages == 0 || len(a.Hits) == 0 {
		t.Errorf("with an indexer away: %s %s", resp.Status, body)
	}
	if resp.Header.Get("Curtsy-Incomplete") == "" {
		t.Errorf("with an indexer away the header is %v", resp.Header)
	}
	if _, body := asked(t, log, "search?q=quiet"); !strings.Contains(body, "does not answer at the moment") {
		t.Errorf("with an indexer away the page says %s", body)
	}
}

// A server of search does not disturb the crawl in its directory. While it is searched all the
// time, a crawl starts, ends and is killed, and each search is answered from what is stored.
func TestServeWhileCrawlsBeginAndEnd(t *testing.T) {
	t.Parallel()
	web := web(t)
	dir := filepath.Join(t.TempDir(), "data")
	flags := []string{"crawl", "--listen", "off", "--dir", dir, "--allow-private", "--delay", "0s", "--scope", "host", "--resolve", web.Resolve()}
	curtsy(t, 0, append(flags, web.Seeds()[0])...)
	d, err := engine.WatchDirectory(t.Context(), dir, slog.New(slog.DiscardHandler), engine.OpenPages)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	var answered, nobody atomic.Int64
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				a, err := d.Search(ctx, crawl.SearchRequest{Query: "quiet", Limit: 50})
				switch {
				case err == nil && len(a.Hits) > 0:
					answered.Add(1)
				case errors.Is(err, ask.ErrNobody), errors.Is(err, ask.ErrIncomplete):
					nobody.Add(1) // the crawl is just beginning
				case err == nil && a.Behind > 0:
					nobody.Add(1) // and so is its index
				case ctx.Err() == nil:
					t.Errorf("%+v, %v", a, err)
					return
				}
			}
		})
	}
	for i, host := range web.Hosts()[1:4] {
		before := answered.Load()
		curtsy(t, 0, append(flags, "http://"+host+"/")...)
		u := "http://" + host + "/"
		if rec, found, err := d.Page(t.Context(), u, "text"); !found || err != nil || rec.Text == "" {
			t.Errorf("after crawl %d: %s: %v, %v", i, u, found, err)
		}
		if answered.Load() == before {
			t.Errorf("during crawl %d no search was answered", i)
		}
	}
	// What is forgotten while no crawl runs is not shown from that moment on.
	u := "http://" + web.Hosts()[1] + "/"
	curtsy(t, 0, "forget", "--dir", dir, web.Hosts()[1])
	if _, found, err := d.Page(t.Context(), u, "text"); found || err != nil {
		t.Errorf("forgotten, and shown: %v, %v", found, err)
	}
	stop()
	running.Wait()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("%d searches answered, %d by nobody", answered.Load(), nobody.Load())
}
