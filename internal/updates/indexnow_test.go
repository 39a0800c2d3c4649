package updates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

func indexNow(t *testing.T, fail error) (x *IndexNow, logged func() []crawl.IndexNow) {
	var mu sync.Mutex
	var all []crawl.IndexNow
	x, err := NewIndexNow(4, func(_ context.Context, shard int, event []byte) error {
		ev, err := crawl.DecodeEvent(event)
		if err != nil || len(ev.Reported) != 1 || crawl.ShardOf(ev.Reported[0].Origin.Host, 4) != shard || len(event) > crawl.MaxEventBytes+partBytes {
			t.Errorf("%d bytes to shard %d: %+v, %v", len(event), shard, ev, err)
		}
		if fail != nil {
			return fail
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, ev.Reported...)
		return nil
	}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return x, func() []crawl.IndexNow {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func request(x http.Handler, from, method, target, kind, body string) (int, string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = from
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	b, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(b)
}

// Formats §8.33: the answers of the endpoint, and what it sends to which shard.
func TestUsage_8_33_Endpoint(t *testing.T) {
	x, logged := indexNow(t, nil)
	const get, key = "/indexnow?url=https%3A%2F%2Fa.example%2Fx&key=", "12345678"
	list := `{"host":"a.example","key":"` + key + `","urlList":["https://a.example/1","https://a.example/2"]}`
	for i, c := range []struct {
		method, target, kind, body string
		status                     int
		answer                     string
		urls                       int
	}{
		{"GET", get + key, "", "", 202, "https://a.example/12345678.txt", 1},
		{"POST", "/indexnow", "application/json; charset=utf-8", list, 202, "accepted", 2},
		{"GET", get, "", "", 400, "give key exactly once", 0},
		{"GET", get + "short", "", "", 400, "8 to 128", 0},
		{"GET", get + key + "&keyLocation=https://b.example/k.txt", "", "", 422, "not on the host", 0},
		{"POST", "/indexnow", "text/plain", list, 415, "application/json", 0},
		{"POST", "/indexnow", "application/json", "{", 400, "not the expected JSON", 0},
		{"POST", "/indexnow", "application/json", `{"x":"` + strings.Repeat("x", 5<<20), 413, "larger than 4 MiB", 0},
		{"PUT", "/indexnow", "", "", 405, "GET or POST", 0},
		{"GET", "/", "", "", 404, "/indexnow", 0},
	} {
		before := len(logged())
		status, answer := request(x, fmt.Sprintf("192.0.2.%d:1", i), c.method, c.target, c.kind, c.body)
		n := 0
		for _, s := range logged()[before:] {
			n += len(s.URLs)
		}
		if status != c.status || !strings.Contains(answer, c.answer) || n != c.urls {
			t.Errorf("%s %s: %d %s, %d URLs", c.method, c.target, status, answer, n)
		}
	}
	x, _ = indexNow(t, errors.New("no broker"))
	if status, answer := request(x, "192.0.2.1:1", "GET", get+key, "", ""); status != 503 || strings.Contains(answer, "broker") {
		t.Errorf("%d %s", status, answer)
	}
}

// Many clients begin large bodies at the same time and stop sending. A few of these bodies are kept
// in memory, the other clients are asked to come later, and small submissions are accepted
// meanwhile.
func TestIndexNowFewLargeBodies(t *testing.T) {
	x, logged := indexNow(t, nil)
	const large = 3 * maxLarge
	list := `{"host":"a.example","key":"12345678","urlList":["https://a.example/` + strings.Repeat("x", 1000) + `"` + strings.Repeat(" ", largeBody)
	slow, end := io.Pipe()
	answered := make(chan int, large)
	for i := range large {
		go func() {
			r := httptest.NewRequest("POST", "/indexnow", io.MultiReader(strings.NewReader(list), slow))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = fmt.Sprintf("192.0.%d.2:1", i)
			w := httptest.NewRecorder()
			x.ServeHTTP(w, r)
			answered <- w.Code
		}()
	}
	for range large - maxLarge {
		if status := <-answered; status != http.StatusTooManyRequests {
			t.Errorf("one too many: %d", status)
		}
	}
	if status, answer := request(x, "192.0.2.1:1", "POST", "/indexnow", "application/json", `{"host":"b.example","key":"12345678","urlList":["https://b.example/1"]}`); status != 202 {
		t.Errorf("a small one: %d %s", status, answer)
	}
	if len(answered) != 0 {
		t.Error("a body that does not end was answered")
	}
	end.Close() // the lists are truncated
	for range maxLarge {
		if status := <-answered; status != http.StatusBadRequest {
			t.Errorf("a body that was cut off: %d", status)
		}
	}
	if len(logged()) != 1 || !x.large.Idle() || !x.reading.Idle() {
		t.Errorf("%d messages; something is not given back", len(logged()))
	}
}

// No client can exceed its limit, and all together cannot exceed the rate at which the log may
// grow.
func TestIndexNowLimits(t *testing.T) {
	const get = "/indexnow?url=https%3A%2F%2Fa.example%2Fx&key=12345678"
	x, _ := indexNow(t, nil)
	for i := range peerBurst + 1 {
		status, _ := request(x, fmt.Sprintf("[2001:db8::%x]:%d", i+1, i+1), "GET", get, "", "")
		if want := map[bool]int{true: 202, false: 429}[i < peerBurst]; status != want {
			t.Errorf("request %d of a peer: %d, want %d", i, status, want)
		}
	}
	if status, _ := request(x, "192.0.2.1:1", "GET", get, "", ""); status != 202 {
		t.Errorf("another peer: %d", status)
	}
	taken := 0
	for i := range 2 * allBurst {
		if status, _ := request(x, fmt.Sprintf("192.0.%d.2:1", i), "GET", get, "", ""); status == 202 {
			taken++
		}
	}
	if taken > allBurst+allRate {
		t.Errorf("%d of all were taken", taken)
	}

	// A proxy in our own network sends the submissions of many sites. Only the limit of all
	// together applies to it.
	x, _ = indexNow(t, nil)
	for i := range allBurst {
		if status, answer := request(x, "10.0.0.1:1", "GET", fmt.Sprintf("/indexnow?url=https%%3A%%2F%%2Fa%d.example%%2F&key=12345678", i), "", ""); status != 202 {
			t.Fatalf("submission %d through a proxy: %d %s", i, status, answer)
		}
	}
	// These URLs are longer, in canonical form, than the largest burst.
	x, logged := indexNow(t, nil)
	var long strings.Builder
	long.WriteString(`{"host":"a.example","key":"12345678","urlList":["https://a.example/"`)
	for i := range 9000 {
		fmt.Fprintf(&long, `,"https://a.example/%s%d"`, strings.Repeat("\u9875", 120), i)
	}
	long.WriteString("]}")
	if status, answer := request(x, "192.0.2.1:1", "POST", "/indexnow", "application/json", long.String()); status != 202 || len(logged()) == 0 {
		t.Errorf("%d bytes of %d URLs: %d %s", long.Len(), 9001, status, answer)
	}

	urls := func(site string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"host":"%s","key":"12345678","urlList":["https://%[1]s/"`, site)
		for i := range 3000 {
			fmt.Fprintf(&b, `,"https://%s/%s%d"`, site, strings.Repeat("x", 1000), i)
		}
		b.WriteString("]}")
		return b.String()
	}
	x, logged = indexNow(t, nil)
	accepted, n := 0, 0
	for i := range 6 {
		if status, _ := request(x, fmt.Sprintf("192.0.%d.3:1", i), "POST", "/indexnow", "application/json", urls(fmt.Sprintf("a%d.example", i))); status == 202 {
			accepted++
		}
	}
	for _, s := range logged() {
		n += len(s.URLs)
	}
	if accepted != 2 || n != 2*3001 || len(logged()) < 2*3000*1000/partBytes {
		t.Errorf("%d accepted, %d URLs in %d messages", accepted, n, len(logged()))
	}
}

// A site, or a sender, that uses up its bytes leaves those of others: without shares, 2 of the
// submissions below used up the bytes of all for more than eight minutes.
func TestIndexNowBytesBySite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := indexNow(t, nil)
		post := func(from, site string, urls int) bool {
			var b strings.Builder
			fmt.Fprintf(&b, `{"host":"%s","key":"12345678","urlList":["https://%[1]s/"`, site)
			for i := range urls {
				fmt.Fprintf(&b, `,"https://%s/%s%d"`, site, strings.Repeat("x", 1000), i)
			}
			b.WriteString("]}")
			status, _ := request(x, from, "POST", "/indexnow", "application/json", b.String())
			return status == http.StatusAccepted
		}
		// One site, by senders of many blocks and under many names.
		n := 0
		for i := range 20 {
			if post(fmt.Sprintf("192.0.%d.1:1", i), fmt.Sprintf("www%d.flood.example", i), 500) {
				n++
			}
		}
		if n != 4 {
			t.Errorf("%d submissions of 500 KB were accepted of one site, want a quarter of 8 MiB", n)
		}
		if !post("198.51.100.1:1", "good.example", 500) {
			t.Error("another site is refused")
		}
		// One sender, in the names of many sites.
		n = 0
		for i := range 10 {
			if post("203.0.113.1:1", fmt.Sprintf("a%d.example", i), 250) {
				n++
			}
		}
		if n != 4 {
			t.Errorf("%d submissions of 250 KB were accepted of one sender, want an eighth of 8 MiB", n)
		}
		// One sender in the name of one site leaves half of what that site may have.
		x, _ = indexNow(t, nil)
		refused := 0
		for range 3600 {
			time.Sleep(time.Second)
			post("203.0.113.1:1", "good.example", 2)
			if !post("198.51.100.1:1", "good.example", 1) {
				refused++
			}
		}
		if refused > 0 {
			t.Errorf("a site was refused %d times in an hour because somebody else sends in its name", refused)
		}
	})
}

// Behind a proxy that the operator names, each client of it has its own limits, and large bodies of
// one client leave room for others.
func TestIndexNowBehindAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, _ := indexNow(t, nil)
		x.proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		ask := func(client string) int {
			r := httptest.NewRequest("GET", "/indexnow?url=https%3A%2F%2Fa.example%2Fx&key=12345678", nil)
			r.RemoteAddr = "127.0.0.1:1"
			r.Header.Set("X-Forwarded-For", client)
			w := httptest.NewRecorder()
			x.ServeHTTP(w, r)
			return w.Code
		}
		for range 2 * allBurst {
			ask("203.0.113.1")
		}
		if got := ask("203.0.113.2"); got != http.StatusAccepted {
			t.Errorf("another client: %d", got)
		}
		slow, end := io.Pipe()
		answered := make(chan int, maxLarge)
		for range maxLarge {
			go func() {
				r := httptest.NewRequest("POST", "/indexnow", io.MultiReader(strings.NewReader("{"+strings.Repeat(" ", largeBody)), slow))
				r.Header.Set("Content-Type", "application/json")
				r.RemoteAddr = "198.51.100.9:1"
				w := httptest.NewRecorder()
				x.ServeHTTP(w, r)
				answered <- w.Code
			}()
		}
		for range maxLarge - largePerPeer {
			if status := <-answered; status != http.StatusTooManyRequests {
				t.Errorf("one large body too many: %d", status)
			}
		}
		body := `{"host":"a.example","key":"12345678","urlList":["https://a.example/1"]` + strings.Repeat(" ", largeBody) + "}"
		if status, answer := request(x, "198.51.100.10:1", "POST", "/indexnow", "application/json", body); status != http.StatusAccepted {
			t.Errorf("the large body of another client: %d %s", status, answer)
		}
		end.Close()
		for range largePerPeer {
			<-answered
		}
	})
}
