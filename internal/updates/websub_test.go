package updates

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/websub"
	"github.com/curtsy/curtsy/pkg/canon"
)

// WebSub §5.3, §7, §8: only requests that we sent are confirmed to a hub. A delivery counts once,
// if it is signed with the secret of the subscription and within the limits. A delivery that cannot
// be received now may come again. No address and no secret is logged.
func TestWebSubReceiver(t *testing.T) {
	const topic = canon.URL("https://a.example/feed")
	var logged bytes.Buffer
	var events []crawl.WebSub
	var full, deaf error
	awaited, left := websub.Subscribe, false
	c := websub.Callbacks{Base: "https://crawler.example", Secret: []byte("0123456789abcdef")}
	x, err := NewWebSub(func() websub.Callbacks { return c }, 4, func(_ context.Context, shard int, data []byte) error {
		ev, err := crawl.DecodeEvent(data)
		if full != nil || err != nil {
			return errors.Join(full, err)
		}
		if shard != crawl.ShardOf(topic.Host(), 4) {
			t.Errorf("event for shard %d", shard)
		}
		events = append(events, ev.WebSub...)
		return nil
	}, func(_ context.Context, q crawl.WebSubQuestion) (crawl.WebSubIntent, error) {
		return crawl.WebSubIntent{Wanted: q.Topic == string(topic) && q.N == 3 && q.Mode == awaited, Left: left && q.Mode == crawl.WebSubDeliver}, deaf
	}, nil, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	at := c.URL(topic, 3)
	send := func(r *http.Request) (int, string) {
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	get := func(at, mode, topic string) (int, string) {
		q := url.Values{"hub.mode": {mode}, "hub.topic": {topic}, "hub.challenge": {"say this"}, "hub.lease_seconds": {"86400"}}
		return send(httptest.NewRequest("GET", at+"?"+q.Encode(), nil))
	}
	post := func(at, body, key string) int {
		r := httptest.NewRequest("POST", at, strings.NewReader(body))
		m := hmac.New(sha256.New, []byte(key))
		m.Write([]byte(body))
		r.Header.Set("X-Hub-Signature", "sha256="+hex.EncodeToString(m.Sum(nil)))
		code, _ := send(r)
		return code
	}
	if code, text := get(at, "subscribe", string(topic)); code != 200 || text != "say this" || len(events) != 1 || events[0].Mode != "subscribe" || events[0].N != 3 || events[0].Lease.Hours() != 24 {
		t.Errorf("%d %s, %+v", code, text, events)
	}
	for name, code := range map[string]int{
		"not asked for": first(get(at, "unsubscribe", string(topic))), "another topic": first(get(at, "subscribe", "https://b.example/")),
		"another number": first(get(c.URL(topic, 4), "subscribe", string(topic))), "guessed": first(get(strings.Replace(at, "/3/", "/3/x", 1), "subscribe", string(topic))),
		"no mode": first(get(at, "publish", string(topic))),
	} {
		if code != 404 && code != 400 {
			t.Errorf("%s: %d", name, code)
		}
	}
	deaf = errors.New("nobody answers")
	if code, _ := get(at, "subscribe", string(topic)); code != 503 {
		t.Errorf("nobody knows: %d", code)
	}
	deaf, events = nil, nil
	if code, text := get(at, "denied", string(topic)); code != 200 || text != "" || len(events) != 1 || events[0].Mode != websub.Denied {
		t.Errorf("denied: %d %q, %+v", code, text, events)
	}
	events = nil

	key := c.Key(topic, 3)
	const feed = `<feed><entry><link href="/1"/><updated>2026-11-19T08:30:00Z</updated></entry><entry><link href="https://b.example/2"/></entry></feed>`
	if code := post(at, feed, key); code != 202 || len(events) != 1 || fmt.Sprint(events[0].URLs) != "[https://a.example/1]" || events[0].Mods[0] != 1795077000 {
		t.Fatalf("%d, %+v", code, events)
	}
	if code := post(at, feed, key); code != 200 || len(events) != 1 {
		t.Errorf("replayed: %d, %d events", code, len(events))
	}
	for name, code := range map[string]int{
		"forged": post(at, feed+" ", "guess"), "of another subscription": post(at, feed+" ", c.Key(topic, 4)), "elsewhere": post(c.URL(topic, 4), feed+" ", key),
		"too long": post(at, strings.Repeat("x", MaxDelivery+1), key),
	} {
		if code != 403 && code != 413 {
			t.Errorf("%s: %d", name, code)
		}
	}
	full = errors.New("full")
	if code := post(at, feed+"  ", key); code != 503 {
		t.Errorf("full: %d", code)
	}
	full = nil
	if code := post(at, feed+"  ", key); code != 202 || len(events) != 2 {
		t.Errorf("again: %d, %d events", code, len(events))
	}
	// Exactly at the limits of bytes and of entries.
	var many strings.Builder
	for i := range MaxDeliveryEntries + 1 {
		fmt.Fprintf(&many, "<item><link>/%d</link></item>", i)
	}
	body := "<rss>" + many.String()
	if code := post(at, body+strings.Repeat(" ", MaxDelivery-len(body)), key); code != 202 || len(events) != 3 || len(events[2].URLs) != MaxDeliveryEntries {
		t.Errorf("at the limits: %d, %d events", code, len(events))
	}
	// A body that is no feed means that the feed must be fetched.
	if code := post(at, "ping", key); code != 202 || len(events) != 4 || len(events[3].URLs) != 0 {
		t.Errorf("no feed: %d, %d events", code, len(events))
	}
	// A hub that we have left gets 410; a forged delivery does not. While the shard does not
	// answer, deliveries are received.
	left = true
	if code, forged := post(at, "still there", key), post(at, "still there", "guess"); code != 410 || forged != 403 || len(events) != 4 {
		t.Errorf("left: %d, forged: %d, %d events", code, forged, len(events))
	}
	deaf = errors.New("nobody answers")
	if code := post(at, "still there", key); code != 202 || len(events) != 5 {
		t.Errorf("nobody knows whether it was left: %d, %d events", code, len(events))
	}
	left, deaf = false, nil
	r := httptest.NewRequest("POST", at, strings.NewReader(feed))
	if code, _ := send(r); code != 403 {
		t.Errorf("not signed: %d", code)
	}
	if code, _ := send(httptest.NewRequest("PUT", at, nil)); code != 405 {
		t.Errorf("PUT: %d", code)
	}
	if text := logged.String(); strings.Contains(text, key) || strings.Contains(text, strings.Split(at, "/")[5]) {
		t.Errorf("logged: %s", text)
	}
}

// Senders that know no address do not use up the limits of hubs. A hub that delivers without end is
// asked to wait. Hubs of other sites are accepted up to the limit of all together.
func TestWebSubFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const topic, other = canon.URL("https://a.example/feed"), canon.URL("https://b.example/feed")
		c := websub.Callbacks{Base: "https://crawler.example", Secret: []byte("0123456789abcdef")}
		x, err := NewWebSub(func() websub.Callbacks { return c }, 4, func(context.Context, int, []byte) error { return nil },
			func(context.Context, crawl.WebSubQuestion) (crawl.WebSubIntent, error) {
				return crawl.WebSubIntent{}, nil
			}, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		hub := "192.0.2.1"
		post := func(topic canon.URL, body string) int {
			at := "/websub/1/guess/x"
			r := httptest.NewRequest("POST", at, strings.NewReader(body))
			if topic != "" {
				m := hmac.New(sha256.New, []byte(c.Key(topic, 1)))
				io.WriteString(m, body)
				r = httptest.NewRequest("POST", c.URL(topic, 1), strings.NewReader(body))
				r.Header.Set("X-Hub-Signature", "sha256="+hex.EncodeToString(m.Sum(nil)))
			}
			r.RemoteAddr = hub + ":1"
			w := httptest.NewRecorder()
			x.ServeHTTP(w, r)
			return w.Code
		}
		for range 2 * deliveryBurst {
			if code := post("", "x"); code != 404 {
				t.Fatalf("a stranger: %d", code)
			}
		}
		for i := range topicBurst + 1 {
			if code, want := post(topic, fmt.Sprint(i)), map[bool]int{true: 202, false: 429}[i < topicBurst]; code != want {
				t.Errorf("delivery %d: %d, want %d", i, code, want)
			}
		}
		if code := post(other, "x"); code != 202 {
			t.Errorf("another site's: %d", code)
		}
		// The hubs at one address have half of what all have.
		for i := range deliveryBurst {
			post(canon.URL(fmt.Sprintf("https://c%d.example/", i)), "x")
		}
		if code := post("https://d.example/", "x"); code != 429 {
			t.Errorf("one hub too often: %d", code)
		}
		hub = "192.0.2.2"
		if code := post("https://e.example/", "x"); code != 202 {
			t.Errorf("another hub: %d", code)
		}
		for i := range deliveryBurst {
			hub = fmt.Sprintf("192.0.3.%d", i)
			post(canon.URL(fmt.Sprintf("https://f%d.example/", i)), "x")
		}
		if code := post("https://d.example/", "x"); code != 429 {
			t.Errorf("all together: %d", code)
		}
		// An equal delivery within the hour is a repetition; later it counts again.
		time.Sleep(time.Minute)
		if code := post(other, "x"); code != 200 {
			t.Errorf("replayed: %d", code)
		}
		time.Sleep(replayFor)
		if code := post(other, "x"); code != 202 {
			t.Errorf("repeated: %d", code)
		}
	})
}

