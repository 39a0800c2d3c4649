package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Both rivals find any word, prefer the title, mark words in the snippet, and count hits by host.
func TestRivals(t *testing.T) {
	pages := []page{
		{"http://python.manual.test/text.html", "Other", "sorting, and how sorting is done"},
		{"http://python.manual.test/title.html", "Sorting", "something else, as long as the sorted other"},
		{"http://git.manual.test/other.html", "Nothing", "of another manual, which sorts too"},
		{"http://git.manual.test/none.html", "Nothing", "of all this"},
	}
	for name, r := range rivals {
		dir := t.TempDir()
		if err := r.index(t.Context(), dir, pages); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ask, err := r.open(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, err := ask(t.Context(), "how do I sort unheardof")
		if err != nil || a.Total != 3 || len(a.Hits) != 3 || a.Hits[0].Title != "Sorting" || !strings.Contains(a.Hits[0].Snippet, "<mark>") {
			t.Errorf("%s: %+v, %v; want three hits, the page with the word in its title first, and marks", name, a, err)
		}
		if a.Facets["python.manual.test"] != 2 || a.Facets["git.manual.test"] != 1 {
			t.Errorf("%s: hits by host %v, want two and one", name, a.Facets)
		}
		if a, err = ask(t.Context(), "the of"); err != nil || len(a.Hits) > 0 {
			t.Errorf("%s: stop words alone find %v, %v", name, a.Hits, err)
		}
	}
}

// A round asks each query once, and a server that fails ends it.
func TestRound(t *testing.T) {
	var mu sync.Mutex
	asked, status := map[string]int{}, http.StatusOK
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.FormValue("q")]++
		w.WriteHeader(status)
	}))
	defer web.Close()
	c := contestant{name: "x", base: web.URL + "/?q=", pid: os.Getpid()}
	qs := []query{{text: "one"}, {text: "%{TWO} & more"}, {text: "drei"}}
	for range 2 {
		if err := c.run(t.Context(), qs); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range qs {
		if asked[q.text] != 2 {
			t.Errorf("%q asked %d times in two rounds", q.text, asked[q.text])
		}
	}
	if len(c.took) != 6 || len(asked) != 3 {
		t.Errorf("%d answers timed, %d queries asked; want 6 and 3", len(c.took), len(asked))
	}
	status = http.StatusInternalServerError
	if err := c.run(t.Context(), qs); err == nil {
		t.Error("a server that fails is no error")
	}
}

func TestSize(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"search-0.db": 3, "below/search-1.db": 4, "pages-0.db": 50} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if one, all := size(dir, "search-*.db"), size(dir, "*"); one != 7 || all != 57 {
		t.Errorf("%d and %d bytes, want 7 and 57", one, all)
	}
}
