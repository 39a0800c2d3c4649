package dashboard

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/simnet"
)

// served serves a dashboard on a network in memory until the test ends, and returns its address and
// a client. It is for bubbles.
func served(t *testing.T, web http.Handler) (address string, client *http.Client) {
	t.Helper()
	network := simnet.New(simnet.Options{})
	l, err := network.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: web}
	go srv.Serve(l)
	transport := &http.Transport{DialContext: network.Dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	return "http://" + l.Addr().String(), &http.Client{Transport: transport}
}

// followed reads the events of a page until the test ends it.
func followed(t *testing.T, web http.Handler) (next func() (event, data string), end func()) {
	t.Helper()
	address, client := served(t, web)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, "GET", address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("%d, %s", resp.StatusCode, got)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() (event, data string) {
			for lines.Scan() {
				switch line := lines.Text(); {
				case line == "" && event == "says":
					event, data = "", ""
				case line == "" && event != "":
					return event, data
				case strings.HasPrefix(line, "event: "):
					event = line[len("event: "):]
				case strings.HasPrefix(line, "data: "):
					data += line[len("data: "):] + "\n"
				}
			}
			t.Fatalf("the stream ended: %v", lines.Err())
			return "", ""
		}, func() {
			cancel()
			resp.Body.Close()
		}
}

// A page that is followed is sent again when it has changed, and only then. Errors are reported.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stored atomic.Int64
		var asked atomic.Int64
		w := New(Options{Beat: time.Millisecond, Ask: answering(ask.Handlers{"status": func(_ context.Context, _ []byte, send func(any) error) error {
			asked.Add(1)
			st := running()
			if st.Stored = stored.Load(); st.Stored < 0 {
				return errors.New("a disk")
			}
			return send(st)
		}})})
		next, end := followed(t, w)
		defer end()
		until := func(event, says string) {
			t.Helper()
			e, data := next()
			if e != event || !strings.Contains(data, says) || strings.Contains(data, "<html") {
				t.Fatalf("%s: %s", e, data)
			}
		}
		until("main", "<dd>0")
		for looks := asked.Load(); asked.Load() < looks+3; { // nothing has changed: nothing is sent
			time.Sleep(time.Millisecond)
		}
		stored.Store(4711)
		until("main", "<dd>4,711")
		stored.Store(-1)
		until("trouble", "The server’s log")
		stored.Store(7)
		for {
			if e, data := next(); e == "main" {
				if !strings.Contains(data, "<dd>7") {
					t.Errorf("after the trouble: %s", data)
				}
				break
			}
		}
	})
}

// The script replaces a live page part by part, by the ids of its parts, so that input stays and a
// button does not vanish under the pointer.
func TestPartsOfLivePages(t *testing.T) {
	c := browse(t, New(Options{Ask: answering(hostileCrawl())}))
	for _, path := range []string{"/", "/hosts", "/hosts?q=nobody", "/host/evil.example", "/log", "/log?host=%22", "/mobile-robots", "/feeds"} {
		_, body := c.get(path)
		doc, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		main, parts := find(doc, "main"), 0
		for n := main.FirstChild; n != nil; n = n.NextSibling {
			if n.Type != html.ElementNode {
				continue
			}
			if parts++; attr(n, "id") == "" {
				t.Errorf("%s: a <%s> has no id", path, n.Data)
			}
		}
		if parts < 2 || !strings.Contains(body, "data-live") {
			t.Errorf("%s: %d parts: %s", path, parts, body)
		}
	}
	for _, p := range pages {
		if p.live && !slices.Contains([]string{"/{$}", "/hosts", "/host/{host}", "/log", "/mobile-robots", "/feeds"}, p.path) {
			t.Errorf("%s is live, and not looked at here", p.path)
		}
	}
}

// A page that does not change gets a sign of life every now and then.
func TestStreamIsStillThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shows(Options{}, running())
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequest("GET", "http://127.0.0.1/log", nil).WithContext(ctx)
		r.Header.Set("Accept", "text/event-stream")
		rec, done := httptest.NewRecorder(), make(chan bool)
		go func() { defer close(done); w.ServeHTTP(rec, r) }()
		time.Sleep(3*heartbeat + 5*time.Second)
		leave()
		<-done
		if body := rec.Body.String(); strings.Count(body, "event: main") != 1 || !strings.Contains(body, "event: says\ndata: The crawl has ended.") || strings.Count(body, "event: still\ndata: here\n\n") < 2 {
			t.Errorf("after three times %v: %s", heartbeat, body)
		}
	})
}

