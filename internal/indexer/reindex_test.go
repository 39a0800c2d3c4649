package indexer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

// found returns the answers of a running crawl to some queries, without the times of fetching.
func (w *world) found() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, q := range []string{"numbat", "word1 word2", "word3 -word4", `"word5 word6"`, "word7*", "site:h1.example", "title:h2", "wordd8", "word9 nowhere", "lang:en word1"} {
		a, err := asker.Running(w.q, nil, w.spec).Search(w.t.Context(), crawl.SearchRequest{Query: q, Limit: 100})
		if err != nil {
			w.t.Fatal(err)
		}
		a.Behind = 0
		for i := range a.Hits {
			a.Hits[i].FetchedAt = time.Time{}
		}
		all[q] = asJSON(a)
	}
	return all
}

func (w *world) sameAs(when string, want map[string]string) {
	w.t.Helper()
	for q, got := range w.found() {
		if got != want[q] {
			w.t.Errorf("%s, %q:\n got %s\nwant %s", when, q, got, want[q])
		}
	}
}

// wordy publishes n pages that have words of their own.
func (w *world) wordy(host string, n int) {
	w.t.Helper()
	var all []crawl.Page
	for i := range n {
		var body strings.Builder
		for j := range 30 {
			fmt.Fprintf(&body, "word%d ", (i*i+j*(i%7+1))%40)
		}
		all = append(all, page(fmt.Sprintf("https://%s/%d", host, i), 1, body.String()))
	}
	w.hand(all...)
}

// reindex makes the indexer build its indexes again.
func (w *world) reindex(x *Indexer, mark string) {
	w.t.Helper()
	w.spec.Reindex = mark
	if err := x.SetSpec(w.spec); err != nil {
		w.t.Fatal(err)
	}
}

func reindexed(x *Indexer, mark string) bool {
	st := x.Status()
	for _, b := range st.Indexes {
		if b.Mark != mark {
			return false
		}
	}
	return len(st.Shards) > 0 && len(st.Indexes) == len(st.Shards)
}

// While a crawl continues to store pages, the indexes are built again and give the same answers.
func TestReindexBesideACrawl(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w, dir := newWorld(t, 3), t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true})
		for i := range 4 {
			w.wordy(fmt.Sprintf("h%d.example", i), 40)
		}
		w.settled(x)
		want := w.found()
		w.reindex(x, "1")
		if st := x.Status(); st.Pending == 0 && !reindexed(x, "1") {
			t.Error("the crawl could be taken for done while indexes are built")
		}
		eventually(t, "built anew", func() bool { return reindexed(x, "1") })
		w.sameAs("built anew", want)

		// Pages arrive meanwhile.
		w.reindex(x, "2")
		for i := range 10 {
			w.wordy(fmt.Sprintf("more%d.example", i), 5)
		}
		eventually(t, "built anew beside the crawl", func() bool { return reindexed(x, "2") })
		w.settled(x)
		want = w.found()
		stop()
		if err := Reindex(t.Context(), dir, &crawl.Spec{SearchSettings: crawl.SearchSettings{Reindex: "2"}}, nil, nil); err != nil {
			t.Fatal(err)
		}
		x, _ = w.start(Options{Dir: dir, Search: true, Embedded: true})
		w.settled(x)
		w.sameAs("compared to one made at rest", want)
		if !reindexed(x, "2") {
			t.Error("what was built at rest is built again")
		}
	})
}

// An indexer that ends in the middle answers from the old index, and continues when it is started
// again.
func TestReindexGoesOn(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w, dir := newWorld(t, 2), t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true})
		w.wordy("h1.example", 30)
		w.wordy("h2.example", 30)
		w.settled(x)
		want := w.found()
		x.setFull(errors.New("no room")) // so it waits before its first batch
		w.reindex(x, "1")
		eventually(t, "begun", func() bool {
			left, err := filepath.Glob(filepath.Join(dir, "search-*.db.build"))
			return err == nil && len(left) == 1 // one after the other
		})
		w.sameAs("in the middle", want)
		if reindexed(x, "1") {
			t.Error("built anew without room for it")
		}
		stop()
		x, stop = w.start(Options{Dir: dir, Search: true, Embedded: true})
		w.settled(x) // holds both
		eventually(t, "gone on", func() bool { return reindexed(x, "1") })
		w.sameAs("gone on", want)
		stop()
		files, err := filepath.Glob(filepath.Join(dir, "search-*"))
		if err != nil || len(files) != 2 {
			t.Errorf("files %v, %v", files, err)
		}
	})
}

// An error is reported, and the work is tried again.
func TestReindexFails(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w, dir := newWorld(t, 1), t.TempDir()
		x, _ := w.start(Options{Dir: dir, Search: true, Embedded: true})
		w.wordy("h1.example", 30)
		w.settled(x)
		want := w.found()
		inTheWay := filepath.Join(dir, "search-0.db.new")
		if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.reindex(x, "1")
		eventually(t, "told", func() bool { return len(x.Status().Indexes) == 1 && x.Status().Indexes[0].Trouble != "" })
		w.sameAs("after a failure", want)
		if err := os.RemoveAll(inTheWay); err != nil {
			t.Fatal(err)
		}
		eventually(t, "tried again", func() bool { return reindexed(x, "1") })
		w.sameAs("tried again", want)
		if b := x.Status().Indexes[0]; b.Trouble != "" || b.Done != 30 {
			t.Errorf("in the end %+v", b)
		}
	})
}

// ^C without a running crawl leaves unfinished indexes as they were.
func TestReindexAtRestCutShort(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w, dir := newWorld(t, 2), t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true})
		w.wordy("h1.example", 30)
		w.wordy("h2.example", 30)
		w.settled(x)
		want := w.found()
		stop()
		ctx, cancel := context.WithCancel(t.Context())
		if err := Reindex(ctx, dir, new(crawl.Spec), nil, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("Reindex = %v", err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "search-*"))
		if err != nil || len(files) != 2 {
			t.Errorf("files %v, %v", files, err)
		}
		x, _ = w.start(Options{Dir: dir, Search: true, Embedded: true})
		if st := x.Status(); st.Behind != 0 {
			t.Errorf("%d pages behind", st.Behind)
		}
		eventually(t, "held", func() bool { return len(x.ids()) == 2 })
		w.sameAs("cut short", want)
	})
}
