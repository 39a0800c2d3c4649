package fetcher

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// open is a robots.txt state that lets a visit begin with pages.
func open(v crawl.Visit) crawl.Visit {
	for _, u := range v.URLs {
		v.Robots = append(v.Robots, crawl.Robots{Origin: u.URL.Origin(), State: crawl.RobotsUnavailable, Fresh: time.Hour})
	}
	return v
}

func classes(out crawl.Outcome) string {
	var s []string
	for _, r := range out.Results {
		c := r.Class.String()
		if r.Reason != "" {
			c += "/" + string(r.Reason)
		}
		s = append(s, c)
	}
	return strings.Join(s, " ")
}

func TestOverloadEndsTheVisit(t *testing.T) {
	var n atomic.Int64
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		switch r.URL.Path {
		case "/429":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
		case "/503":
			w.Header().Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
		default:
			w.WriteHeader(404)
		}
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	out := d.outcome(d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/429", "http://h.test/b", "http://h.test/c"))))
	if got := classes(out); got != "failed/http-4xx retry/overload returned returned" || n.Load() != 2 ||
		out.RetryAfter != 2*time.Minute || out.Overloads != 1 || out.Requests != 2 {
		t.Errorf("%s, %d requests, %+v", got, n.Load(), out)
	}
	out = d.outcome(d.grant(open(visitTo(t, "http://h.test/503", "http://h.test/b"))))
	if out.RetryAfter < 58*time.Second || out.RetryAfter > time.Minute || classes(out) != "retry/overload returned" {
		t.Errorf("%s %+v", classes(out), out)
	}
}

func TestSilenceEndsTheVisit(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	addr := l.Addr().String()
	l.Close()
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	out := d.outcome(d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/b", "http://h.test/c", "http://h.test/d"))))
	if classes(out) != "retry/connect retry/connect returned returned" || out.Timeouts != 2 || out.Requests != 2 || !out.Private {
		t.Errorf("%s %+v", classes(out), out)
	}
}

// Timeouts double the delay for the rest of the visit.
func TestBackOffWithinAVisit(t *testing.T) {
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(300 * time.Millisecond)
		}
		w.WriteHeader(404)
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{FirstByte: 100 * time.Millisecond})
	v := open(visitTo(t, "http://h.test/slow", "http://h.test/b"))
	v.Delay = 70 * time.Millisecond
	out := d.outcome(d.grant(v))
	if classes(out) != "retry/timeout failed/http-4xx" || out.Delay != 200*time.Millisecond || out.Timeouts != 1 {
		t.Errorf("%s %+v", classes(out), out)
	}
}

