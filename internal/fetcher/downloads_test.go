package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/version"
	"github.com/curtsy/curtsy/pkg/canon"
)

// startDownloader runs a Downloader until the test ends.
func startDownloader(t testing.TB, d *desk, spec crawl.Spec, opt Options) *Downloader {
	t.Helper()
	opt.Log, opt.Dial = quiet(), simnet.Of(t).Dial
	dl, err := NewDownloader(d.q, spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- dl.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := dl.Violations(); n != 0 {
			t.Errorf("%d requests had to be stopped at the last moment", n)
		}
	})
	return dl
}

var originH = canon.Origin{Scheme: "http", Host: "h.test", Port: 80}

func wantOK(status int, _ http.Header) bool { return 200 <= status && status <= 299 }

func TestDownload(t *testing.T) {
	virtual(t, func(t *testing.T) {
		file := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
		var mu sync.Mutex
		var asked []string
		var at []time.Time
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			at = append(at, time.Now())
			asked = append(asked, r.RequestURI)
			mu.Unlock()
			switch r.URL.Path {
			case "/robots.txt":
				fmt.Fprint(w, "User-agent: *\nDisallow: /closed\nCrawl-delay: 0.15\n")
			case "/file":
				if ua := r.Header.Get("User-Agent"); ua != "curtsy/"+version.Product() || r.Header.Get("Accept-Encoding") != "identity" {
					t.Errorf("header %v", r.Header)
				}
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
			case "/moved":
				http.Redirect(w, r, "/file", http.StatusFound)
			default:
				http.NotFound(w, r)
			}
		})
		d := newDesk(t, 1)
		dl := startDownloader(t, d, testSpec(1, addr), Options{MaxBody: 1000})
		id := d.grant(crawl.Visit{Host: "h.test"})
		stop := errors.New("enough")
		err := dl.Visit(t.Context(), originH, func(v *DownloadVisit) error {
			var body bytes.Buffer
			got, err := v.Get(t.Context(), "http://h.test/file", "", http.Header{"range": {"bytes=16-"}, "User-Agent": {"somebody else"}}, wantOK, &body)
			if err != nil || got.Status != 206 || !got.Complete || got.Bytes != int64(len(file)-16) || !bytes.Equal(body.Bytes(), file[16:]) {
				t.Errorf("a range: %+v, %v", got, err)
			}
			got, err = v.Get(t.Context(), "http://h.test/moved", "", nil, wantOK, io.Discard)
			if err != nil || got.Status != 302 || got.Header.Get("Location") != "/file" || got.Complete || got.Bytes != 0 {
				t.Errorf("a redirect: %+v, %v", got, err)
			}
			if _, err = v.Get(t.Context(), "http://h.test/closed/x", "", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrRobots) || !strings.Contains(err.Error(), "line 2: Disallow: /closed") {
				t.Errorf("a closed path: %v", err)
			}
			if got, err = v.Get(t.Context(), "http://other.test/x", "", nil, wantOK, io.Discard); err == nil || got.Status != 0 {
				t.Errorf("another host: %+v, %v", got, err)
			}
			// A spelling of the URL, and what is none.
			if got, err = v.Get(t.Context(), "http://h.test/file?s=%2B", "/%66ile?s=%2b", nil, wantOK, io.Discard); err != nil || got.Status != 200 {
				t.Errorf("another spelling: %+v, %v", got, err)
			}
			if _, err = v.Get(t.Context(), "http://h.test/closed/x", "/%63losed/x", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrRobots) {
				t.Errorf("another spelling of a closed path: %v", err)
			}
			for _, target := range []string{"/closed/x", "/file?s=+", "file?s=%2b", "//other.test/file?s=%2b", "/file?s=%2b#x", "/file?s=%2b HTTP/1.0", "/file?s=%2b\r\nX: y", "/x/../file?s=%2b "} {
				if got, err = v.Get(t.Context(), "http://h.test/file?s=%2B", target, nil, wantOK, io.Discard); err == nil || got.Status != 0 {
					t.Errorf("requested as %q: %+v, %v", target, got, err)
				}
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("Visit: %v", err)
		}
		if got := strings.Join(asked, " "); got != "/robots.txt /file /moved /%66ile?s=%2b" {
			t.Errorf("asked for %s", got)
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < 150*time.Millisecond {
				t.Errorf("request %d %v after the one before", i, gap)
			}
		}
		out := d.outcome(id)
		if out.Requests != 4 || out.Bytes < int64(len(file)) || out.Delay != 150*time.Millisecond || !out.Private || len(out.Results) != 0 {
			t.Errorf("outcome %+v", out)
		}
		if f := d.facts(); len(f) != 1 || f[0].State != crawl.RobotsParsed {
			t.Errorf("facts %+v", f)
		}
	})
}

