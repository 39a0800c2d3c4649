package indexer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	dataset = `{"@context": "https://schema.org/", "@type": "Dataset", "name": "%s", "description": "about %[1]s", "distribution": {"contentUrl": "/%[1]s.csv"}}`
	linked  = `<script type="application/ld+json">` + dataset + `</script>`
)

func meta(u string, visit uint64, body string) crawl.Page {
	return crawl.Page{
		Kind: crawl.KindMeta, URL: canon.URL(u), Visit: crawl.VisitID{Epoch: 1, N: visit}, Status: 200, FetchedAt: time.Now(), ContentType: "application/json",
		Charset: "utf-8", Size: int64(len(body)), SHA256: sha256.Sum256([]byte(body)), Encoding: crawl.EncodingS2, Body: s2.Encode(nil, []byte(body)),
	}
}

// titles asks for the descriptions of datasets and returns "document: title" of each, sorted.
func (w *world) titles() []string {
	w.t.Helper()
	return titles(asked[crawl.DatasetClaim](w, "datasets", nil))
}

func titles(claims []crawl.DatasetClaim) (all []string) {
	for _, c := range claims {
		all = append(all, c.Document+": "+c.Title)
	}
	slices.Sort(all)
	return all
}

// What pages and metadata documents state about datasets is stored, replaced and removed with them.
// A running crawl and its files give the same answer.
func TestClaimsGoWithTheirDocument(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true, Embedded: true})
		secret := page("https://a.example/secret", 1, fmt.Sprintf(linked, "secret"))
		secret.Directives = crawl.NoSnippet
		noindex := page("https://a.example/noindex", 1, fmt.Sprintf(linked, "noindex"))
		noindex.Directives = crawl.NoIndex
		past := meta("https://b.example/past/data.json", 1, fmt.Sprintf(dataset, "past"))
		past.UnavailableAfter = time.Now().Add(-time.Second)
		robots := crawl.Page{Kind: crawl.KindData, URL: "https://a.example/data.txt", Origin: canon.URL("https://a.example/").Origin(), Visit: crawl.VisitID{Epoch: 1, N: 1},
			FetchedAt: time.Now(), Fresh: time.Hour, Body: []byte("- path: noindex\n  title: listed\n")}
		w.hand(
			page("https://a.example/one", 1, fmt.Sprintf(linked, "one")+"<p>text<p>"+fmt.Sprintf(linked, "two")),
			page("https://a.example/none", 1, `<script type="application/ld+json">{"@type": "Organization", "name": "no dataset"}</script>`),
			meta("https://b.example/data.json", 1, `{"dataset": [{"title": "three", "keyword": ["k"]}]}`),
			meta("https://b.example/empty/data.json", 1, `{}`), secret, noindex, past, robots)
		st := w.settled(x)
		want := []string{"https://a.example/data.txt: listed", "https://a.example/one: one", "https://a.example/one: two",
			"https://a.example/secret: secret", "https://b.example/data.json: three"}
		eventually(t, "the data.txt is taken in", func() bool { return len(w.titles()) >= len(want) })
		if got := w.titles(); !slices.Equal(got, want) {
			t.Errorf("claims %q, want %q", got, want)
		}
		for _, c := range asked[crawl.DatasetClaim](w, "datasets", nil) {
			if said := c.Description != ""; said != (c.Title == "one" || c.Title == "two") {
				t.Errorf("%s: description %q", c.Document, c.Description)
			}
			if strings.HasSuffix(c.Document, "/one") && (c.Page != c.Document || c.Origin != "https://a.example") {
				t.Errorf("%+v", c)
			}
		}
		// Documents are stored pages: listed, counted, but not searched.
		if n := len(asked[crawl.PageInfo](w, "pages", nil)); n != 5 || st.Pages != 5 {
			t.Errorf("%d pages listed, %d counted, want 5", n, st.Pages)
		}
		if a := searched(w, "three"); len(a.Hits) > 0 {
			t.Errorf("a metadata document is found: %+v", a.Hits)
		}
		changed := page("https://a.example/one", 2, fmt.Sprintf(linked, "two"))
		gone := meta("https://b.example/data.json", 2, "")
		gone.Body, gone.Deleted = nil, crawl.ReasonHTTP4xx
		hidden := page("https://a.example/secret", 2, "")
		hidden.Body, hidden.Directives = nil, crawl.NoIndex
		w.hand(changed, gone, hidden, page("https://a.example/one", 1, fmt.Sprintf(linked, "late")))
		w.settled(x)
		want = []string{"https://a.example/data.txt: listed", "https://a.example/one: two"}
		if got := w.titles(); !slices.Equal(got, want) {
			t.Errorf("claims after changes %q, want %q", got, want)
		}
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var stopped []crawl.DatasetClaim
		if err := r.Handlers("").Ask(t.Context(), "datasets", nil, func(v any) error { stopped = append(stopped, v.(crawl.DatasetClaim)); return nil }); err != nil || !slices.Equal(titles(stopped), want) {
			t.Errorf("at rest %q (%v), want %q", titles(stopped), err, want)
		}
	})
}

