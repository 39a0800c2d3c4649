package fetcher

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/likeness"
	"github.com/curtsy/curtsy/pkg/canon"
)

const renewedPage = `<title>x</title><meta name=robots content="nosnippet"><link rel=canonical href="/other"><a href="/linked">l</a>`

// renewSite answers conditional requests according to RFC 9110, each path with its own
// peculiarities.
func renewSite(t testing.TB) (addr string, conns *atomic.Int64) {
	conns = new(atomic.Int64)
	seen := make(map[string]bool)
	return origin(t, func(w http.ResponseWriter, r *http.Request) {
		if !seen[r.RemoteAddr] { // one request at a time
			seen[r.RemoteAddr] = true
			conns.Add(1)
		}
		h := w.Header()
		h.Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/etag":
			h["Etag"] = []string{`W/"1"`}
		case "/date":
			h.Set("Last-Modified", "Thu, 19 Nov 2026 10:00:00 GMT")
		case "/changed":
			h.Set("ETag", `"2"`)
		case "/long":
			h.Set("ETag", `"`+strings.Repeat("e", 256)+`"`)
			h.Set("Last-Modified", strings.Repeat("x", 65))
		case "/tagged":
			h.Set("X-Robots-Tag", "noarchive")
		case "/noindex":
			h.Set("X-Robots-Tag", "noindex")
		case "/unasked":
			w.WriteHeader(304)
			return
		}
		if r.Header.Get("If-None-Match") != "" && r.Header.Get("If-None-Match") != `"1"` && r.URL.Path != "/etag" {
			t.Errorf("If-None-Match %q", r.Header["If-None-Match"])
		}
		match := r.Header.Get("If-None-Match") == `"1"` && r.URL.Path != "/changed" || r.Header.Get("If-None-Match") == `W/"1"` ||
			r.Header.Get("If-Modified-Since") == "Thu, 19 Nov 2026 10:00:00 GMT"
		if match {
			h.Set("Content-Length", "18000") // of a body that is not sent, as some servers do
			w.WriteHeader(304)
			return
		}
		fmt.Fprint(w, renewedPage)
	}), conns
}

// What is published of a page the first time, so that it can be validated later.
func TestValidatorsAndDigest(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := renewSite(t)
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		out := d.outcome(d.grant(open(visitTo(t, "http://h.test/etag", "http://h.test/date", "http://h.test/long", "http://h.test/unasked"))))
		if got := classes(out); got != "stored stored stored failed/http-other" {
			t.Fatal(got)
		}
		sum := sha256.Sum256([]byte(renewedPage))
		for i, want := range [][2]string{{`W/"1"`, ""}, {"", "Thu, 19 Nov 2026 10:00:00 GMT"}, {"", ""}} {
			r := out.Results[i]
			if r.Digest != binary.BigEndian.Uint64(sum[:]) || r.ETag != want[0] || r.LastModified != want[1] || r.NotModified {
				t.Errorf("%+v", r)
			}
			p := d.pageOf(r.URL)
			if p.SHA256 != sum || p.Canonical != "http://h.test/other" || p.MetaDirectives != crawl.NoSnippet || p.Directives != crawl.NoSnippet || p.Renewed {
				t.Errorf("%+v", p)
			}
		}
	})
}