// takeCount is how often visits were requested of a desk.
func (d *desk) takeCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.takes
}

func TestDownloadWaitsForItsVisit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, n := slowSite(t, 0)
		d := newDesk(t, 1)
		dl := startDownloader(t, d, testSpec(1, addr), Options{})
		// A frontier that does not know downloads grants an ordinary visit, which is returned
		// without a request.
		other := d.grant(manyURLs(t, 3))
		done := make(chan error)
		go func() { done <- dl.Visit(t.Context(), originH, func(*DownloadVisit) error { return nil }) }()
		if out := d.outcome(other); out.Requests != 0 || out.Host != "h.test" || n.Load() != 0 {
			t.Errorf("the visit of somebody else: %+v", out)
		}
		before := d.takeCount()
		for d.takeCount() < before+3 {
			time.Sleep(time.Millisecond)
		}
		select {
		case err := <-done:
			t.Fatalf("a visit that was never granted: %v", err)
		default:
		}
		id := d.grant(crawl.Visit{Host: "h.test", Robots: []crawl.Robots{{Origin: originH, State: crawl.RobotsUnavailable, Fresh: time.Hour}}})
		if err := <-done; err != nil {
			t.Error(err)
		}
		if out := d.outcome(id); out.Requests != 0 {
			t.Errorf("outcome %+v", out)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := dl.Visit(ctx, originH, func(*DownloadVisit) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting in vain: %v", err)
		}
		// A shard without a frontier.
		noFrontier := startDownloader(t, newDesk(t, 2), testSpec(2, addr), Options{})
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		host := hostN(0)
		for i := 1; crawl.ShardOf(host, 2) != 1; i++ {
			host = hostN(i)
		}
		if err := noFrontier.Visit(ctx, canon.Origin{Scheme: "http", Host: host, Port: 80}, nil); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no frontier") {
			t.Errorf("a shard that nobody owns: %v", err)
		}
	})
}

