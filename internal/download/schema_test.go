package download

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The data package contains the type and the columns that documents state for a file.
func TestResourceHasSchema(t *testing.T) {
	d := crawl.DatasetInfo{ID: "3f2a", Title: "T", Files: []crawl.DatasetFile{{URL: "http://a.example/x.csv", MediaType: "text/csv"}, {URL: "http://a.example/", Directory: true}},
		Columns: []crawl.DatasetColumn{{Name: "id", Type: "integer"}, {Name: "place", Type: "character", Description: "where"}, {Name: "odd", Type: "x:y"}}}
	f := File{Dataset: &d, About: d.Files[0], URL: "http://a.example/x.csv", Name: "x.csv"}
	b, err := json.Marshal(describe(&f).Schema)
	if want := `{"fields":[{"name":"id","type":"integer"},{"name":"place","type":"string","description":"where"},{"name":"odd"}]}`; err != nil || string(b) != want {
		t.Errorf("%s (%v), want %s", b, err, want)
	}
	if describe(&f).MediaType != "text/csv" {
		t.Error("the media type is lost")
	}
	d.Files = append(d.Files, crawl.DatasetFile{URL: "http://a.example/y.csv"})
	if describe(&f).Schema != nil {
		t.Error("of two files it is not known whose columns they are")
	}
}

// A dataset has one folder, whatever the name of the directory, and even if its title changes. A
// link is never used as a folder.
func TestFolder(t *testing.T) {
	dir := t.TempDir() + "/data [1] *"
	mkdir(t, dir)
	d := crawl.DatasetInfo{ID: "3f2a9c01b7de", Title: "Rain: by /Day/ é"}
	of := func() string {
		t.Helper()
		f, err := foldersIn(dir)
		if err != nil {
			t.Fatal(err)
		}
		return f.of(&d)
	}
	name := of()
	if name != "rain-by-day-3f2a9c01b7de" {
		t.Errorf("%q", name)
	}
	mkdir(t, dir+"/"+name)
	if d.Title = "Another title"; of() != name {
		t.Error("another title has another folder")
	}
	d.ID = "000000000000"
	if err := os.Symlink(t.TempDir(), dir+"/another-title-"+d.ID); err != nil {
		t.Skip(err)
	}
	out := t.TempDir()
	if err := os.Symlink(out, dir+"/linked-"+d.ID); err != nil {
		t.Fatal(err)
	}
	if name := of(); name != "another-title-"+d.ID {
		t.Errorf("%q", name)
	}
	u, err := canon.Parse("https://d.example/a.csv")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := GetFolders(t.Context(), []File{{Dataset: &d, URL: u}}, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "something else than a directory") {
		t.Errorf("through a link: %v", err)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}