func TestNotModified(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, conns := renewSite(t)
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := open(visitTo(t, "http://h.test/etag", "http://h.test/date", "http://h.test/changed", "http://h.test/tagged", "http://h.test/noindex", "http://h.test/plain"))
		for i := range v.URLs {
			v.URLs[i].ETag, v.URLs[i].Keep = `"1"`, true
		}
		v.URLs[0].ETag = `W/"1"`
		v.URLs[1].ETag, v.URLs[1].LastModified = "", "Thu, 19 Nov 2026 10:00:00 GMT"
		out := d.outcome(d.grant(v))
		if got := classes(out); got != "stored stored stored stored refused/noindex stored" {
			t.Fatal(got)
		}
		if out.Requests != 6 || out.Bytes != int64(len(renewedPage)) || conns.Load() != 1 {
			t.Errorf("%d requests on %d connections, %d bytes", out.Requests, conns.Load(), out.Bytes)
		}
		for i, want := range []struct {
			not, tagged  bool
			bits         crawl.DirectiveBits
			etag, change string
		}{
			{true, false, 0, `W/"1"`, ""}, {true, false, 0, "", "Thu, 19 Nov 2026 10:00:00 GMT"}, {false, false, crawl.NoSnippet, `"2"`, ""},
			{true, true, crawl.NoArchive, `"1"`, ""}, {false, false, crawl.NoIndex, "", ""}, {true, false, 0, `"1"`, ""},
		} {
			r := out.Results[i]
			if r.NotModified != want.not || r.ETag != want.etag || r.LastModified != want.change || (r.Digest != 0) != (i == 2) || r.Bytes > 0 && want.not {
				t.Errorf("%+v", r)
			}
			p := d.pageOf(r.URL)
			if p.Renewed != want.not || p.Tagged != want.tagged || p.Directives != want.bits || (len(p.Body) > 0) != (i == 2) || p.Deleted != "" || p.Visit.IsZero() {
				t.Errorf("%+v", p)
			}
		}
		if l := d.links()["http://h.test/linked"]; l.FoundOn != "http://h.test/changed" {
			t.Errorf("links %+v", d.links())
		}
	})
}

// A page that does not exist any more is only removed at the second attempt.
func TestGoneTwice(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := slowSite(t, 0)
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := open(visitTo(t, "http://h.test/first", "http://h.test/second"))
		v.URLs[0].Keep = true
		out := d.outcome(d.grant(v))
		if got := classes(out); got != "failed/http-4xx failed/http-4xx" || !out.Results[0].Kept || out.Results[1].Kept {
			t.Fatalf("%s: %+v", got, out.Results)
		}
		d.pageOf("http://h.test/second")
		d.mu.Lock()
		defer d.mu.Unlock()
		forgotten := make(map[canon.URL]crawl.Reason)
		for _, p := range d.pages {
			forgotten[p.URL] = p.Deleted
		}
		if len(forgotten) != 1 || forgotten["http://h.test/second"] != crawl.ReasonHTTP4xx {
			t.Errorf("%v", forgotten)
		}
	})
}

// A URL that is forgotten during a visit is not requested any more.
func TestForgotten(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var n atomic.Int64
		asked := make(chan string, 20)
		release := make(chan struct{})
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Host + r.URL.Path
			if n.Add(1) == 1 {
				<-release
			}
			http.NotFound(w, r)
		})
		d := newDesk(t, 1)
		spec := testSpec(1, addr)
		f, _ := startFetcher(t, d, spec, Options{})
		other := visitTo(t, "http://gone.test/x")
		other.Aux = []crawl.AuxRequest{
			{Kind: crawl.AuxRobots, URL: "http://gone.test/r", Origin: originH, Hop: 1},
			{Kind: crawl.AuxData, URL: "http://gone.test/data.txt", Origin: originH, Hop: 1},
		}
		id := d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/private/x", "http://h.test/b")))
		<-asked
		spec.Forgotten = []string{"gone.test", "http://h.test/private/"}
		if err := f.SetSpec(spec); err != nil {
			t.Fatal(err)
		}
		close(release)
		out := d.outcome(id)
		if got := classes(out); got != "failed/http-4xx refused/forgotten failed/http-4xx" || out.Requests != 2 {
			t.Errorf("%s after %d requests", got, out.Requests)
		}
		out = d.outcome(d.grant(other))
		if got := classes(out); got != "refused/forgotten" || out.Requests != 0 || len(out.Done) != 2 {
			t.Errorf("%s, %+v", got, out)
		}
		if len(d.facts()) != 0 {
			t.Errorf("facts of a host that nobody asked: %+v", d.facts())
		}
		for _, e := range d.events {
			for _, a := range e.Answers {
				if a.Aux.Kind == crawl.AuxRobots && a.Robots.State != crawl.RobotsUnreachable || a.Aux.Kind == crawl.AuxData && a.Probe.State == crawl.ProbeRead {
					t.Errorf("%+v", a)
				}
			}
		}
		// If a host is forgotten whose robots.txt is not known yet, not even that is requested, and
		// neither is its data.txt.
		v := visitTo(t, "http://gone.test/y")
		v.Robots = []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsUnavailable, Fresh: time.Hour, ProbeData: true}}
		if out = d.outcome(d.grant(v)); out.Requests != 0 {
			t.Errorf("%+v", out)
		}
		if n.Load() != 2 {
			t.Errorf("%d requests", n.Load())
		}
	})
}