func TestTypesAndTags(t *testing.T) {
	const link = `<a href="/linked">x</a>`
	page := func(header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			for _, h := range strings.Split(header, "|") {
				if k, v, ok := strings.Cut(h, ": "); ok {
					w.Header().Add(k, v)
				}
			}
			io.WriteString(w, body)
		}
	}
	const html = "Content-Type: text/html"
	for _, tt := range []struct {
		name   string
		f      http.HandlerFunc
		want   string
		linked bool
		bits   crawl.DirectiveBits
	}{
		{"html", page(html, link), "stored", true, 0},
		{"xhtml", page("Content-Type: application/xhtml+xml; charset=utf-8", link), "stored", true, 0},
		{"plain", page("Content-Type: text/plain", link), "stored", false, 0},
		{"sniffed html", page("", "<!doctype html>"+link), "stored", true, 0},
		{"sniffed text", page("", "just words"), "stored", false, 0},
		{"sniffed png", page("", "\x89PNG\x0D\x0A\x1A\x0A"+strings.Repeat("x", 1000)), "refused/type", false, 0},
		{"pdf", page("Content-Type: application/pdf", "%PDF-1.4"), "refused/type", false, 0},
		{"xml", page("Content-Type: text/xml", "<a/>"), "refused/type", false, 0},
		{"unusable type", page("Content-Type: nonsense", link), "refused/type", false, 0},
		{"noindex header", page(html+"|X-Robots-Tag: noindex", link), "refused/noindex", true, crawl.NoIndex},
		{"noindex meta", page(html, `<meta name="robots" content="NoIndex">`+link), "refused/noindex", true, crawl.NoIndex},
		{"noindex for us", page(html+"|Robots-Tag: curtsy=noindex", link), "refused/noindex", true, crawl.NoIndex},
		{"noindex for another", page(html+"|Robots-Tag: other=noindex", link), "stored", true, 0},
		{"noindex too late", page(html, `<body>x<meta name="robots" content="noindex">`+link), "stored", true, 0},
		{"none", page(html+"|Robots-Tag: none", link), "refused/noindex", false, crawl.NoIndex | crawl.NoFollow},
		{"nofollow", page(html, `<meta name=curtsy content=nofollow>`+link), "stored", false, crawl.NoFollow},
		{"nosnippet", page(html+"|Robots-Tag: nosnippet, noarchive", link), "stored", true, crawl.NoSnippet | crawl.NoArchive},
		{"over", page(html+"|Robots-Tag: unavailable_after: 2020-01-01", link), "refused/noindex", true, crawl.NoIndex},
		{"not yet over", page(html+"|Robots-Tag: unavailable_after: 2120-01-01", link), "stored", true, 0},
		{"noindex text", page("Content-Type: text/plain|X-Robots-Tag: noindex", "words"), "refused/noindex", false, crawl.NoIndex},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr := origin(t, tt.f)
			d := newDesk(t, 1)
			startFetcher(t, d, testSpec(1, addr), Options{})
			out := d.outcome(d.grant(open(visitTo(t, "http://h.test/"))))
			if got := classes(out); got != tt.want {
				t.Errorf("%s (%s), want %s", got, out.Results[0].Rule, tt.want)
			}
			if _, ok := d.links()["http://h.test/linked"]; ok != tt.linked {
				t.Errorf("followed: %v", ok)
			}
			p := d.pageOf("http://h.test/")
			noBody := tt.want != "stored"
			if p.Directives != tt.bits || noBody != (len(p.Body) == 0) || noBody != (p.SHA256 == [32]byte{}) {
				t.Errorf("page %+v", p)
			}
			if tt.want == "refused/type" != (p.Deleted == crawl.ReasonType) {
				t.Errorf("deleted: %q", p.Deleted)
			}
			if out.Results[0].NoSnippet != (tt.bits&crawl.NoSnippet != 0) {
				t.Errorf("%+v", out.Results[0])
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	cases := []struct {
		status   int
		location string
		hops     int
		want     string
		link     string
	}{
		{301, "/to", 0, "redirected/redirect", "http://h.test/to"},
		{302, "http://other.test/x", 9, "redirected/redirect", "http://other.test/x"},
		{303, "to?a=b#c", 0, "redirected/redirect", "http://h.test/dir/to?a=b"},
		{307, "//other.test", 0, "redirected/redirect", "http://other.test/"},
		{308, "/to", 10, "refused/redirects", ""},
		{301, "/dir/x", 0, "refused/redirects", ""},
		{301, "", 0, "failed/location", ""},
		{302, "mailto:a@b", 0, "failed/location", ""},
		{302, "http://", 0, "failed/location", ""},
		{304, "", 0, "failed/http-other", ""},
		{206, "", 0, "failed/http-other", ""},
		{400, "", 0, "failed/http-4xx", ""},
		{404, "", 0, "failed/http-4xx", ""},
		{451, "", 0, "failed/http-4xx", ""},
		{500, "", 0, "retry/http-5xx", ""},
		{502, "", 0, "retry/http-5xx", ""},
		{600, "", 0, "failed/http-other", ""},
		{999, "", 0, "failed/http-other", ""},
	}
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		var i int
		fmt.Sscanf(r.Host, "h%d.test", &i)
		if cases[i].location != "" {
			w.Header().Set("Location", strings.ReplaceAll(cases[i].location, "h.test", r.Host))
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(cases[i].status)
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	for i, tt := range cases {
		u := fmt.Sprintf("http://h%d.test/dir/x", i)
		v := open(visitTo(t, u))
		v.URLs[0].Hops, v.URLs[0].Depth = tt.hops, 3
		out := d.outcome(d.grant(v))
		var links []crawl.Links
		for _, l := range d.links() {
			if string(l.FoundOn) == u {
				links = append(links, l)
			}
		}
		if got := classes(out); got != tt.want || (len(links) == 1) != (tt.link != "") || out.Results[0].Status != tt.status {
			t.Errorf("%d %s: %s, links %v", tt.status, tt.location, got, links)
		}
		if len(links) == 1 {
			want := canon.URL(strings.ReplaceAll(tt.link, "h.test", fmt.Sprintf("h%d.test", i)))
			if l := links[0]; l.Depth != 3 || l.Hops != tt.hops+1 || l.URLs[0] != want || out.Results[0].Location != string(want) {
				t.Errorf("%d %s: link %+v, result %+v", tt.status, tt.location, l, out.Results[0])
			}
		}
	}
}

// After an answer cut short by us the origin gets its 25 ms, even with no delay at all.
func TestRestAfterAbandoning(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		if r.URL.Path == "/zip" {
			w.Header().Set("Content-Type", "application/zip")
			w.Write(make([]byte, 1<<20))
		}
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	out := d.outcome(d.grant(open(visitTo(t, "http://h.test/zip", "http://h.test/a", "http://h.test/zip"))))
	if out.SinceEnd < afterAbandon {
		t.Errorf("the outcome was sent %v after the connection was closed", out.SinceEnd)
	}
	if gap := at[1].Sub(at[0]); gap < afterAbandon {
		t.Errorf("gap %v", gap)
	}
	if out.Bytes > 1000 {
		t.Errorf("%d body bytes were read", out.Bytes)
	}
}

func TestLargePages(t *testing.T) {
	noise := make([]byte, 3<<20)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = 'a' + byte(r.IntN(64))
	}
	words := bytes.Repeat([]byte("words that compress well, "), 500_000) // over 10 MiB
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/noise" {
			w.Write(noise)
		} else {
			w.Write(words)
		}
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	out := d.outcome(d.grant(open(visitTo(t, "http://h.test/noise", "http://h.test/words"))))
	if classes(out) != "stored stored" {
		t.Fatal(classes(out))
	}
	for u, full := range map[canon.URL][]byte{"http://h.test/noise": noise, "http://h.test/words": words} {
		p := d.pageOf(u)
		body := unpack(t, p)
		if !p.Truncated || !bytes.HasPrefix(full, body) || int64(len(body)) != p.Size || p.SHA256 != sha256.Sum256(body) {
			t.Errorf("%s: %d bytes, page says %d, truncated %v", u, len(body), p.Size, p.Truncated)
		}
		if u == "http://h.test/words" && len(body) != 10<<20 || len(body) < 800<<10 {
			t.Errorf("%s: only %d bytes kept", u, len(body))
		}
	}
}

