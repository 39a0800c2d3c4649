package indexer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// everything returns all possible answers as JSON.
func (w *world) everything() string {
	w.t.Helper()
	var b strings.Builder
	for _, q := range []struct {
		question string
		req      any
	}{
		{"pages", nil}, {"page", questions.PageRequest{URL: "https://d.example/a/1"}}, {"page", questions.PageRequest{URL: "https://d.example/a/1", All: true}},
		{"export", crawl.ExportQuery{What: "pages", Format: "jsonl", All: true}}, {"export", crawl.ExportQuery{What: "pages", Format: "html"}}, {"export", crawl.ExportQuery{What: "links"}}, {"datasets", nil},
	} {
		for _, raw := range asked[json.RawMessage](w, q.question, q.req) {
			b.Write(raw)
			b.WriteByte('\n')
		}
	}
	raw, err := json.Marshal(searched(w, "okapi"))
	if err != nil {
		w.t.Fatal(err)
	}
	b.Write(raw)
	return b.String()
}

// A forgotten page is missing from every answer at once, is deleted although indexers are killed
// meanwhile, stays out, and can come back.
func TestForget(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		var batch []crawl.Page
		const n = 2 * forgetStretch
		for i := range n {
			p := page(fmt.Sprintf("https://d.example/a/%d", i), 1, fmt.Sprintf("<p>okapi %d", i))
			if i%100 == 0 {
				p = page(string(p.URL), 1, fmt.Sprintf("<p>okapi %d", i)+fmt.Sprintf(linked, "secret"))
			}
			batch = append(batch, p)
		}
		kept := page("https://k.example/", 1, fmt.Sprintf(`<p>okapi kept <a href="https://d.example/a/1">x</a><a href="/y">y</a>`+linked, "kept"))
		kept.FoundOn, kept.Canonical = "https://d.example/a/5", "https://d.example/a/6"
		both := meta("https://k.example/data.json", 1, `{"dataset": [
		{"title": "half", "distribution": [{"downloadURL": "https://d.example/a/half.csv"}, {"downloadURL": "https://k.example/half.csv"}]},
		{"title": "gone", "landingPage": "https://d.example/a/x", "distribution": [{"downloadURL": "https://d.example/a/gone.csv"}]},
		{"title": "page", "landingPage": "https://d.example/a/page"}]}`)
		data := crawl.Page{Kind: crawl.KindData, URL: "https://h.example/data.txt", Origin: canon.URL("https://h.example/").Origin(), Visit: crawl.VisitID{Epoch: 1, N: 1},
			FetchedAt: time.Now(), Fresh: time.Hour, Body: []byte("- path: a.csv\n")}
		twin := page("https://k.example/twin", 1, "<p>okapi twin")
		sameAs := twin
		sameAs.URL = "https://d.example/a/twin"
		w.hand(append(batch[:50:50], kept, both, data, twin, sameAs, page("https://h.example/", 1, "<p>okapi"), page("https://d.example/b", 1, "<p>okapi b"),
			aliasOf("https://d.example/a/1", 2, "https://k.example/"))...)
		for i := 50; i < n; i += 100 {
			w.hand(batch[i:min(i+100, n)]...)
		}
		kill := make(chan bool, 1)
		a := w.peer("one", "", Options{Search: true}, func(step string) error {
			if step == "forgot" {
				select {
				case <-kill: // the first time only
					return errKilled
				default:
				}
			}
			return nil
		})
		w.holders(2, a)
		w.settled(a.Indexer)
		w.quiet(a.Indexer)
		if all := w.everything(); !strings.Contains(all, "d.example/a/half.csv") || !strings.Contains(all, `"aliases":["https://d.example/a/1"]`) || strings.Count(all, "d.example/a/") < n {
			t.Fatalf("not all is there to be forgotten: %d", strings.Count(all, "d.example/a/"))
		}
		kill <- true
		w.spec.Forgotten = []string{"h.example", "https://d.example/a/"}
		if err := a.SetSpec(w.spec); err != nil {
			t.Fatal(err)
		}
		forgotten := func(when string) {
			t.Helper()
			// The content of other pages stays.
			all := strings.ReplaceAll(w.everything(), `href=\"https://d.example/a/1\"`, "")
			if strings.Contains(all, "d.example/a/") || strings.Contains(all, "h.example") || strings.Contains(all, "secret") || strings.Contains(all, `"gone"`) {
				at := max(strings.Index(all, "d.example/a/"), strings.Index(all, "h.example"), strings.Index(all, "secret"))
				t.Fatalf("%s: …%s…", when, all[max(0, at-300):min(len(all), at+300)])
			}
			for _, want := range []string{"https://k.example/y", "https://k.example/half.csv", "https://d.example/b", `"title":"page"`, "okapi kept"} {
				if !strings.Contains(all, want) {
					t.Errorf("%s: %s is gone too", when, want)
				}
			}
		}
		<-a.killed
		a.ended()
		a = w.peer("one", a.dir, Options{Search: true}, func(step string) error {
			if step == "forgot" {
				time.Sleep(300 * time.Millisecond) // longer than asking takes
			}
			return nil
		})
		w.holders(2, a)
		forgotten("while it is deleted")
		w.hand(page("https://d.example/a/7", 3, "<p>okapi again"), page("https://h.example/new", 3, "<p>okapi"))
		late := data
		late.Visit.N = 3
		w.hand(late)
		st := w.settled(a.Indexer)
		if st.Pages != 4 {
			t.Errorf("%d pages are left, want 4", st.Pages)
		}
		forgotten("deleted")
		w.spec.Forgotten = nil
		if err := a.SetSpec(w.spec); err != nil {
			t.Fatal(err)
		}
		st = w.settled(a.Indexer)
		if all := w.everything(); st.Pages != 4 || strings.Contains(all, `"url":"https://d.example/a/1"`) || strings.Contains(all, "h.example") || strings.Contains(all, "aliases") {
			t.Errorf("%d pages when it is remembered: it was only hidden", st.Pages)
		}
		// The frontier fetches them again, and everything is as before.
		w.hand(page("https://d.example/a/7", 4, "<p>okapi back"))
		if st := w.settled(a.Indexer); st.Pages != 5 {
			t.Errorf("%d pages", st.Pages)
		}
		w.spec.Forgotten = []string{"https://d.example/a/"}
		if err := a.SetSpec(w.spec); err != nil {
			t.Fatal(err)
		}
		if st := w.settled(a.Indexer); st.Pages != 4 {
			t.Errorf("forgotten once more: %d pages", st.Pages)
		}
		a.stop()
	})
}

