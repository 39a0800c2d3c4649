package simweb

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBrokenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Features: []Feature{FeatureBroken}}))
		// Whether a status arrives before the answer breaks off
		for name, begins := range map[string]bool{
			"no-answer": false, "reset": false, "half-head": false, "not-http": false,
			"cut": true, "reset-body": true, "cut-chunk": true, "bad-chunk": true,
		} {
			c.CloseIdleConnections()
			res, body, err := get(t, c, home+"/broken/"+name+".html")
			if err == nil || (res != nil) != begins || begins && !strings.HasPrefix(body, "<!DOCTYPE") && name != "bad-chunk" {
				t.Errorf("%s: response %v, body %q, error %v", name, res, body, err)
			}
		}
		if res, _ := mustGet(t, c, home+"/"); res.StatusCode != 200 {
			t.Error("the home suffers too")
		}
	})
}

func TestSlowPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureSlow}, Stall: 40 * time.Millisecond, Latency: 10 * time.Millisecond}))
		begin := time.Now()
		if res, _ := mustGet(t, c, home+"/slow/late.html"); res.StatusCode != 200 || time.Since(begin) < 50*time.Millisecond {
			t.Errorf("late.html: status %d after %v", res.StatusCode, time.Since(begin))
		}
		if _, _, err := get(t, c, home+"/slow/never.html"); err == nil {
			t.Error("never.html answers")
		}
		req, _ := http.NewRequest("GET", home+"/slow/drip.html", nil)
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 4)
		begin = time.Now()
		if _, err := io.ReadFull(res.Body, buf); err != nil || time.Since(begin) < 100*time.Millisecond {
			t.Errorf("drip.html: 4 bytes after %v, error %v", time.Since(begin), err)
		}
		res.Body.Close()
		waitLogged(t, srv, 3)
		for _, r := range srv.Log() {
			if r.Aborted != (r.Path != "/slow/late.html") || (r.Status == 0) != (r.Path == "/slow/never.html") {
				t.Errorf("logged: %+v", r)
			}
		}
	})
}

// waitLogged waits until the log has n complete requests.
func waitLogged(t *testing.T, srv *Server, n int) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		ended := 0
		for _, r := range srv.Log() {
			if !r.End.IsZero() {
				ended++
			}
		}
		if ended >= n {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d requests have ended, want %d", ended, n)
		}
	}
}

func TestBombs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureBombs, FeatureEndless}}))
		if _, _, err := get(t, c, home+"/bomb/header.html"); err == nil {
			t.Error("header.html has no more than 64 KB of header")
		}
		for _, p := range []string{"/bomb/big.html", "/endless/body.html"} {
			if _, body, err := get(t, c, home+p); err != nil || len(body) != pageLimit {
				t.Errorf("%s: %d bytes, error %v, want more than the limit", p, len(body), err)
			}
		}
		res, packed := mustGet(t, c, home+"/bomb/gzip.html", "Accept-Encoding", "gzip")
		if res.Header.Get("Content-Encoding") != "gzip" || len(packed) > 200<<10 {
			t.Errorf("gzip.html: %d bytes as %q", len(packed), res.Header.Get("Content-Encoding"))
		}
		if n := len(gunzip(t, packed)); n < 16<<20 {
			t.Errorf("gzip.html: %d bytes unpacked, want 16 MiB", n)
		}
		waitLogged(t, srv, 4)
		for _, r := range srv.Log() {
			// the last part of big.html may fit into the buffers
			if r.Path != "/bomb/big.html" && r.Aborted != (r.Path != "/bomb/gzip.html") {
				t.Errorf("%s: aborted is %v", r.Path, r.Aborted)
			}
		}
		req, _ := http.NewRequest("GET", home+"/bomb/big.html", nil)
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if n, err := io.Copy(io.Discard, res.Body); err != nil || n != res.ContentLength || n <= pageLimit {
			t.Errorf("big.html: %d bytes of %d, error %v", n, res.ContentLength, err)
		}
	})
}

func TestTraps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureTrapPath, FeatureTrapCalendar}}))
		for path, inside := range map[string]bool{
			"/trap/": false, "/calendar/": false, "/": false, "/trap/c/": false, "/trap/a//": false, "/trap/a": false,
			"/calendar/day?date=2026-13-01&view=week": false, "/calendar/day?date=2026-03-01": false,
			"/trap/a/": true, "/trap/a/b/a/a/": true, "/calendar/day?date=2031-03-01&view=month": true,
		} {
			res, body := mustGet(t, c, home+path)
			if got := srv.Trap(home + path); got != inside {
				t.Errorf("Trap(%s) = %v", path, got)
			}
			if inside && (res.StatusCode != 200 || !strings.Contains(body, "<a href")) {
				t.Errorf("%s: status %d, body %q", path, res.StatusCode, body)
			}
		}
		if n := len(srv.Expect("curtsy")); n != 7 {
			t.Errorf("%d URLs expected, want the 5 pages and 2 entries", n)
		}
	})
}

func TestManyLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := start(t, one(Behavior{Features: []Feature{FeatureManyLinks}}))
		_, body := mustGet(t, c, home+"/many/")
		if n := strings.Count(body, "<a href="); n != 50_000 {
			t.Errorf("%d links", n)
		}
		if n := strings.Count(body[:strings.Index(body, "behind-0")], "<a href="); n != 10_001 {
			t.Errorf("%d links up to the first one behind the limit", n)
		}
	})
}

func TestHostilePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Behavior{Features: []Feature{FeatureHostile}}))
		want := srv.Expect("curtsy")
		longest, tooLong, inner := 0, 0, 0
		for u, e := range want {
			switch e.Reason {
			case ReasonTooLong:
				tooLong++
			case ReasonAddress:
				inner++
			default:
				longest = max(longest, len(u))
			}
		}
		if longest != 2048 || tooLong != 1 || inner != 10 {
			t.Errorf("longest URL %d, too long %d, inner addresses %d, want 2048, 1, 10", longest, tooLong, inner)
		}
		for _, p := range []string{"nested", "attributes", "nul", "unclosed", "entities"} {
			if res, body := mustGet(t, c, home+"/hostile/"+p+".html"); res.StatusCode != 200 || !strings.Contains(body, "/hostile/found.html") {
				t.Errorf("%s: status %d", p, res.StatusCode)
			}
		}
	})
}

func TestDatasets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, one(Everything()))
		if _, body := mustGet(t, c, home+"/data.txt"); !strings.Contains(body, "- path: data/iris.csv\n") {
			t.Errorf("/data.txt is\n%s", body)
		}
		if _, body := mustGet(t, c, home+"/survey/data.txt"); !strings.Contains(body, "Allow: /survey/data/harvest.csv\nName: harvest\n") {
			t.Errorf("/survey/data.txt is\n%s", body)
		}
		if list := srv.Datasets(); len(list) != 4 {
			t.Errorf("%d datasets, want 4", len(list))
		}
		for _, d := range srv.Datasets() {
			res, whole := mustGet(t, c, d.URL)
			sum := sha256.Sum256([]byte(whole))
			if hex.EncodeToString(sum[:]) != d.SHA256 || len(whole) != d.Bytes || strings.Count(whole, "\n") != d.Rows+1 {
				t.Errorf("%s is not as described", d.URL)
			}
			tag := res.Header.Get("ETag")
			res, part := mustGet(t, c, d.URL, "Range", "bytes=10-19", "If-Range", tag)
			if res.StatusCode != 206 || part != whole[10:20] || !strings.HasPrefix(res.Header.Get("Content-Range"), "bytes 10-19/") {
				t.Errorf("%s, bytes 10 to 19: status %d, %q, %q", d.URL, res.StatusCode, part, res.Header.Get("Content-Range"))
			}
			if _, part = mustGet(t, c, d.URL, "Range", "bytes=50-"); part != whole[50:] {
				t.Errorf("%s from byte 50: %q", d.URL, part)
			}
			if _, part = mustGet(t, c, d.URL, "Range", "bytes=-7"); part != whole[len(whole)-7:] {
				t.Errorf("%s, last 7: %q", d.URL, part)
			}
			if res, _ = mustGet(t, c, d.URL, "Range", "bytes=10-19", "If-Range", `"old"`); res.StatusCode != 200 {
				t.Errorf("%s, changed since: status %d", d.URL, res.StatusCode)
			}
			if res, _ = mustGet(t, c, d.URL, "Range", "bytes=99999999-"); res.StatusCode != 416 {
				t.Errorf("%s, range past the end: status %d", d.URL, res.StatusCode)
			}
			if res, _ = mustGet(t, c, d.URL, "If-None-Match", tag); res.StatusCode != 304 {
				t.Errorf("%s, unchanged: status %d", d.URL, res.StatusCode)
			}
		}
		_, robots := mustGet(t, c, home+"/robots.txt")
		for _, line := range []string{"Host: h0000.sim.test", "Crawl-delay: 0.05", "Mobile-agent-server: / none", "Sitemap: "} {
			if !strings.Contains(robots, "\n"+line) {
				t.Errorf("no %q in robots.txt:\n%s", line, robots)
			}
		}
	})
}

func TestDropReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, c := start(t, Config{Hosts: 1, PagesPerHost: 5, Behaviors: map[int]Behavior{0: {DropReused: true}}})
		fetch := func(path string) error {
			// net/http does not repeat a request with a body
			req, _ := http.NewRequest("GET", home+path, io.NopCloser(strings.NewReader("")))
			res, err := c.Do(req)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, res.Body)
			return errors.Join(err, res.Body.Close())
		}
		if err := fetch("/"); err != nil {
			t.Errorf("the first request of a connection: %v", err)
		}
		if err := fetch("/notes/p1.html"); err == nil {
			t.Error("a reused connection was answered")
		}
		if err := fetch("/notes/p1.html"); err != nil {
			t.Errorf("on a fresh connection: %v", err)
		}
		if err := fetch("/notes/p1.html"); err != nil {
			t.Errorf("on a reused connection the second time: %v", err)
		}
		if log := srv.Log(); len(log) != 4 || log[1].Status != 0 || log[1].Aborted {
			t.Errorf("logged: %+v", log)
		}
	})
}