func TestLinksGoToTheirShards(t *testing.T) {
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 40 {
			fmt.Fprintf(w, `<a href="http://n%d.test/p">x</a><a href="http://outside.example/%d">x</a>`, i, i)
		}
		fmt.Fprint(w, `<a href="/own">x</a>`)
	})
	const shards = 5
	d := newDesk(t, shards)
	spec := testSpec(shards, addr)
	spec.Scope, spec.Exclude = "any", []string{`^http://outside\.example/`}
	startFetcher(t, d, spec, Options{})
	v := open(visitTo(t, "http://h.test/deep", "http://h.test/shallow", "http://h.test/shallow2"))
	v.URLs[0].Depth, v.URLs[1].Depth, v.URLs[2].Depth = 4, 1, 1
	v.Shard = crawl.ShardOf("h.test", shards)
	id := d.grant(v)
	d.outcome(id)
	deadline := time.Now().Add(5 * time.Second)
	for len(d.links()) < 41 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	offered := make(map[canon.URL][]int) // depths
	events := make(map[int]int)
	for i, e := range d.events {
		events[d.shards[i]]++
		for _, l := range e.Links {
			for _, u := range l.URLs {
				if want := crawl.ShardOf(u.Host(), shards); want != d.shards[i] {
					t.Errorf("%s in the log of shard %d, belongs to %d", u, d.shards[i], want)
				}
				offered[u] = append(offered[u], l.Depth)
			}
		}
	}
	if len(offered) != 41 {
		t.Errorf("%d links", len(offered))
	}
	for u, depths := range offered {
		if len(depths) != 2 || depths[0] != 5 || depths[1] != 2 {
			t.Errorf("%s was offered at depths %v, want 5, then 2, and not again", u, depths)
		}
	}
	for s, n := range events {
		if n != 1 {
			t.Errorf("%d events for shard %d", n, s)
		}
	}
}

// A page with more links than a message holds, and a visit with more results.
func TestSplitMessages(t *testing.T) {
	long := strings.Repeat("l", 1500)
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 2000 {
			fmt.Fprintf(w, `<a href="/%s/%d">x</a><a href="http://o.test/%s/%d">x</a>`, long, i, long, i)
		}
	})
	const shards = 2
	d := newDesk(t, shards)
	startFetcher(t, d, testSpec(shards, addr), Options{})
	v := open(visitTo(t, "http://h.test/"))
	for i := range 600 {
		v.URLs = append(v.URLs, crawl.VisitURL{URL: mustURL(t, fmt.Sprintf("http://closed.h.test/%s%d", long, i))}) // another host: returned
	}
	v.Shard = crawl.ShardOf("h.test", shards)
	out := d.outcome(d.grant(v))
	if len(out.Results) != 601 || out.Results[0].Class != crawl.Stored || out.Results[600].Class != crawl.Returned {
		t.Errorf("%d results", len(out.Results))
	}
	if n := len(d.links()); n != 4000 {
		t.Errorf("%d links", n)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	parts := 0
	for _, e := range d.events {
		if e.Outcome != nil {
			parts++
		}
		if n := len(crawl.AppendEvent(nil, &e)); n > crawl.MaxEventBytes+4096 {
			t.Errorf("an event of %d bytes", n)
		}
	}
	if parts < 2 || len(d.events) < 12 {
		t.Errorf("%d parts of the outcome, %d events", parts, len(d.events))
	}
}