// What is forgotten while the crawl does not run is hidden by the readers of its files.
func TestReaderHides(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true})
		w.hand(page("https://d.example/", 1, fmt.Sprintf("<p>okapi"+linked, "d")), page("https://k.example/", 1, fmt.Sprintf("<p>okapi"+linked, "k")))
		w.settled(x)
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.Hide([]string{"d.example"})
		var listed, claims []string
		questions.Pages.Each(t.Context(), stoppedCrawl(r), nil, func(p crawl.PageInfo) error { listed = append(listed, p.URL); return nil })
		stoppedCrawl(r).Datasets(t.Context(), func(d crawl.DatasetInfo) error { claims = append(claims, d.Title); return nil })
		a, err := stoppedCrawl(r).Search(t.Context(), crawl.SearchRequest{Query: "okapi", Limit: 10})
		if err != nil || len(a.Hits) != 1 || !slices.Equal(listed, []string{"https://k.example/"}) || !slices.Equal(claims, []string{"k"}) {
			t.Errorf("listed %q, datasets %q, hits %+v, %v", listed, claims, a.Hits, err)
		}
		if _, ok, _ := pageStopped(r, "https://d.example/"); ok {
			t.Error("shown")
		}
		var b strings.Builder
		if _, err := stoppedCrawl(r).Export(t.Context(), crawl.ExportQuery{What: "pages", Format: "jsonl"}, &b); err != nil || strings.Contains(b.String(), "d.example") {
			t.Errorf("exported: %s, %v", b.String(), err)
		}
	})
}
