package fetcher

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestLargePages(t *testing.T) {
	virtual(t, func(t *testing.T) {
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
	})
}

// Many large pages at the same time share the memory. None fails because it waited.
func TestManyLargePages(t *testing.T) {
	virtual(t, func(t *testing.T) {
		words := bytes.Repeat([]byte("words that compress well, "), 100_000)
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			for i := range 26 {
				w.Write(words[i*100_000 : (i+1)*100_000])
				time.Sleep(4 * time.Millisecond)
			}
		})
		d := newDesk(t, 1)
		f, stop := startFetcher(t, d, testSpec(1, addr), Options{RateWindow: 10 * time.Second, MinRate: 10_000})
		var ids []crawl.VisitID
		for i := range 30 {
			ids = append(ids, d.grant(open(visitTo(t, fmt.Sprintf("http://h%d.test/a", i), fmt.Sprintf("http://h%d.test/b", i)))))
		}
		whole := 0
		for _, id := range ids {
			switch out := d.outcome(id); classes(out) {
			case "stored stored":
				whole++
			default:
				t.Errorf("%s %+v", classes(out), out.Results)
			}
		}
		if whole < len(ids)/2 {
			t.Errorf("only %d of %d visits fetched both pages", whole, len(ids))
		}
		stop() // a visit returns its memory after its outcome was published
		if !f.client.MemoryUnused() {
			t.Error("some room was not given back")
		}
	})
}

// Few links of other shards are published with the outcome. Many are in their logs before it.
func TestLinksGoToTheirShards(t *testing.T) {
	t.Run("few", func(t *testing.T) {
		virtual(t, func(t *testing.T) { testLinksOfShards(t, "/p", true) })
	})
	t.Run("many", func(t *testing.T) {
		virtual(t, func(t *testing.T) { testLinksOfShards(t, "/"+strings.Repeat("long/", 60), false) })
	})
}

func testLinksOfShards(t *testing.T, path string, along bool) {
	addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 40 {
			fmt.Fprintf(w, `<a href="http://n%d.test%s">x</a><a href="http://outside.example/%d">x</a>`, i, path, i)
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
	deadline := time.Now().Add(ample)
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
				if want := crawl.ShardOf(u.Host(), shards); want != d.shards[i] && !(along && e.Forward && d.shards[i] == v.Shard) {
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
	for s := range shards {
		if want := s == v.Shard || !along; want != (events[s] == 1) || events[s] > 1 {
			t.Errorf("%d events for shard %d", events[s], s)
		}
	}
}

// firstAt is when the first message of a stream was stored.
func (d *desk) firstAt(stream string) time.Time {
	d.t.Helper()
	s, err := d.q.JS.Stream(d.t.Context(), stream)
	if err != nil {
		d.t.Fatal(err)
	}
	return s.CachedInfo().State.FirstTime
}

// A page with more links than fit into a message, and a visit with more results.
func TestSplitMessages(t *testing.T) {
	virtual(t, func(t *testing.T) {
		long := strings.Repeat("l", 1500)
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for i := range 600 {
				fmt.Fprintf(w, `<a href="/%s/%d">x</a><a href="http://o.test/%s/%d">x</a>`, long, i, long, i)
			}
		})
		const shards = 2
		d := newFarDesk(t, shards)
		startFetcher(t, d, testSpec(shards, addr), Options{})
		v := open(visitTo(t, "http://h.test/"))
		for i := range 600 {
			// Another host: returned.
			v.URLs = append(v.URLs, crawl.VisitURL{URL: mustURL(t, fmt.Sprintf("http://closed.h.test/%s%d", long, i))})
		}
		v.Shard = crawl.ShardOf("h.test", shards)
		out := d.outcome(d.grant(v))
		if len(out.Results) != 601 || out.Results[0].Class != crawl.Stored || out.Results[600].Class != crawl.Returned {
			t.Errorf("%d results", len(out.Results))
		}
		if n := len(d.links()); n != 1200 {
			t.Errorf("%d links", n)
		}
		// The page was stored before the first of its links was published.
		d.pageOf("http://h.test/")
		links := d.firstAt(d.name.EventsStream(crawl.ShardOf("o.test", shards)))
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.paged.Before(links) {
			t.Errorf("links in the log at %v, the page they are on in its stream at %v", links, d.paged)
		}
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
	})
}

// Pages are in their stream before the links on them are in any log, and those before the outcome,
// if they do not fit into one message with it.
func TestPublishingOrder(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const shards = 2
		other := "o.test"
		for crawl.ShardOf(canon.Host(other), shards) == crawl.ShardOf("h.test", shards) {
			other = "o" + other
		}
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="http://`+other+`/`, strings.Repeat("a", 2000), `">x</a>`, `<a href="http://`+other+`/`, strings.Repeat("b", 2000), `">x</a>`,
				strings.Repeat("text ", 1000))
		})
		d := newFarDesk(t, shards)
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
	})
}