// The likeness of a page is published if it was requested again. A clock in the page changes its
// digest, and hardly its likeness.
func TestLikenessOfWhatIsSentAgain(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var words strings.Builder
		for i := range 300 {
			fmt.Fprintf(&words, "word%d ", i*i%997)
		}
		var n atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<p>%s it is now %d<script>nonce(%d)</script>", &words, n.Add(1), n.Load())
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := open(visitTo(t, "http://h.test/1", "http://h.test/2", "http://h.test/3"))
		v.URLs[1].Keep, v.URLs[2].Keep = true, true
		got := d.outcome(d.grant(v)).Results
		if got[0].Likeness != 0 {
			t.Errorf("%+v: worked out for a page that is new", got[0])
		}
		if got[1].Digest == got[2].Digest || !likeness.Alike(got[1].Likeness, got[2].Likeness) {
			t.Errorf("%x and %x: want two pages that are alike", got[1].Likeness, got[2].Likeness)
		}
	})
}

// A stored page that redirects is removed at once if the redirect is permanent, and otherwise at
// the second attempt.
func TestHeldPageLeadsElsewhere(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			var status int
			fmt.Sscanf(r.URL.Path, "/%d", &status)
			to := "/mending"
			if strings.HasSuffix(r.URL.Path, "/self") {
				to = r.URL.Path
			}
			http.Redirect(w, r, to, status)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := open(visitTo(t, "http://h.test/301", "http://h.test/302", "http://h.test/307/self", "http://h.test/302/again"))
		for i := range 3 {
			v.URLs[i].Keep = true
		}
		out := d.outcome(d.grant(v))
		if got := classes(out); got != "redirected/redirect redirected/redirect refused/redirects redirected/redirect" {
			t.Fatal(got)
		}
		for i, kept := range []bool{false, true, true, false} {
			if out.Results[i].Kept != kept {
				t.Errorf("%s: kept %v", out.Results[i].URL, !kept)
			}
		}
		d.pageOf("http://h.test/302/again")
		d.mu.Lock()
		defer d.mu.Unlock()
		gone := make(map[canon.URL]bool)
		for _, p := range d.pages {
			gone[p.URL] = p.Deleted != ""
		}
		if len(gone) != 2 || !gone["http://h.test/301"] || !gone["http://h.test/302/again"] {
			t.Errorf("removed: %v", gone)
		}
	})
}

// A stored page that its robots.txt forbids now is not requested, and its copy is removed.
func TestHeldPageIsClosed(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr, _ := slowSite(t, 0)
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := visitTo(t, "http://h.test/closed")
		v.URLs[0].Keep, v.URLs[0].ETag = true, `"1"`
		v.Robots = []crawl.Robots{{Origin: originH, State: crawl.RobotsParsed, Fresh: time.Hour, Body: []byte("User-agent: *\nDisallow: /closed\n")}}
		out := d.outcome(d.grant(v))
		if got := classes(out); got != "refused/robots" || out.Requests != 0 || out.Results[0].Kept {
			t.Errorf("%s after %d requests: %+v", got, out.Requests, out.Results)
		}
		if p := d.pageOf("http://h.test/closed"); p.Deleted != crawl.ReasonRobots {
			t.Errorf("%+v: want it removed", p)
		}
	})
}

// If a part of a host is forgotten, the rest is requested by the rules of its robots.txt, whatever
// that part is called.
func TestForgottenPrefixLeavesRobots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		asked := make(chan string, 20)
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.Path
			http.NotFound(w, r)
		})
		d := newDesk(t, 1)
		spec := testSpec(1, addr)
		spec.Forgotten = []string{"http://h.test/r"}
		startFetcher(t, d, spec, Options{})
		out := d.outcome(d.grant(visitTo(t, "http://h.test/a", "http://h.test/rest")))
		if got := classes(out); got != "failed/http-4xx refused/forgotten" || out.Requests != 2 {
			t.Errorf("%s after %d requests", got, out.Requests)
		}
		if a, b := <-asked, <-asked; a != "/robots.txt" || b != "/a" {
			t.Errorf("asked for %s, then %s", a, b)
		}
	})
}
