package directory

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/feed"
)

func change(id string, version int64, removed string) feed.Change {
	c := feed.Change{ID: id, Version: version}
	c.Row.URL, c.Row.Removed, c.Row.Title = "https://a.example/"+id, removed, "<"+id+">"
	return c
}

// A part appears when it is complete; the newest line of a page counts, in whatever order the parts
// came; a sweep removes what earlier generations of the shard wrote, and nothing else.
func TestParts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	s := Open(dir)
	if err := s.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	write := func(shard int, generation int64, changes ...feed.Change) {
		t.Helper()
		if refused, err := s.Write(t.Context(), feed.Batch{Crawl: "a-b", Shard: shard, Generation: generation, Changes: changes}); err != nil || refused != nil {
			t.Fatal(refused, err)
		}
	}
	const next = 1 << 32
	write(0, 1, change("old", next+1, ""))
	write(1, 1, change("other", next+1, ""))
	write(0, 2, change("a", 2*next+5, ""), change("b", 2*next+6, "gone"))
	write(0, 2, change("b", 2*next+1, ""), change("a", 2*next+2, "gone"))
	write(0, 2) // nothing
	s.Fault = func(string) error { return errors.New("killed") }
	if _, err := s.Write(t.Context(), feed.Batch{Crawl: "a-b", Generation: 2, Changes: []feed.Change{change("c", 2*next+9, "")}}); err == nil {
		t.Fatal("no error")
	}
	s.Fault = nil
	if err := os.WriteFile(filepath.Join(dir, "part-README.jsonl"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may run twice
		if err := s.Sweep(t.Context(), "a-b", 0, 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(t.Context(), "a", 1, 9); err != nil { // another crawl
		t.Fatal(err)
	}
	got, err := Fold(dir)
	if err != nil || len(got) != 2 || !strings.Contains(string(got["a"]), `"title":"<a>"`) || got["other"] == nil {
		t.Errorf("%s, %v", got, err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 4 {
		t.Errorf("%q", names)
	}
}

// A line of a removed page has its reason, and nothing of the page. A forgotten page has no URL.
func TestLine(t *testing.T) {
	c := change("a", 7, "")
	c.Fields = []string{"title", "url", "nothing"}
	gone, forgotten := change("b", 8, "http-4xx"), feed.Change{ID: "c", Version: 9, Row: crawl.PageRow{Removed: "forgotten"}}
	for _, test := range []struct {
		change *feed.Change
		want   string
	}{
		{&c, `{"id":"a","version":7,"title":"<a>","url":"https://a.example/a"}`},
		{&feed.Change{ID: "x", Version: 1, Fields: []string{}}, `{"id":"x","version":1}`},
		{&gone, `{"id":"b","version":8,"url":"https://a.example/b","removed":"http-4xx"}`},
		{&forgotten, `{"id":"c","version":9,"removed":"forgotten"}`},
	} {
		if got, err := test.change.Line(); err != nil || string(got) != test.want {
			t.Errorf("%s, %v; want %s", got, err, test.want)
		}
	}
}

// The folder that cannot be made is the operator's business.
func TestPrepareFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	permanent := (*feed.Permanent)(nil)
	if err := Open(file).Prepare(t.Context(), nil); !errors.As(err, &permanent) {
		t.Errorf("%v", err)
	}
}
