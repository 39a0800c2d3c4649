package fetcher

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// newManual is NewManual on the network of the test.
func newManual(t testing.TB, opt ManualOptions) (*Manual, error) {
	opt.Dial = simnet.Of(t).Dial
	return NewManual(opt)
}

func manualGet(t *testing.T, h *Manual, url string) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := h.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// The answer for a robots.txt decides, as in a crawl. Its redirects are followed, and the file that
// they lead to applies here.
func TestByHandObeysRobots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for answer, want := range map[string]string{
			"200 User-agent: *\nDisallow: /shop\n": "does not allow /shop/x (line 2", "200 <html>": "", "404 x": "", "403 x": "", "500 x": "cannot be fetched", "429 x": "cannot be fetched",
			"301 /real": "does not allow /shop/x", "302 /robots.txt": "", "307 ftp://x/": "", "308 ": "", "301 http://169.254.169.254/": "never connects", "cut": "cut off",
		} {
			var shop atomic.Int32
			web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch code, text, _ := strings.Cut(answer, " "); {
				case r.URL.Path == "/real":
					io.WriteString(w, "User-agent: curtsy\nDisallow: /shop\n")
				case r.URL.Path != "/robots.txt":
					shop.Add(1)
				case code == "cut":
					w.Header().Set("Content-Length", "1000")
				case code[0] == '3':
					w.Header().Set("Location", text)
					fallthrough
				default:
					w.WriteHeader(map[string]int{"200": 200, "404": 404, "403": 403, "500": 500, "429": 429, "301": 301, "302": 302, "307": 307, "308": 308}[code])
					if code[0] != '3' {
						io.WriteString(w, text)
					}
				}
			}))
			h, err := newManual(t, ManualOptions{AllowPrivate: true})
			if err != nil {
				t.Fatal(err)
			}
			status, err := manualGet(t, h, web.URL+"/shop/x?y=1")
			if want == "" && (err != nil || status != 200 || shop.Load() != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || shop.Load() != 0) {
				t.Errorf("%q: %d, %v, asked %d times; want %q", answer, status, err, shop.Load(), want)
			}
			web.Close()
		}
	})
}

// If the robots.txt of a host redirects to a file on another host, the rules of that host decide
// about the request for the file. The delay of one origin of a host applies to all of them.
func TestByHandIsPoliteToOtherOrigins(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var closed, slow atomic.Int32
		web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch host, _, _ := strings.Cut(r.Host, ":"); {
			case r.URL.Path == "/closed":
				closed.Add(1)
			case host == "a.test" && r.URL.Path == "/robots.txt":
				http.Redirect(w, r, "http://b.test/closed", http.StatusFound)
			case host == "b.test":
				io.WriteString(w, "User-agent: *\nDisallow: /closed\n")
			case host == "c.test":
				http.Redirect(w, r, "http://d.test/x", http.StatusFound)
			case host == "d.test":
				http.Redirect(w, r, "http://c.test/x", http.StatusFound)
			case host == "slow.test" && r.URL.Path == "/robots.txt":
				slow.Add(1)
				io.WriteString(w, "User-agent: *\nCrawl-delay: 100\n")
			}
		}))
		defer web.Close()
		var waits []time.Duration
		h, err := newManual(t, ManualOptions{AllowPrivate: true, Resolve: []string{"*=" + strings.TrimPrefix(web.URL, "http://")},
			Waiting: func(_ string, d time.Duration) { waits = append(waits, d) }})
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"a.test", "c.test"} {
			if _, err := manualGet(t, h, "http://"+host+"/x"); err == nil || !strings.Contains(err.Error(), "cannot be fetched") || closed.Load() != 0 {
				t.Errorf("%s: %v, asked %d times for what is closed", host, err, closed.Load())
			}
		}
		for _, origin := range []string{"http://slow.test", "http://slow.test:81"} {
			waits = nil
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.RoundTrip(r); err == nil || len(waits) == 0 || waits[0] < 90*time.Second || slow.Load() != 1 {
				t.Errorf("%s: %v, waited for %v, its robots.txt was asked for %d times", origin, err, waits, slow.Load())
			}
		}
	})
}

func TestByHandGuardsAddresses(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for _, c := range []struct {
			opt  ManualOptions
			url  string
			want string
		}{
			{ManualOptions{Contact: "me@example.org"}, "http://127.0.0.1:1/", "--allow-private"},
			{ManualOptions{Contact: "me@example.org"}, "https://[::1]:1/", "--allow-private"},
			{ManualOptions{AllowPrivate: true}, "http://8.8.8.8:1/", "--contact"},
			{ManualOptions{AllowPrivate: true, Contact: "me@example.org"}, "http://169.254.169.254/", "never connects"},
			{ManualOptions{AllowPrivate: true, Resolve: []string{"a.test=169.254.169.254"}}, "http://a.test/", "never connects"},
			{ManualOptions{AllowPrivate: true}, "ftp://a.test/", "http"},
		} {
			h, err := newManual(t, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := manualGet(t, h, c.url); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.url, err, c.want)
			}
		}
		if _, err := newManual(t, ManualOptions{Resolve: []string{"nonsense"}}); err == nil {
			t.Error("resolve nonsense is taken")
		}
	})
}