// After a logout, open pages of that browser show nothing new; those of other browsers do.
func TestLogoutEndsStreams(t *testing.T) {
	const token = "a long enough token"
	synctest.Test(t, func(t *testing.T) {
		w := shows(Options{Token: token}, running())
		follow := func() (c *client, ended func() bool) {
			c = browse(t, w)
			c.ask("GET", "/login?token="+url.QueryEscape(token), "")
			csrf, done := c.csrf("/"), make(chan bool)
			ctx, leave := context.WithCancel(t.Context())
			t.Cleanup(func() { leave(); <-done })
			r := httptest.NewRequest("GET", "http://"+c.host+"/", nil).WithContext(ctx)
			r.Header.Set("Accept", "text/event-stream")
			for _, k := range c.cookies {
				r.AddCookie(k)
			}
			go func() { defer close(done); w.ServeHTTP(httptest.NewRecorder(), r) }()
			c.cookies["csrf"] = &http.Cookie{Name: "csrf", Value: csrf}
			return c, func() bool {
				select {
				case <-done:
					return true
				default:
					return false
				}
			}
		}
		c, ended := follow()
		_, other := follow()
		time.Sleep(time.Minute)
		if ended() || other() {
			t.Fatal("a page is followed no more")
		}
		if code := c.ask("POST", "/logout", "csrf="+c.cookies["csrf"].Value).StatusCode; code != http.StatusSeeOther {
			t.Fatalf("logout: %d", code)
		}
		time.Sleep(time.Minute)
		if !ended() || other() {
			t.Errorf("a minute after the logout its page has ended: %v, that of another browser: %v", ended(), other())
		}
	})
}

// A HEAD request is not answered by a stream.
func TestTheHeadIsNoStream(t *testing.T) {
	resp := browse(t, shows(Options{Beat: time.Hour}, running())).ask(http.MethodHead, "/", "", header("Accept", "text/event-stream"))
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
		t.Errorf("%d, %s", resp.StatusCode, got)
	}
}

// The number of streams is limited, and a client that leaves makes space for another.
func TestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shows(Options{Beat: time.Millisecond, Streams: 1}, running())
		next, end := followed(t, w)
		next()
		c := browse(t, w)
		if code, _ := c.get("/", header("Accept", "text/event-stream")); code != http.StatusServiceUnavailable {
			t.Errorf("one more: %d", code)
		}
		if code, _ := c.get("/"); code != 200 {
			t.Errorf("a page that is not followed: %d", code)
		}
		end()
		for deadline := time.Now().Add(30 * time.Second); len(w.streams) > 0; {
			if time.Now().After(deadline) {
				t.Fatal("who has left is still sent to")
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// More questions than the limit are refused.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, leave := make(chan bool), make(chan bool)
		w := New(Options{AtOnce: 1, Queue: 1, Ask: answering(ask.Handlers{"status": func(_ context.Context, _ []byte, send func(any) error) error {
			asked <- true
			<-leave
			return send(running())
		}})})
		c := browse(t, w)
		done := make(chan int)
		for range 2 {
			go func() {
				rec := httptest.NewRecorder()
				r := httptest.NewRequest("GET", "http://127.0.0.1/", nil)
				w.ServeHTTP(rec, r)
				done <- rec.Code
			}()
		}
		<-asked // one is worked on; the other waits, or is about to
		for deadline := time.Now().Add(30 * time.Second); w.server.Semaphore().Waiting() < 2; {
			if time.Now().After(deadline) {
				t.Fatal("nobody waits")
			}
			time.Sleep(time.Millisecond)
		}
		if code, body := c.get("/"); code != http.StatusServiceUnavailable || !strings.Contains(body, "Too many requests") {
			t.Errorf("one more: %d", code)
		}
		leave <- true
		<-asked
		leave <- true
		for range 2 {
			if code := <-done; code != 200 {
				t.Errorf("of those that had room: %d", code)
			}
		}
	})
}
