package indexer

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

func aliasOf(u string, visit uint64, of string) crawl.Page {
	return crawl.Page{Kind: crawl.KindAlias, URL: canon.URL(u), AliasOf: canon.URL(of), Visit: crawl.VisitID{Epoch: 1, N: visit}}
}

// atOnce kills at the nth time of a step, whichever indexer reaches it.
func atOnce(step string, nth int64) func(string) error {
	var n atomic.Int64
	return func(s string) error {
		if s != step || n.Add(1) != nth {
			return nil
		}
		return errKilled
	}
}

// pairsOf returns mirrors and their main hosts, some pairs in one shard and some in two.
func pairsOf(shards int) (all [][2]string) {
	for i := 0; len(all) < 4; i++ {
		x, m := fmt.Sprintf("x%d.example", i), fmt.Sprintf("m%d.example", i)
		same := crawl.ShardOf(canon.Host(x), shards) == crawl.ShardOf(canon.Host(m), shards)
		if same == (len(all) == 0) {
			all = append(all, [2]string{"https://" + x + "/", "https://" + m + "/"})
		}
	}
	return all
}

// A merge becomes known after pages were stored. Everything arrives in any order and twice, and an
// indexer is killed while it notifies others. Each page is stored once, under its main host, and
// found there with its other address.
func TestAliasesAcrossShards(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const shards, each = 4, 5
		for seed := range int64(3) {
			w := newWorld(t, shards)
			rng := rand.New(rand.NewSource(seed))
			pairs := pairsOf(shards)
			var batch []crawl.Page
			for _, p := range pairs {
				for i := range each {
					x, m := fmt.Sprint(p[0], i), fmt.Sprint(p[1], i)
					batch = append(batch, page(x, 1, fmt.Sprint("<p>gibbon ", x)), aliasOf(x, 2, m), page(m, 1, fmt.Sprint("<p>gibbon ", m)))
				}
			}
			batch = append(batch, batch...)
			rng.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
			a := w.peer("one", "", Options{Search: true}, atOnce("posted", 1+seed))
			for _, p := range batch {
				w.hand(p)
			}
			<-a.killed
			a.ended()
			a = w.peer("one", a.dir, Options{Search: true}, nil)
			w.holders(shards, a)
			if st := w.settled(a.Indexer); st.Pages != int64(len(pairs)*each) {
				t.Errorf("%d pages counted", st.Pages)
			}
			listed := asked[crawl.PageInfo](w, "pages", nil)
			for _, info := range listed {
				want := strings.Replace(info.URL, "//m", "//x", 1)
				if !strings.HasPrefix(info.URL, "https://m") || !slices.Equal(info.Aliases, []string{want}) {
					t.Errorf("%s listed, with %q", info.URL, info.Aliases)
				}
			}
			if len(listed) != len(pairs)*each {
				t.Errorf("%d pages listed", len(listed))
			}
			hits := searched(w, "gibbon").Hits
			for _, h := range hits {
				if len(h.Also) != 1 || h.Also[0] != strings.Replace(h.URL, "//m", "//x", 1) || h.Snippet == nil {
					t.Errorf("hit %+v", h)
				}
			}
			if len(hits) != len(listed) {
				t.Errorf("%d hits for %d pages", len(hits), len(listed))
			}
			if n := len(asked[Record](w, "export", crawl.ExportQuery{What: "pages", Format: "jsonl"})); n != len(listed) {
				t.Errorf("%d records exported", n)
			}
			one := asked[Record](w, "page", questions.PageRequest{URL: pairs[1][0] + "3"})
			if len(one) != 1 || one[0].AliasOf != pairs[1][1]+"3" || one[0].HTML != "" {
				t.Errorf("page: %+v", one)
			}
			// The merge is undone: the aliases are fetched again, and the main page has no other
			// address.
			for i := range each {
				w.hand(aliasOf(fmt.Sprint(pairs[1][0], i), 3, ""))
			}
			w.hand(page(pairs[1][0]+"0", 4, "<p>own"))
			w.settled(a.Indexer)
			w.quiet(a.Indexer)
			for _, info := range asked[crawl.PageInfo](w, "pages", nil) {
				if dissolved := strings.HasPrefix(info.URL, pairs[1][1]) || info.URL == pairs[1][0]+"0"; dissolved != (len(info.Aliases) == 0) {
					t.Errorf("dissolved, and %s has %q", info.URL, info.Aliases)
				}
			}
			a.stop()
			r, err := OpenDir(a.dir)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			if err := questions.Pages.Each(t.Context(), stoppedCrawl(r), nil, func(crawl.PageInfo) error { n++; return nil }); err != nil || n != len(listed)+1 {
				t.Errorf("%d pages at rest, %v", n, err)
			}
			r.Close()
		}
	})
}

