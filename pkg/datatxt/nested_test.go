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

// The parent wins; what it lacks comes from the nested record.
func TestDatatxt_5_4_Fill(t *testing.T) {
	parent := one(t, "- path: iris\n  title: From above\n  rows: many\n  keep: me\n")
	nested, err := Parse([]byte(`path: data.csv
name: iris-flowers
title: From below
description: Flowers
license: CC0
source: Fisher
type: table
rows: 150
cols: 5
columns: {a: int}
keep: no
more: yes
`), mustURL("https://d.example/iris/data.txt"), bot)
	if err != nil {
		t.Fatal(err)
	}
	d, ok := Fill(parent, nested)
	if !ok {
		t.Fatal("not filled")
	}
	if d.URLs[0] != "https://d.example/iris" || d.Name != "iris-flowers" || d.Title != "From above" || d.Description != "Flowers" ||
		d.License != "CC0" || d.Source != "Fisher" || d.Type != "table" || d.NameImplied || d.TypeImplied || d.Line != parent.Line {
		t.Errorf("%+v", d)
	}
	if d.Rows != nil || d.RowsText != "many" || number(d.Cols) != "5" || len(d.Columns) != 1 {
		t.Errorf("rows %q, cols %s, columns %v", d.RowsText, number(d.Cols), d.Columns)
	}
	if len(d.Extra) != 2 || d.Extra[0].Value.Text != "me" || d.Extra[1].Value.Text != "yes" {
		t.Errorf("extra = %+v", d.Extra)
	}
	if parent.Description != "" || len(parent.Extra) != 1 {
		t.Error("Fill changes its argument")
	}
	if nested.Datasets[0].URLs[0] != "https://d.example/iris/data.csv" {
		t.Errorf("a nested path resolves to %s", nested.Datasets[0].URLs[0])
	}
}

func TestDatatxt_5_4_FillFindsTheRecord(t *testing.T) {
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
		want   string // title, "" if not filled
	}{
		{"the same URL", file, two, "a"},
		{"another file of the directory", file, single, ""},
		{"a directory with one dataset", dir, single, "b"},
		{"a directory with several", dir, two, ""},
		{"one that names its directory", dir, nested("https://d.example/d/data.txt", "- path: ./\n  title: dir\n- path: a.csv"), "dir"},
		{"some other file", dir, nested("https://d.example/e/data.txt", "- path: b.csv\n  title: b"), ""},
		{"an empty file", dir, nested("https://d.example/d/data.txt", "title: x"), ""},
	} {
		if d, ok := Fill(c.parent, c.nested); d.Title != c.want || ok != (c.want != "") {
			t.Errorf("%s: title %q, filled %v", c.name, d.Title, ok)
		}
	}
}
