package simweb

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simweb/requestlog"
)

func TestServeHTTPAnswersLikeTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one(Behavior{Robots: RobotsSubtree, Features: Features(), Stall: 20 * time.Millisecond, Latency: time.Millisecond})
		srv, c := start(t, cfg)
		web := New(cfg)
		network := simnet.New(simnet.Options{})
		l, err := network.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ts := &http.Server{Handler: web}
		go ts.Serve(l)
		t.Cleanup(func() { ts.Close() })
		c2 := clientFor(t, func(ctx context.Context, n, _ string) (net.Conn, error) {
			return network.Dial(ctx, n, l.Addr().String())
		})
		for _, c := range []*http.Client{c, c2} {
			// no answer to these requests is delayed deliberately
			c.Transport.(*http.Transport).ResponseHeaderTimeout = 10 * time.Second
		}
		asked := 0
		for u, e := range srv.Expect("curtsy") {
			if !strings.HasPrefix(u, home) || e.Reason == ReasonSlow || e.Reason == ReasonTimeout || len(u) > 3000 {
				continue
			}
			asked++
			a, x, errA := get(t, c, u)
			b, y, errB := get(t, c2, u)
			if (errA == nil) != (errB == nil) || errA == nil && (a.StatusCode != b.StatusCode || x != y || a.Header.Get("Content-Type") != b.Header.Get("Content-Type")) {
				t.Errorf("%s: %v %v and %v %v", u, a, errA, b, errB)
			}
		}
		if asked < 100 || len(web.Log()) != len(srv.Log()) {
			t.Errorf("asked for %d URLs; logs of %d and %d requests", asked, len(srv.Log()), len(web.Log()))
		}
		// An answer that the client aborted stays incomplete in the log until its handler has
		// noticed.
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			mine, theirs := statuses(srv.Log()), statuses(web.Log())
			if maps.Equal(mine, theirs) {
				break
			}
			if time.Now().After(end) {
				for k, v := range mine {
					if theirs[k] != v {
						t.Errorf("%s: %v under Start, %v under net/http", k, v, theirs[k])
					}
				}
				break
			}
		}
	})
}

func statuses(log []requestlog.Request) map[string]string {
	out := map[string]string{}
	for _, r := range log {
		out[r.Path] += fmt.Sprintf(" %d %v %v %v", r.Status, r.RetryAfter.Round(5*time.Second), r.Forbidden, r.Hidden)
	}
	return out
}

// talk sends bytes on a connection and reads the answers until it is closed or the deadline.
func talk(t *testing.T, srv *Server, text string) string {
	t.Helper()
	conn, err := dialer(srv)(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, text)
	conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	b, _ := io.ReadAll(conn) // up to the deadline
	return string(b)
}

func TestRequestsAsTheyCome(t *testing.T) {
	const ok, no, bad = "HTTP/1.1 200 OK", "HTTP/1.1 404", "HTTP/1.1 400"
	for _, c := range []struct {
		name, send string
		want       []string // the beginnings of the status lines
	}{
		{"two in one go", "GET / HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\nGET /none HTTP/1.1\r\nhost:h0000.sim.test\r\n\r\n", []string{ok, no}},
		{"bare line feeds", "GET / HTTP/1.1\nHost: h0000.sim.test\n\n", []string{ok}},
		{"the whole URL", "GET http://h0000.sim.test/robots.txt HTTP/1.1\r\nHost: other\r\n\r\n", []string{ok}},
		{"HTTP/1.0", "GET / HTTP/1.0\r\nHost: h0000.sim.test\r\n\r\nGET / HTTP/1.0\r\n\r\n", []string{ok}},
		{"asked to close", "GET / HTTP/1.1\r\nHost: h0000.sim.test\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n", []string{ok}},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\nHEAD / HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\n", []string{ok, ok}},
		{"a body", "POST / HTTP/1.1\r\nHost: h0000.sim.test\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\n", []string{"HTTP/1.1 405", ok}},
		{"a chunked body", "POST / HTTP/1.1\r\nHost: h0000.sim.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", []string{"HTTP/1.1 405"}},
		{"no host", "GET / HTTP/1.1\r\n\r\n", []string{no}},
		{"noise", "hello\r\n\r\n", []string{bad}},
		{"a bad length", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", []string{bad}},
		{"a header without a colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", []string{bad}},
		{"a long line", "GET /" + strings.Repeat("x", 9000) + " HTTP/1.1\r\n\r\n", []string{bad}},
		{"many headers", "GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", 200) + "\r\n", []string{bad}},
		{"half a request", "GET / HTTP/1.1\r\nHost: h0000", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, _ := start(t, Config{Hosts: 1, PagesPerHost: 3, Behaviors: map[int]Behavior{0: {Robots: RobotsAllowAll}}})
				got := talk(t, srv, c.send)
				for _, want := range c.want {
					i := strings.Index(got, want)
					if i < 0 {
						t.Fatalf("no %q in %.300q", want, got)
					}
					got = got[i+len(want):]
				}
				if strings.Contains(got, "HTTP/1.") {
					t.Errorf("one more answer: %.200q", got)
				}
			})
		})
	}
}

func TestHEADHasNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, _ := start(t, one(Behavior{}))
		got := talk(t, srv, "HEAD / HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\n")
		if !strings.HasSuffix(got, "\r\n\r\n") || strings.Contains(got, "Content-Length: 0") {
			t.Errorf("answer %q", got)
		}
	})
}

func TestLogHasTimesAndClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "requests.jsonl")
		cfg := one(Behavior{Robots: RobotsSubtree, CrawlDelay: 70 * time.Millisecond, Latency: 30 * time.Millisecond})
		cfg.LogFile = file
		srv, c := start(t, cfg)
		before := time.Now()
		mustGet(t, c, home+"/robots.txt")
		mustGet(t, c, "http://h0000.sim.test:8080/private/secret-1.html")
		after := time.Now()
		log := srv.Log()
		if len(log) != 2 {
			t.Fatalf("%d requests in the log, want 2", len(log))
		}
		r, p := log[0], log[1]
		if !r.Robots || r.Forbidden || r.Status != 200 || r.Host != "h0000.sim.test" || r.Origin != r.Host || r.UserAgent != testAgent || r.Peer != "127.0.0.1" || r.Method != "GET" {
			t.Errorf("robots.txt: %+v", r)
		}
		if p.Robots || !p.Forbidden || p.Origin != "h0000.sim.test:8080" || p.CrawlDelay != 70*time.Millisecond || p.Bytes < 300 {
			t.Errorf("page: %+v", p)
		}
		if r.Start.Before(before) || p.End.After(after) || p.End.Sub(p.Start) < 30*time.Millisecond || p.Start.Before(r.End) {
			t.Errorf("times %v %v %v %v, between %v and %v", r.Start, r.End, p.Start, p.End, before, after)
		}
		if err := srv.Close(); err != nil { // after that every line is in the file
			t.Fatal(err)
		}
		fromFile, err := requestlog.Read(file)
		if err != nil || len(fromFile) != 2 {
			t.Fatalf("%d requests in the file, error %v", len(fromFile), err)
		}
		for i, f := range fromFile {
			if d := f.End.Sub(f.Start) - log[i].End.Sub(log[i].Start); d != 0 {
				t.Errorf("the file's times differ by %v", d)
			}
			f.Start, f.End = log[i].Start, log[i].End
			if f != log[i] {
				t.Errorf("the file says %+v\nthe log says %+v", f, log[i])
			}
		}
	})
}

func TestLogWhileAnAnswerIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureSlow}}))
		done := make(chan error)
		go func() {
			_, _, err := get(t, c, home+"/slow/never.html")
			done <- err
		}()
		for len(srv.Log()) == 0 {
			time.Sleep(time.Millisecond)
		}
		if r := srv.Log()[0]; !r.End.IsZero() || r.Path != "/slow/never.html" {
			t.Errorf("under way: %+v", r)
		}
		if err := <-done; err == nil {
			t.Error("never.html answered")
		}
		waitLogged(t, srv, 1)
		if r := srv.Log()[0]; !r.Aborted || r.Status != 0 || r.End.Sub(r.Start) < 600*time.Millisecond || r.End.Sub(r.Start) > 20*time.Second {
			t.Errorf("after the client left at 700ms: %+v", r)
		}
	})
}

func TestLogIsBoundedAndCanBeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := one(Behavior{})
		cfg.LogLimit = 3
		srv, c := start(t, cfg)
		for range 5 {
			mustGet(t, c, home+"/")
		}
		if len(srv.Log()) != 3 || srv.LogDropped() != 2 {
			t.Errorf("%d kept, %d dropped, want 3 and 2", len(srv.Log()), srv.LogDropped())
		}
		srv.ResetLog()
		srv.SetLog(false)
		mustGet(t, c, home+"/")
		if len(srv.Log()) != 0 || srv.LogDropped() != 0 {
			t.Errorf("%d kept though off", len(srv.Log()))
		}
		srv.SetLog(true)
		mustGet(t, c, home+"/")
		if len(srv.Log()) != 1 {
			t.Errorf("%d kept after it was switched on", len(srv.Log()))
		}
	})
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "requests.jsonl")
		cfg := one(Behavior{Features: []Feature{FeatureSlow, FeatureEndless}})
		cfg.LogFile = file
		srv := startOnly(t, cfg)
		var conns []net.Conn
		for _, text := range []string{
			"GET /slow/never.html HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\n",
			// with more in the buffer
			"GET /slow/never.html HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\nGET /",
			"GET /slow/drip.html HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\n",
			"GET /endless/body.html HTTP/1.1\r\nHost: h0000.sim.test\r\n\r\n",
			"",
		} {
			conn, err := dialer(srv)(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conns = append(conns, conn)
			io.WriteString(conn, text)
		}
		for len(srv.Log()) < 4 {
			time.Sleep(time.Millisecond)
		}
		begin := time.Now()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("Close took %v", d)
		}
		for _, r := range srv.Log() {
			if r.End.IsZero() || !r.Aborted {
				t.Errorf("after Close: %+v", r)
			}
		}
		if log, err := requestlog.Read(file); err != nil || len(log) != 4 {
			t.Errorf("%d requests in the file, want 4, error %v", len(log), err)
		}
	})
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := Start(Config{Addr: "no-such-address"}); err == nil {
			t.Error("a bad address is no error")
		}
		if _, err := Start(Config{LogFile: t.TempDir()}); err == nil {
			t.Error("a directory as log file is no error")
		}
		srv, _ := start(t, Config{Hosts: 2, Domain: "my.test"})
		if want := fmt.Sprintf("*.my.test=%s", srv.Addr()); srv.Resolve() != want {
			t.Errorf("Resolve is %q, want %q", srv.Resolve(), want)
		}
		if got := fmt.Sprint(srv.Seeds(), srv.Hosts(), srv.Pages()); got != "[http://h0000.my.test/] [h0000.my.test h0001.my.test] 40" {
			t.Error(got)
		}
	})
}

func TestClientsCannotCauseMalformedLogLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "requests.jsonl")
		cfg := one(Behavior{})
		cfg.LogFile = file
		srv, _ := start(t, cfg)
		talk(t, srv, "GET /\"\\\x01\xff<> HTTP/1.1\r\nHost: \"x\r\nUser-Agent: \"},{\r\n\r\n")
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := requestlog.Read(file)
		if err != nil || len(log) != 1 || log[0].UserAgent != "\"},{" || !strings.HasPrefix(log[0].Path, "/\"\\\x01") {
			text, _ := os.ReadFile(file)
			t.Errorf("read %v, error %v, from %s", log, err, text)
		}
	})
}

// A polite client leaves a log without violations; an impolite one does not. The check works on
// what this server wrote.
func TestCheckOnARealLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 20 * time.Millisecond
		opts := requestlog.CheckOptions{Delay: requestlog.Every(delay), Token: "curtsy"}
		srv, c := start(t, one(Behavior{Robots: RobotsSubtree, Jitter: 10 * time.Millisecond}))
		for _, p := range []string{"/robots.txt", "/", "/notes/p1.html", "/archive/p2.html"} {
			mustGet(t, c, home+p)
			time.Sleep(delay)
		}
		if bad := requestlog.Check(srv.Log(), opts); len(bad) != 0 {
			t.Errorf("a polite client: %v", bad)
		}
		mustGet(t, c, home+"/private/secret-1.html")
		mustGet(t, c, home+"/")
		if bad := rules(requestlog.Check(srv.Log(), opts)); fmt.Sprint(bad) != "[forbidden delay]" {
			t.Errorf("a rude client: %v", bad)
		}
		res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(talk(t, srv, "GET / HTTP/1.1\r\nHost: h0000.sim.test\r\nConnection: close\r\n\r\n"))), nil)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		if bad := rules(requestlog.Check(srv.Log(), opts)); bad[len(bad)-1] != requestlog.RuleUserAgent {
			t.Errorf("a client without a name: %v", bad)
		}
	})
}

// rules are the rules that a crawler broke.
func rules(list []requestlog.Violation) (out []string) {
	for _, v := range list {
		out = append(out, v.Rule)
	}
	return out
}