// The delay is counted from the end of the last answer, and a caller can stop waiting.
func TestByHandWaits(t *testing.T) {
	virtual(t, func(t *testing.T) {
		h, err := newManual(t, ManualOptions{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				io.WriteString(w, "User-agent: *\nCrawl-delay: 100\n")
			}
		}))
		defer web.Close()
		reported := make(chan time.Duration, 1)
		h.opt.Waiting = func(_ string, wait time.Duration) { reported <- wait }
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if wait := <-reported; wait < time.Minute || wait > 100*time.Second {
				t.Errorf("waits %v", wait)
			}
			cancel()
		}()
		if res, err := h.RoundTrip(r); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", res, err)
		}
		if !strings.HasPrefix(h.UserAgent(), "curtsy/") {
			t.Error(h.UserAgent())
		}
	})
}

// The delay after a robots.txt is counted from its last byte. That one host is private means
// nothing for another one.
func TestByHandWaitsAfterRobots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var ended atomic.Int64
		web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/robots.txt" {
				if rest := time.Since(time.Unix(0, ended.Load())); rest < time.Second {
					t.Errorf("asked %v after its robots.txt ended", rest)
				}
				return
			}
			io.WriteString(w, "User-agent: *\nCrawl-delay: 1\n")
			w.(http.Flusher).Flush()
			time.Sleep(400 * time.Millisecond)
			io.WriteString(w, "Disallow: /x\n")
			ended.Store(time.Now().UnixNano())
		}))
		defer web.Close()
		h, err := newManual(t, ManualOptions{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		if status, err := manualGet(t, h, web.URL); status != 200 || err != nil {
			t.Error(status, err)
		}
		if before := h.sessions["127.0.0.1"]; before == nil || !before.Private() {
			t.Error("it is not remembered that 127.0.0.1 is private")
		}
		for _, other := range []string{"http://EXAMPLE.org/", "http://[2001:db8::1]/"} {
			if before := h.sessions[mustURL(t, other).Host()]; before != nil {
				t.Errorf("%s is known since another host is", other)
			}
		}
	})
}

// Concurrent requests wait for the end of the earlier answer, including its body.
func TestByHandSendsOneAtATime(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var under, most atomic.Int64
		web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), under.Add(1)))
			defer under.Add(-1)
			w.(http.Flusher).Flush()
			time.Sleep(40 * time.Millisecond)
			io.WriteString(w, "# nothing\n")
		}))
		defer web.Close()
		h, err := newManual(t, ManualOptions{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 3)
		for range cap(done) {
			go func() {
				_, err := manualGet(t, h, web.URL)
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := most.Load(); n != 1 {
			t.Errorf("%d requests at a time, want 1", n)
		}
	})
}

// An answer that never ends is cut off, and the error says why. So is a robots.txt.
func TestByHandWholeAnswer(t *testing.T) {
	virtual(t, func(t *testing.T) {
		for _, slow := range []string{"/robots.txt", "/rup"} {
			web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for r.URL.Path == slow && r.Context().Err() == nil {
					io.WriteString(w, "# \n")
					w.(http.Flusher).Flush()
					time.Sleep(20 * time.Millisecond)
				}
			}))
			defer web.Close()
			h, err := newManual(t, ManualOptions{AllowPrivate: true, WholeAnswer: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := manualGet(t, h, web.URL+"/rup"); err == nil || !strings.Contains(err.Error(), "within 2s") && slow == "/rup" {
				t.Errorf("%s drips: %v", slow, err)
			}
		}
	})
}

// A robots.txt is returned with its text, after one request, and it is an error if nothing is known
// of it.
func TestByHandReadsRobots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const text = "Mobile-agent-server: / atp://a.test\n"
		for answer, want := range map[string]string{"200": text, "404": "", "301": text, "500": "cannot be fetched", "429": "cannot be fetched"} {
			asked := 0
			web := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				switch {
				case r.URL.Path == "/real" || answer == "200":
					io.WriteString(w, text)
				case answer == "301":
					http.Redirect(w, r, "/real", http.StatusMovedPermanently)
				default:
					code, _ := strconv.Atoi(answer)
					w.WriteHeader(code)
					io.WriteString(w, "Mobile-agent-server: / atp://not.test\n")
				}
			}))
			h, err := newManual(t, ManualOptions{AllowPrivate: true})
			if err != nil {
				t.Fatal(err)
			}
			u, err := canon.Parse(web.URL + "/")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				file, body, err := h.Robots(t.Context(), u.Origin())
				switch {
				case err != nil:
					if !strings.Contains(err.Error(), want) || want == text || want == "" {
						t.Errorf("%s: %v", answer, err)
					}
				case string(body) != want || (len(file.AgentServers()) == 1) != (want == text):
					t.Errorf("%s: %q, %d servers, want %q", answer, body, len(file.AgentServers()), want)
				}
			}
			if most := map[string]int{"301": 2}[answer]; asked != max(most, 1) {
				t.Errorf("%s: %d requests", answer, asked)
			}
			web.Close()
		}
	})
}
