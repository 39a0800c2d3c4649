package datatxt

import (
	"fmt"
	"slices"
	"testing"
)

func candidates(f *File, depth int) []string {
	var list []string
	for _, c := range f.Nested(depth) {
		list = append(list, fmt.Sprint(c.URL, c.Datasets))
	}
	return list
}

func TestDatatxt_5_4_NestedCandidates(t *testing.T) {
	f := parse(t, `- path: iris/
- path: cars
- path: cars/
- path: deep/er/set.csv
- path: deep/er/other.csv
- path: [deep/x.csv, deep/y.csv, z/]
- path: top.csv
- path: https://x.example/dir/
- path: http://d.example/dir/
- path: https://d.example:443/port/
- path: /
- path: a%2Fb c/
- path: q?x=/y/
`)
	want := []string{
		"https://d.example/iris/data.txt[0]",
		"https://d.example/cars/data.txt[1 2]",
		"https://d.example/deep/er/data.txt[3 4]",
		"https://d.example/deep/data.txt[5]",
		"https://d.example/z/data.txt[5]",
		"https://d.example/port/data.txt[9]",
		"https://d.example/a%2Fb%20c/data.txt[11]",
		"https://d.example/q/data.txt[12]",
	}
	for depth := range MaxNesting {
		if got := candidates(f, depth); !slices.Equal(got, want) {
			t.Errorf("depth %d: %q, want %q", depth, got, want)
		}
	}
	if got := candidates(f, MaxNesting); got != nil {
		t.Errorf("too deep: %q", got)
	}
	if got := candidates(new(File), 0); got != nil {
		t.Errorf("zero file: %q", got)
	}
}

// A nested file suggests neither itself nor the root file.
func TestDatatxt_5_4_NestedFromNested(t *testing.T) {
	f, err := Parse([]byte("- path: a.csv\n- path: ./\n- path: sub/b.csv\n- path: ../top.csv\n- path: ../beside/\n"), mustURL("https://d.example/iris/data.txt"), bot)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := candidates(f, 1), []string{"https://d.example/iris/sub/data.txt[2]", "https://d.example/beside/data.txt[4]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDatatxt_5_4_NestedObeysOwnRules(t *testing.T) {
	f := parse(t, "User-agent: *\nAllow: /open/\nPath: /closed/\nDisallow: /closed\n")
	if got, want := candidates(f, 0), []string{"https://d.example/open/data.txt[0]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDatatxt_5_4_FindsTheRecord(t *testing.T) {
	nested := func(at, body string) *File {
		f, err := Parse([]byte(body), mustURL(at), bot)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	file := one(t, "- path: d/a.csv")
	dir := one(t, "- path: d/")
	two := nested("https://d.example/d/data.txt", "- path: b.csv\n  title: b\n- path: a.csv\n  title: a\n")
	single := nested("https://d.example/d/data.txt", "- path: b.csv\n  title: b\n")
	for _, c := range []struct {
		name   string
		parent Dataset
		nested *File
		want   string // title, "" if there is none
	}{
		{"the same URL", file, two, "a"},
		{"another file of the directory", file, single, ""},
		{"a directory with one dataset", dir, single, "b"},
		{"a directory with several", dir, two, ""},
		{"one that names its directory", dir, nested("https://d.example/d/data.txt", "- path: ./\n  title: dir\n- path: a.csv"), "dir"},
		{"some other file", dir, nested("https://d.example/e/data.txt", "- path: b.csv\n  title: b"), ""},
		{"an empty file", dir, nested("https://d.example/d/data.txt", "title: x"), ""},
	} {
		i, ok := c.nested.Finder()(c.parent)
		if ok != (c.want != "") || ok && c.nested.Datasets[i].Title != c.want {
			t.Errorf("%s: record %d, found %v", c.name, i, ok)
		}
	}
}