func TestSplitLinks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var links []crawl.Links
		want := 0
		for range r.IntN(20) {
			l := crawl.Links{FoundOn: canon.URL(strings.Repeat("f", r.IntN(100)))}
			for range r.IntN(50) {
				l.URLs = append(l.URLs, canon.URL(fmt.Sprint(want, strings.Repeat("u", r.IntN(300)))))
				want++
			}
			links = append(links, l)
		}
		limit, got := 500+r.IntN(5000), 0
		splitLinks(links, limit, func(part []crawl.Links) bool {
			if n := len(crawl.AppendEvent(nil, &crawl.Event{Links: part})); n > limit+500 {
				t.Errorf("a part of %d bytes, limit %d", n, limit)
			}
			for _, l := range part {
				for _, u := range l.URLs {
					if !strings.HasPrefix(string(u), fmt.Sprint(got)) {
						t.Fatalf("link %d is %s", got, u)
					}
					got++
				}
			}
			return true
		})
		if got != want {
			t.Fatalf("%d of %d links", got, want)
		}
	}
}

// Pages are in their stream before the links on them are in any log, and those before the outcome.
func TestPublishingOrder(t *testing.T) {
	const shards = 2
	other := "o.test"
	for crawl.ShardOf(canon.Host(other), shards) == crawl.ShardOf("h.test", shards) {
		other = "o" + other
	}
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="http://`+other+`/">x</a>`, strings.Repeat("text ", 1000))
	})
	d := newDesk(t, shards)
	startFetcher(t, d, testSpec(shards, addr), Options{})
	own := crawl.ShardOf("h.test", shards)
	for range 10 {
		v := open(visitTo(t, "http://h.test/a", "http://h.test/b"))
		v.Shard = own
		d.outcome(d.grant(v))
	}
	ctx := t.Context()
	logs, _ := d.q.JS.Stream(ctx, d.name.EventsStream(1-own))
	owns, _ := d.q.JS.Stream(ctx, d.name.EventsStream(own))
	pages, _ := d.q.JS.Stream(ctx, d.name.PagesStream())
	info, _ := pages.Info(ctx)
	if info.State.LastSeq != 10 {
		t.Errorf("%d page messages for 10 visits", info.State.LastSeq)
	}
	var before time.Time
	for i := range uint64(10) {
		other, err1 := logs.GetMsg(ctx, i+1)
		outcome, err2 := owns.GetMsg(ctx, i+1)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if !other.Time.After(before) || !outcome.Time.After(other.Time) {
			t.Errorf("visit %d: other shard's links at %v, outcome at %v", i, other.Time, outcome.Time)
		}
		before = outcome.Time
	}
}

// Two visits to a host at once are a frontier's mistake. No request is sent under the second.
func TestTwoVisitsAtOnce(t *testing.T) {
	var under, most atomic.Int64
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(30 * time.Millisecond)
		under.Add(-1)
	})
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	var ids []crawl.VisitID
	for range 4 {
		ids = append(ids, d.grant(open(visitTo(t, "http://h.test/a", "http://h.test/b", "http://h.test/c"))))
	}
	for _, id := range ids {
		d.outcome(id)
	}
	if most.Load() != 1 {
		t.Errorf("%d requests at once", most.Load())
	}
}

func TestNotBefore(t *testing.T) {
	var first atomic.Int64
	addr := origin(t, func(http.ResponseWriter, *http.Request) { first.CompareAndSwap(0, time.Now().UnixNano()) })
	d := newDesk(t, 1)
	startFetcher(t, d, testSpec(1, addr), Options{})
	v := open(visitTo(t, "http://h.test/a"))
	v.NotBefore = 200 * time.Millisecond
	start := time.Now()
	d.outcome(d.grant(v))
	if wait := time.Unix(0, first.Load()).Sub(start); wait < v.NotBefore {
		t.Errorf("first request after %v", wait)
	}
}