// quiet waits until no shard has a message to send or to receive.
func (w *world) quiet(x *Indexer) {
	w.t.Helper()
	still := 0
	eventually(w.t, "all told", func() bool {
		if st := x.Status(); st.Pending > 0 || st.Behind > 0 {
			still = 0
		} else {
			still++
		}
		return still > 5
	})
}

// The data.txt of the main host replaces that of a mirror while the merge lasts (formats §7),
// whatever the order of the reports.
func TestMirrorsDataTxt(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		x, _ := w.start(Options{Dir: t.TempDir(), Embedded: true})
		data := func(visit uint64, title string) crawl.Page {
			return crawl.Page{Kind: crawl.KindData, URL: "https://x.example/data.txt", Origin: canon.URL("https://x.example/").Origin(), Visit: crawl.VisitID{Epoch: 1, N: visit},
				FetchedAt: time.Now(), Fresh: time.Hour, Body: []byte("- path: a.csv\n  title: " + title + "\n")}
		}
		const m = "https://m.example/data.txt"
		for _, step := range []struct {
			hand []crawl.Page
			want string
		}{
			{[]crawl.Page{data(1, "one")}, "one"},
			{[]crawl.Page{aliasOf("https://x.example/data.txt", 5, m)}, ""},
			{[]crawl.Page{data(6, "two"), aliasOf("https://x.example/data.txt", 4, "")}, ""},
			{[]crawl.Page{aliasOf("https://x.example/data.txt", 7, ""), aliasOf("https://x.example/data.txt", 5, m)}, "two"},
		} {
			w.hand(step.hand...)
			w.settled(x)
			w.quiet(x)
			got := ""
			for _, c := range asked[crawl.DatasetClaim](w, "datasets", nil) {
				got += c.Title
			}
			if got != step.want {
				t.Errorf("after %v: %q, want %q", step.hand[0].Visit, got, step.want)
			}
		}
		if n := len(asked[crawl.PageInfo](w, "pages", nil)); n != 0 {
			t.Errorf("%d pages", n)
		}
	})
}

// A 304 for a page that is not stored reaches the frontier, also if an indexer is killed meanwhile.
// A 304 for a stored page renews it.
func TestRenewedPages(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		again := func(u string, visit uint64) crawl.Page {
			return crawl.Page{URL: canon.URL(u), Visit: crawl.VisitID{Epoch: 1, N: visit}, FetchedAt: time.Now().Add(time.Hour), Renewed: true}
		}
		tagged := again("https://a.example/tagged", 2)
		tagged.Tagged, tagged.Directives = true, crawl.NoIndex
		w.hand(page("https://a.example/held", 1, fmt.Sprintf(linked, "tapir")), page("https://a.example/tagged", 1, fmt.Sprintf(linked, "tapir two")))
		w.hand(again("https://a.example/held", 2), again("https://a.example/missing", 2), tagged)
		a := w.peer("one", "", Options{Search: true}, atOnce("posted", 1))
		<-a.killed
		a.ended()
		a = w.peer("one", a.dir, Options{Search: true}, nil)
		w.holders(1, a)
		if st := w.settled(a.Indexer); st.Pages != 1 {
			t.Errorf("%d pages", st.Pages)
		}
		missing := w.events(0, func(ev *crawl.Event) (all []string) {
			for _, u := range ev.Missing {
				all = append(all, fmt.Sprint(u.URL, " ", u.Visit))
			}
			return all
		})
		if got := slices.Compact(missing); !slices.Equal(got, []string{"https://a.example/missing 1-2"}) {
			t.Errorf("missing: %q", missing)
		}
		info := asked[crawl.PageInfo](w, "pages", nil)
		if len(info) != 1 || info[0].URL != "https://a.example/held" || time.Until(info[0].FetchedAt) < 30*time.Minute || info[0].Title == "" {
			t.Errorf("pages: %+v", info)
		}
		if slices.ContainsFunc(searched(w, "tagged").Hits, func(h crawl.Hit) bool { return strings.HasSuffix(h.URL, "tagged") }) {
			t.Error("found, although its noindex came in a tag")
		}
		if got := w.titles(); !slices.Equal(got, []string{"https://a.example/held: tapir"}) {
			t.Errorf("claims: %q", got)
		}
	})
}