// What ends a visit, and what is returned for an answer that is incomplete.
func TestDownloadFailures(t *testing.T) {
	virtual(t, func(t *testing.T) {
		hang := make(chan struct{})
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/cut":
				w.Header().Set("Content-Length", "1000")
				fmt.Fprint(w, strings.Repeat("x", 400))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			case "/busy":
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(503)
			case "/hang":
				fmt.Fprint(w, strings.Repeat("x", 100))
				w.(http.Flusher).Flush()
				select {
				case <-hang:
				case <-r.Context().Done():
				}
			case "/file":
				fmt.Fprint(w, strings.Repeat("x", 100))
			}
		})
		defer close(hang)
		robotsOfH := []crawl.Robots{{Origin: originH, State: crawl.RobotsUnavailable, Fresh: time.Hour}}
		d := newDesk(t, 1)
		dl := startDownloader(t, d, testSpec(1, addr), Options{})
		visitFor := func(dl *Downloader, v crawl.Visit, do func(v *DownloadVisit)) crawl.Outcome {
			t.Helper()
			v.Host = "h.test"
			id := d.grant(v)
			if err := dl.Visit(t.Context(), originH, func(v *DownloadVisit) error { do(v); return nil }); err != nil {
				t.Error(err)
			}
			return d.outcome(id)
		}
		full := errors.New("disk full")
		out := visitFor(dl, crawl.Visit{Robots: robotsOfH}, func(v *DownloadVisit) {
			var body bytes.Buffer
			got, err := v.Get(t.Context(), "http://h.test/cut", "", nil, wantOK, &body)
			if err == nil || got.Status != 200 || got.Complete || got.Bytes != 400 || body.Len() != 400 || !strings.Contains(err.Error(), "network") {
				t.Errorf("cut: %+v, %v", got, err)
			}
			if got, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, writerFunc(func(p []byte) (int, error) { return 7, full })); !errors.Is(err, full) || got.Bytes != 7 {
				t.Errorf("a full disk: %+v, %v", got, err)
			}
			if got, err := v.Get(t.Context(), "http://h.test/file", "", nil, func(int, http.Header) bool { return false }, io.Discard); err != nil || got.Bytes != 0 || got.Complete {
				t.Errorf("an answer nobody wants: %+v, %v", got, err)
			}
			if got, err := v.Get(t.Context(), "http://h.test/busy", "", nil, wantOK, io.Discard); err != nil || got.Status != 503 {
				t.Errorf("busy: %+v, %v", got, err)
			}
			if got, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrVisitOver) || got.Status != 0 {
				t.Errorf("after that: %+v, %v", got, err)
			}
		})
		if out.Requests != 4 || out.Overloads != 1 || out.RetryAfter != 7*time.Second {
			t.Errorf("outcome %+v", out)
		}
		ctx, cancel := context.WithCancel(t.Context())
		out = visitFor(dl, crawl.Visit{Robots: robotsOfH}, func(v *DownloadVisit) {
			got, err := v.Get(ctx, "http://h.test/hang", "", nil, wantOK, writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
			if !errors.Is(err, visit.ErrVisitOver) || got.Bytes != 100 || got.Complete {
				t.Errorf("stopped: %+v, %v", got, err)
			}
			if _, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrVisitOver) {
				t.Errorf("after that: %v", err)
			}
		})
		if out.Requests != 1 {
			t.Errorf("outcome %+v", out)
		}
		pending := []crawl.Robots{{Origin: originH, State: crawl.RobotsPending, Fresh: time.Hour}}
		visitFor(dl, crawl.Visit{Robots: pending}, func(v *DownloadVisit) {
			if _, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrUnreadable) {
				t.Errorf("robots.txt pending: %v", err)
			}
		})
		d.mu.Lock()
		d.lose = true
		d.mu.Unlock()
		visitFor(dl, crawl.Visit{Robots: robotsOfH, Lease: 600 * time.Millisecond}, func(v *DownloadVisit) {
			if _, err := v.Get(t.Context(), "http://h.test/hang", "", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrVisitOver) {
				t.Errorf("a lost visit: %v", err)
			}
		})
		d.mu.Lock()
		d.lose = false
		d.mu.Unlock()

		// A mistake of the caller leaves the host as free as any other end of a visit.
		id := d.grant(crawl.Visit{Host: "h.test", Robots: robotsOfH})
		func() {
			defer func() { recover() }()
			dl.Visit(t.Context(), originH, func(v *DownloadVisit) error {
				v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, writerFunc(func([]byte) (int, error) { panic("oops") }))
				return nil
			})
			t.Error("no panic")
		}()
		if out := d.outcome(id); out.Requests != 1 {
			t.Errorf("outcome %+v", out)
		}
		out = visitFor(dl, crawl.Visit{Robots: robotsOfH}, func(v *DownloadVisit) {
			if got, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, io.Discard); err != nil || !got.Complete {
				t.Errorf("after a mistake: %+v, %v", got, err)
			}
		})
		if out.Requests != 1 {
			t.Errorf("outcome %+v", out)
		}

		spec := testSpec(1, addr)
		spec.Forgotten = []string{"http://h.test/file"}
		visitFor(startDownloader(t, d, spec, Options{}), crawl.Visit{Robots: robotsOfH}, func(v *DownloadVisit) {
			if _, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrForgotten) {
				t.Errorf("forgotten: %v", err)
			}
		})
		spec = testSpec(1, addr)
		spec.AllowPrivate = false
		for _, known := range [][]crawl.Robots{robotsOfH, nil} {
			out = visitFor(startDownloader(t, d, spec, Options{}), crawl.Visit{Robots: known}, func(v *DownloadVisit) {
				if _, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, io.Discard); !errors.Is(err, visit.ErrAddress) || !strings.Contains(err.Error(), "--allow-private") {
					t.Errorf("a private address: %v", err)
				}
			})
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A download lasts as long as its leases are renewed. The time that its caller's disk takes does
// not count against the origin.
func TestDownloadIsRenewed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const whole = 4 * time.Second
		var n atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			for range 12 {
				w.Write(make([]byte, 4<<10))
				w.(http.Flusher).Flush()
				time.Sleep(60 * time.Millisecond)
			}
		})
		d := newDesk(t, 1)
		dl := startDownloader(t, d, testSpec(1, addr), Options{WholeResponse: whole})
		d.grant(crawl.Visit{Host: "h.test", Lease: 2 * time.Second, Robots: []crawl.Robots{{Origin: originH, State: crawl.RobotsUnavailable, Fresh: time.Hour}}})
		slow := false
		err := dl.Visit(t.Context(), originH, func(v *DownloadVisit) error {
			got, err := v.Get(t.Context(), "http://h.test/file", "", nil, wantOK, writerFunc(func(p []byte) (int, error) {
				if !slow {
					slow = true
					time.Sleep(whole + 100*time.Millisecond)
				}
				return len(p), nil
			}))
			if !got.Complete || got.Bytes != 48<<10 {
				t.Errorf("%+v", got)
			}
			return err
		})
		if err != nil || n.Load() != 1 {
			t.Errorf("%d requests, %v", n.Load(), err)
		}
	})
}