// Metadata beyond the limit is stored as it came and describes nothing. Of a page it is reported.
func TestClaimsLimit(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, _ := w.start(Options{Dir: t.TempDir(), Embedded: true})
		body := fmt.Sprintf(dataset, "x")
		fits := body[:len(body)-1] + strings.Repeat(" ", catalog.MaxDocument-len(body)) + "}"
		w.hand(meta("https://a.example/fits/data.json", 1, fits), meta("https://a.example/over/data.json", 1, fits+" "))
		w.hand(page("https://a.example/page", 1, fmt.Sprintf(linked, "first")+`<script type="application/ld+json">`+fits+`</script>`))
		if st := w.settled(x); st.Pages != 3 {
			t.Errorf("%d pages", st.Pages)
		}
		want := []string{"https://a.example/fits/data.json: x", "https://a.example/page: ", "https://a.example/page: first"}
		if got := w.titles(); !slices.Equal(got, want) {
			t.Errorf("claims %q, want %q", got, want)
		}
	})
}

// A description longer than a message is sent in parts, from which the same dataset is made.
func TestLongClaimsComeInParts(t *testing.T) {
	c := crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://a.example/d/data.txt", N: 3, Origin: "https://a.example", Title: "long", Allowed: true,
		Form: "yaml", Line: 4, Depth: 1, External: true, TypeImplied: "files", Fills: &crawl.DatasetRef{Document: "https://a.example/data.txt", N: 1},
		Description: strings.Repeat("<d>", 20000), Extra: map[string]any{"a": "1", "b": []any{"2"}, "huge": strings.Repeat("x", 1<<20)}}
	for i := range 5000 {
		c.Files = append(c.Files, crawl.DatasetFile{URL: fmt.Sprintf("https://b.example/%d-%s", i, strings.Repeat("f", 100))})
		c.Columns = append(c.Columns, crawl.DatasetColumn{Name: fmt.Sprint(i), Description: strings.Repeat("c", 100)})
		c.Keywords = append(c.Keywords, fmt.Sprint("k", i))
	}
	const limit = 100 << 10
	var parts []crawl.DatasetClaim
	err := sendClaim(c, limit, func(v crawl.DatasetClaim) error {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil || b.Len() > limit+1 {
			t.Errorf("a part of %d bytes, %v", b.Len(), err)
		}
		parts = append(parts, v)
		return nil
	})
	if err != nil || len(parts) < 10 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	whole := catalog.Merge([]crawl.DatasetClaim{c})[0]
	slices.Reverse(parts)
	got := catalog.Merge(append(parts, parts[:5]...)) // some twice
	if len(got) != 1 {
		t.Fatalf("%d datasets", len(got))
	}
	delete(whole.Extra, "huge")
	if !strings.HasPrefix(whole.Description, got[0].Description) || len(got[0].Description) < 500 {
		t.Errorf("description of %d bytes", len(got[0].Description))
	}
	whole.Description, got[0].Description = "", ""
	if a, b := asJSON(whole), asJSON(got[0]); a != b {
		t.Errorf("put together: %d bytes of JSON, want %d", len(b), len(a))
	}
	n := 0
	if err := sendClaim(crawl.DatasetClaim{Title: "short"}, limit, func(crawl.DatasetClaim) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("a short one in %d parts, %v", n, err)
	}
}

// Each document has the time at which its stored content last changed. To fetch or renew it again
// does not change that time.
func TestClaimsSayWhenTheyChanged(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x, _ := w.start(Options{Dir: t.TempDir(), Embedded: true})
		list := func(visit uint64, title string) crawl.Page {
			return crawl.Page{Kind: crawl.KindData, URL: "https://a.example/data.txt", Origin: canon.URL("https://a.example/").Origin(), Visit: crawl.VisitID{Epoch: 1, N: visit},
				FetchedAt: time.Now().Add(time.Hour), Fresh: time.Hour, Body: []byte("- path: " + title + "\n  title: " + title + "\n")}
		}
		hand := func(all ...crawl.Page) (from time.Time) {
			time.Sleep(2 * time.Millisecond)
			from = time.Now().Truncate(time.Millisecond)
			w.hand(all...)
			w.settled(x)
			return from
		}
		changed := func(since time.Time) (all []string) {
			claims := asked[crawl.DatasetClaim](w, "datasets", nil)
			for _, d := range catalog.Merge(claims) {
				if !d.Changed.Before(since) {
					all = append(all, d.Title)
				}
			}
			slices.Sort(all)
			return all
		}
		page1 := func(visit uint64, title string) crawl.Page {
			return page("https://b.example/", visit, fmt.Sprintf(linked, title))
		}
		for _, step := range []struct {
			hand []crawl.Page
			want []string
		}{
			{[]crawl.Page{page1(1, "one"), meta("https://c.example/data.json", 1, fmt.Sprintf(dataset, "json")), list(1, "text")}, []string{"json", "one", "text"}},
			{[]crawl.Page{page1(2, "one"), meta("https://c.example/data.json", 2, fmt.Sprintf(dataset, "json")), list(2, "text")}, nil},
			{[]crawl.Page{page1(3, "two")}, []string{"two"}},
			{[]crawl.Page{list(3, "other")}, []string{"other"}},
		} {
			since := hand(step.hand...)
			if got := changed(since); !slices.Equal(got, step.want) {
				t.Errorf("changed: %v, want %v", got, step.want)
			}
		}
	})
}
