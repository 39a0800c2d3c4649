package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
)

// answering makes a crawl that does not run and answers questions by these handlers. Other
// questions have no answer.
func answering(handlers ask.Handlers) Ask {
	for _, q := range []string{"hosts", "timeline", "explain", "quoting", "page", "datasets", "mirrors-page", "updates-page", "history", "hosts-page", "pages-page", "feeds", "log", "robots-text", "indexer-status"} {
		if handlers[q] == nil {
			handlers[q] = sends()
		}
	}
	return Of(asker.Stopped(crawl.Spec{Name: "manuals", Shards: 2}, func() error { return nil }, handlers))
}

// sends makes a handler that answers with these objects.
func sends(objects ...any) ask.Handler {
	return func(_ context.Context, _ []byte, send func(any) error) error {
		for _, o := range objects {
			if err := send(o); err != nil {
				return err
			}
		}
		return nil
	}
}

// running is a status that has something of everything.
func running() crawl.Status {
	var left crawl.Outlook
	took := left.AddHost(1204, 0, 10*time.Second)
	left.Last = &crawl.Bottleneck{Kind: crawl.WaitsHost, Host: "docs.example.org", Queued: 1204, DelayS: 10, LeftS: took}
	return crawl.Status{
		State: "running", Discovered: 2410, Queued: 1204, InFlight: 6, Stored: 1000, Redirected: 80, Refused: 100, Failed: 20,
		ByReason: map[string]int64{"robots": 90, "noindex": 10, "http-4xx": 20}, Outlook: &left, Rate: 3.25, Bytes: 5 << 20, Hosts: 12,
		Postponed: []crawl.PostponedHost{{Host: "slow.example", Queued: 3, Reason: "Crawl-delay: <b>3600</b>\u202e"}},
		Shards:    []crawl.ShardStatus{{Shard: 0, Owner: "frontier-1", Epoch: 3, Applied: 4711}},
	}
}

// shows makes a Web that shows one status.
func shows(o Options, st crawl.Status) *Web {
	indexer := crawl.IndexerStatus{Instance: "indexer-1", Shards: []int{0}, Pages: 1000, DiskFree: 30 << 30, DiskTotal: 120 << 30, WARCFiles: 7, WARCBytes: 3 << 20, Types: map[string]int64{"html": 970, "pdf": 30}, Langs: map[string]int64{"en": 960, "de": 40}}
	o.Ask = answering(ask.Handlers{"status": sends(st), "search": sends(), "indexer-status": sends(indexer), "history": sends(crawl.HistoryPart{Samples: past(time.Now().Add(-time.Hour)).Samples})})
	o.Name = "manuals"
	return New(o)
}

// client asks a Web as a browser does, with its cookies.
type client struct {
	t       *testing.T
	web     http.Handler
	cookies map[string]*http.Cookie
	host    string
	tls     bool
}

func browse(t *testing.T, web http.Handler) *client {
	if w, ok := web.(*Web); ok {
		w.catalog.wait = time.Minute // a busy machine takes long for what takes no time
	}
	return &client{t: t, web: web, cookies: map[string]*http.Cookie{}, host: "127.0.0.1:7890"}
}

// ask sends a request; change may alter it before.
func (c *client) ask(method, path, body string, change ...func(*http.Request)) *http.Response {
	c.t.Helper()
	scheme := "http://"
	if c.tls {
		scheme = "https://"
	}
	r := httptest.NewRequest(method, scheme+c.host+path, strings.NewReader(body))
	for _, k := range c.cookies {
		r.AddCookie(k)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", scheme+c.host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	c.web.ServeHTTP(w, r)
	resp := w.Result()
	for _, k := range resp.Cookies() {
		if k.MaxAge < 0 {
			delete(c.cookies, k.Name)
		} else {
			c.cookies[k.Name] = k
		}
	}
	return resp
}

// get asks for a page.
func (c *client) get(path string, change ...func(*http.Request)) (int, string) {
	c.t.Helper()
	resp := c.ask(http.MethodGet, path, "", change...)
	return resp.StatusCode, read(c.t, resp)
}

var csrfInput = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf is the token of the forms on a page.
func (c *client) csrf(path string) string {
	c.t.Helper()
	_, body := c.get(path)
	m := csrfInput.FindStringSubmatch(body)
	if m == nil {
		c.t.Fatalf("%s has no form: %s", path, body)
	}
	return m[1]
}
