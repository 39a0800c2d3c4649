package download

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestFileName(t *testing.T) {
	for _, c := range []struct{ url, about, want string }{
		{"http://d.example/a/iris.csv", "", "iris.csv"},
		{"http://d.example/a/iris.csv?v=2", "other.csv", "iris.csv"},
		{"http://d.example/export/?id=7", "rain.csv", "rain.csv"},
		{"http://d.example/export", "the rain", "the rain"},
		{"http://d.example/", "", "name of it"},
		{"http://d.example/a%20b%2Fc.csv", "", "a b_c.csv"},
		{"http://d.example/..%2F..%2Fetc%2Fpasswd", "", "_.._etc_passwd"},
		{"http://d.example/%2e%2e%5c%2e%2e%5cx", "", "_.._x"},
		{"http://d.example/.bashrc", "", "bashrc"},
		{"http://d.example/%00%0a%1b%5b2J.csv", "", "___[2J.csv"},
		{"http://d.example/%E2%80%AEvsc.exe", "", "_vsc.exe"},
		{"http://d.example/%FF.csv", "", "_.csv"},
		{"http://d.example/-rf", "", "_-rf"},
		{"http://d.example/~root", "", "_~root"},
		{"http://d.example/NUL.txt", "", "_NUL.txt"},
		{"http://d.example/com1", "", "_com1"},
		{"http://d.example/com10.csv", "", "com10.csv"},
		{"http://d.example/SHA256sums", "", "_SHA256sums"},
		{"http://d.example/DataPackage.json", "", "_DataPackage.json"},
		{"http://d.example/x.part", "", "x.part_"},
		{"http://d.example/x.PART.json", "", "x.PART.json_"},
		{"http://d.example/x.mismatch", "", "x.mismatch_"},
		{"http://d.example/what%3F*%22", "", "what___"},
		{"http://d.example/trail.%20.", "", "trail"},
		{"http://d.example/%C3%BCber.csv", "", "über.csv"},
	} {
		u := canon.URL(c.url)
		f := &File{URL: u, About: crawl.DatasetFile{Name: c.about}, Dataset: &crawl.DatasetInfo{Name: "name of it"}}
		if got := fileName(f, u, nil); got != c.want {
			t.Errorf("%s: %q, want %q", c.url, got, c.want)
		}
	}
	if got := fileName(&File{URL: "http://d.example/", Dataset: &crawl.DatasetInfo{}}, "http://d.example/", nil); got != "data" {
		t.Errorf("nothing to go by: %q", got)
	}
}

func TestLongNames(t *testing.T) {
	for _, s := range []string{strings.Repeat("x", maxNameBytes), strings.Repeat("x", maxNameBytes+1), strings.Repeat("ü", 200) + ".tar.gz", "x." + strings.Repeat("y", 300)} {
		got := safeName(s)
		if len(got) > maxNameBytes || !utf8.ValidString(got) || len(s) == maxNameBytes && got != s {
			t.Errorf("%d bytes: %q", len(s), got)
		}
	}
	if got := safeName(strings.Repeat("ü", 200) + ".tar.gz"); !strings.HasSuffix(got, "ü.tar.gz") {
		t.Errorf("the extension is lost: %q", got)
	}
}

func TestNamesAreTakenOnce(t *testing.T) {
	n := names{}
	n.add("Rain.csv")
	var got []string
	for _, s := range []string{"rain.csv", "RAIN.CSV", "rain-2.csv", "a.tar.gz", "a.tar.gz", "x", "X", ".gz"} {
		got = append(got, n.take(s))
	}
	if s := strings.Join(got, " "); s != "rain-2.csv RAIN-3.CSV rain-2-2.csv a.tar.gz a-2.tar.gz x X-2 .gz" {
		t.Errorf("%s", s)
	}
}

// Whatever the original name, the file is in the directory, under exactly the safe name.
func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"a.csv", "../x", "con", "a\\b", "x.part", "\xff", "..", " .", strings.Repeat("ü", 300), strings.Repeat("?", maxNameBytes) + "a"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, s string) {
		name := safeName(s)
		if name == "" {
			return
		}
		if len(name) > maxNameBytes+2 || filepath.Base(name) != name || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") || reserved(name) || ownSuffix(name) {
			t.Fatalf("%q became %q", s, name)
		}
		if again := safeName(name); again != name && len(name) <= maxNameBytes {
			t.Fatalf("%q became %q, and that %q", s, name, again)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != name {
			t.Fatalf("%q: %v, %v", name, entries, err)
		}
		os.Remove(filepath.Join(dir, name))
	})
}
