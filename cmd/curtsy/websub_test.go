package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
)

// The feed of a site names a hub. The crawl subscribes there as the hub's robots.txt allows,
// confirms what it asked for and nothing else, and fetches at once what the hub delivers as new. It
// refuses deliveries of others and repeated ones.
func TestWebSubCrawl(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	var form url.Values
	site := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Host+r.URL.Path]++
		switch {
		case r.URL.Path == "/robots.txt":
			io.WriteString(w, "User-agent: *\nDisallow: /closed\n")
		case r.Host == "hub.test" && r.Method == "POST":
			if asked["hub.test/robots.txt"] == 0 {
				t.Error("a hub is asked before its robots.txt")
			}
			if err := r.ParseForm(); err != nil {
				t.Error(err)
			}
			form = r.PostForm
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path == "/feed":
			io.WriteString(w, `<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="http://hub.test/subscribe"/><link rel="self" href="http://a.test/feed"/></feed>`)
		default:
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, `<title>page</title><link rel=alternate type="application/atom+xml" href=/feed>`)
		}
	})
	count := func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return asked[path]
	}
	at := unused(t)
	dir, addr := filepath.Join(t.TempDir(), "data"), strings.TrimPrefix(site.URL, "http://")
	begin(t, "crawl", "--dir", dir, "--allow-private", "--delay", "20ms", "--sitemaps=false", "--recrawl", "--scope", "host",
		"--updates-websub", at, "--updates-websub-url", "http://"+at+"/hooks", "--resolve", "a.test="+addr, "--resolve", "hub.test="+addr, "http://a.test/")
	await(t, "the hub is asked", func() bool { mu.Lock(); defer mu.Unlock(); return form != nil })
	callback := form.Get("hub.callback")
	if form.Get("hub.mode") != "subscribe" || form.Get("hub.topic") != "http://a.test/feed" || !strings.HasPrefix(callback, "http://"+at+"/hooks/websub/") || form.Get("hub.secret") == "" {
		t.Fatalf("asked %v", form)
	}
	do := func(method, at, body, key string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, at, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		m := hmac.New(sha256.New, []byte(key))
		io.WriteString(m, body)
		r.Header.Set("X-Hub-Signature", "sha256="+hex.EncodeToString(m.Sum(nil)))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	intent := func(mode string) string {
		return callback + "?" + url.Values{"hub.mode": {mode}, "hub.topic": {"http://a.test/feed"}, "hub.challenge": {"c-1"}, "hub.lease_seconds": {"864000"}}.Encode()
	}
	if code, _ := do("GET", intent("unsubscribe"), "", ""); code != 404 {
		t.Errorf("nobody unsubscribed: %d", code)
	}
	if code, text := do("GET", intent("subscribe"), "", ""); code != 200 || text != "c-1" {
		t.Fatalf("%d %q", code, text)
	}
	await(t, "subscribed", func() bool { return strings.Contains(curtsy(t, app.ExitOK, "updates", "--dir", dir), "subscribed") })
	feed := func(path string) string {
		return fmt.Sprintf(`<feed><entry><link href="%s"/><updated>%s</updated></entry></feed>`, path, time.Now().UTC().Format(time.RFC3339))
	}
	if code, _ := do("POST", callback, feed("/forged"), "guess"); code != 403 {
		t.Errorf("forged: %d", code)
	}
	one := strings.Replace(feed("/new"), "<entry>", `<entry><link href="/closed"/></entry><entry>`, 1)
	if code, _ := do("POST", callback, one, form.Get("hub.secret")); code != 202 {
		t.Errorf("delivered: %d", code)
	}
	if code, _ := do("POST", callback, one, form.Get("hub.secret")); code != 200 {
		t.Errorf("replayed: %d", code)
	}
	await(t, "what was delivered", func() bool { return count("a.test/new") == 1 })
	if out := curtsy(t, app.ExitOK, "updates", "--dir", dir); !strings.Contains(out, "websub") || !strings.Contains(out, "2/") || strings.Contains(out, form.Get("hub.secret")) {
		t.Errorf("updates: %s", out)
	}
	if out := curtsy(t, app.ExitOK, "explain", "--dir", dir, "http://a.test/new"); !strings.Contains(out, "http://a.test/feed") {
		t.Errorf("explain: %s", out)
	}
	for _, path := range []string{"a.test/forged", "a.test/closed"} {
		if n := count(path); n != 0 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	if n := count("hub.test/subscribe"); n != 1 {
		t.Errorf("the hub was asked %d times", n)
	}
}