// Whatever is sent, only signed deliveries are received, and only requests of ours are confirmed.
func FuzzWebSubRequest(f *testing.F) {
	const topic = canon.URL("https://a.example/feed")
	c := websub.Callbacks{Base: "https://crawler.example", Secret: []byte("0123456789abcdef")}
	at := strings.TrimPrefix(c.URL(topic, 1), "https://crawler.example")
	f.Add("GET", at, "hub.mode=subscribe&hub.topic=https://a.example/feed&hub.challenge=c&hub.lease_seconds=9", "", "")
	f.Add("GET", at, "hub.mode=denied&hub.topic=https://a.example/feed&hub.challenge=c&hub.reason=%ff%00", "", "")
	f.Add("POST", at, "", "sha256=00", "<feed/>")
	f.Add("PUT", "/websub/1/x/y", "%%", "", "")
	f.Fuzz(func(t *testing.T, method, path, query, signature, body string) {
		logged := 0
		x, err := NewWebSub(func() websub.Callbacks { return c }, 4, func(_ context.Context, _ int, data []byte) error {
			ev, err := crawl.DecodeEvent(data)
			if err != nil || len(ev.WebSub) != 1 || ev.WebSub[0].Mode != websub.Denied || !utf8.ValidString(ev.WebSub[0].Reason) {
				t.Errorf("logged: %+v, %v", ev, err)
			}
			logged++
			return nil
		}, func(context.Context, crawl.WebSubQuestion) (crawl.WebSubIntent, error) {
			return crawl.WebSubIntent{}, nil
		}, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"X-Hub-Signature": {signature}}, Body: io.NopCloser(strings.NewReader(body))}
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		if logged > 0 != (w.Code == http.StatusOK) || logged > 0 && w.Body.Len() > 0 {
			t.Errorf("%d %q, %d events", w.Code, w.Body, logged)
		}
	})
}

func first(code int, _ string) int { return code }
