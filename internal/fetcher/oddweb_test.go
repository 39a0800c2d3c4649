package fetcher

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// oddOrigin answers robots.txt with 404, and everything else with raw bytes.
func oddOrigin(t *testing.T, raw func(path string) string) string {
	return wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
		path := strings.Fields(h.Text)[1]
		text := "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		if path != "/robots.txt" {
			text = raw(path)
		}
		io.WriteString(c, text)
		return path == "/robots.txt"
	}).Addr().String()
}

// A header line that cannot be parsed is ignored. The other lines keep their effect.
func TestOddLinesInAHead(t *testing.T) {
	for _, line := range []string{"what is this", "“X-A”: 1", "Content‑Type: image/png", "X(Y): 1", ": 1", "X: a\rb", "X: \x01", "X Y: 1"} {
		t.Run(line, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				addr := oddOrigin(t, func(path string) string {
					switch path {
					case "/busy":
						return "HTTP/1.1 429 Too Many\r\n" + line + "\r\nRetry-After: 6\r\nContent-Length: 0\r\n\r\n"
					case "/moved":
						return "HTTP/1.1 301 Moved\r\n" + line + "\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n"
					case "/closed":
						return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + line + "\r\nX-Robots-Tag: noindex\r\n\r\nwords"
					}
					return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + line + "\r\n\r\n<a href=/linked>x</a>"
				})
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				out := d.outcome(d.grant(open(visitTo(t, "http://h.test/", "http://h.test/moved", "http://h.test/closed", "http://h.test/busy"))))
				if got, want := classes(out), "stored redirected/redirect refused/noindex retry/overload"; got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if out.RetryAfter != 6*time.Second {
					t.Errorf("the delay is %v", out.RetryAfter)
				}
				for _, u := range []string{"http://h.test/linked", "http://h.test/new"} {
					if _, ok := d.links()[mustURL(t, u)]; !ok {
						t.Errorf("no link to %s", u)
					}
				}
			})
		})
	}
}

// If the last two attempts return the same incomplete body, it is stored and marked as truncated. A
// body that differs each time is not stored.
func TestCutTheSameWayEachTime(t *testing.T) {
	const page = "<title>T</title><a href=/linked>x</a>"
	for name, tt := range map[string]struct {
		raw  func(n int) string
		want string
	}{
		"too short": {func(int) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n" + page
		}, "stored"},
		"no last chunk": {func(int) string {
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(page), page)
		}, "stored"},
		"elsewhere": {func(n int) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n" + page[:len(page)-n]
		}, "retry/network"},
		"nothing": {func(int) string { return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n" }, "retry/network"},
		"a picture": {func(int) string {
			return "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 99\r\n\r\n" + page
		}, "refused/type"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				n := 0
				addr := oddOrigin(t, func(string) string { n++; return tt.raw(n) })
				d := newDesk(t, 1)
				startFetcher(t, d, testSpec(1, addr), Options{})
				failed := ""
				for attempt := range crawl.MaxAttempts {
					v := open(visitTo(t, "http://h.test/"))
					v.URLs[0].Attempts, v.URLs[0].Failed = attempt, failed
					out := d.outcome(d.grant(v))
					want := tt.want
					if attempt < crawl.MaxAttempts-1 && want == "stored" {
						want = "retry/network"
					}
					if got := classes(out); got != want {
						t.Fatalf("attempt %d: %s (%s), want %s", attempt, got, out.Results[0].Rule, want)
					}
					failed = crawl.ShortDetail(out.Results[0].Rule)
				}
				if n > crawl.MaxAttempts {
					t.Errorf("%d requests", n)
				}
				if tt.want != "stored" {
					return
				}
				if p := d.pageOf("http://h.test/"); !p.Truncated || string(unpack(t, p)) != page {
					t.Errorf("stored %q, marked as truncated: %v", unpack(t, p), p.Truncated)
				}
				if _, ok := d.links()["http://h.test/linked"]; !ok {
					t.Error("its links are not followed")
				}
			})
		})
	}
}

// Links are followed from at most 16 pages with the same text. Session ids are removed once known.
func TestEndlessNames(t *testing.T) {
	virtual(t, func(t *testing.T) {
		n := 0
		addr := oddOrigin(t, func(path string) string {
			n++
			body := fmt.Sprintf("<title>T</title><a href=\"a/%s/b\">x</a>", strings.Repeat("x", 30))
			if path == "/x" {
				return "HTTP/1.1 302 Found\r\nLocation: /x?PHPSESSID=0123456789\r\nContent-Length: 0\r\n\r\n"
			}
			if strings.HasPrefix(path, "/list") {
				body = fmt.Sprintf("<title>S</title><a href=\"/list;jsessionid=%032x\">x</a>", n)
			}
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		for i := range 20 {
			d.outcome(d.grant(open(visitTo(t, fmt.Sprintf("http://h.test/%d/", i)))))
		}
		if links := len(d.links()); links != 16 {
			t.Errorf("links of %d pages with the same text are followed, want 16", links)
		}
		for i := range 4 {
			d.outcome(d.grant(open(visitTo(t, fmt.Sprintf("http://s.test/list;jsessionid=%032x", 100+i)))))
		}
		if _, ok := d.links()["http://s.test/list"]; !ok {
			t.Error("the address without a session id is not tried")
		}
		if out := d.outcome(d.grant(open(visitTo(t, "http://s.test/list")))); classes(out) != "stored" {
			t.Errorf("without a session id: %s", classes(out))
		}
		before := n
		out := d.outcome(d.grant(open(visitTo(t, fmt.Sprintf("http://s.test/list;jsessionid=%032x", 900)))))
		if got := classes(out); got != "redirected/clean-param" || n != before || out.Results[0].Location != "http://s.test/list" {
			t.Errorf("%s to %s, after %d requests", got, out.Results[0].Location, n-before)
		}
		if _, ok := d.links()["http://s.test/list"]; !ok {
			t.Error("the address without a session id is not reported as a link")
		}
		// A redirect that adds one would lead back here without it.
		d.outcome(d.grant(open(visitTo(t, "http://s.test/x"))))
		const with = "http://s.test/x?PHPSESSID=0123456789"
		if _, ok := d.links()[with]; !ok {
			t.Error("where the redirect leads is not offered as it is")
		}
		if out := d.outcome(d.grant(open(visitTo(t, with)))); classes(out) != "stored" {
			t.Errorf("with the session id that the host asks for: %s", classes(out))
		}
	})
}
