package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/bench/command"
)

// The program of the test itself runs the rows and the server of the web.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if run := children[os.Args[1]]; run != nil {
			os.Exit(run(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// TestSmoke crawls a small web by every row that is available here, and writes the results.
func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	all := "lean,discarded,stored,searchable,colly,daemons-2"
	for _, r := range rowsThere {
		if r.names && lacks(r, nil) == "" {
			all += "," + r.name
		}
	}
	s, err := parse([]string{"-smoke", "-rows", all}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s.out, s.limit = dir, 2*time.Minute
	var out bytes.Buffer
	if err := run(t.Context(), s, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, name := range s.rows {
		if !strings.Contains(out.String(), "\n| "+name+" | ") || strings.Contains(out.String(), name+" | no good") {
			t.Errorf("%s is not measured:\n%s", name, &out)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v; want a table and the figures", files, err)
	}
}

// A crawler that missed a page is an error, not a fast crawler.
func TestMissedPage(t *testing.T) {
	s, err := parse([]string{"-smoke"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	lazy := row{name: "lazy", run: func(ctx context.Context, r *race) error {
		file, err := r.urls()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, after, _ := bytes.Cut(text, []byte("\n"))
		if err := os.WriteFile(file, after, 0o600); err != nil {
			return err
		}
		return r.self(ctx, "lean", r.web.Addr, file)
	}}
	res := measure(t.Context(), s, lazy, t.TempDir())
	if want := "the web has 100 pages, 99 were fetched"; res.Error != want {
		t.Errorf("%q, want %q", res.Error, want)
	}
	lazy.run = func(ctx context.Context, r *race) error { return r.finish(ctx, "false", []string{"false"}) }
	if res := measure(t.Context(), s, lazy, t.TempDir()); !strings.Contains(res.Error, "false: exit status 1") {
		t.Errorf("%q, want how it ended", res.Error)
	}
}

// Medians, which rows are compared, and a machine that is busy.
func TestReport(t *testing.T) {
	r := &report{Machine: machine{LoadStart: 0.2, Pinned: true}, Rows: []measuredRow{
		{Name: "lean", Rounds: []result{{CPU: 90, Pages: 10, Wall: 1}, {CPU: 100, Pages: 10, Wall: 1}, {CPU: 300, Pages: 10, Wall: 2}}},
		{Name: "stored", Rounds: []result{
			{CPU: 150, Pages: 10, Wall: 2, Memory: command.Memory{Anonymous: 3 << 20}}, {Error: "no"},
			{CPU: 170, Pages: 10, Wall: 4, Memory: command.Memory{Anonymous: 5 << 20}, Others: 0.3},
		}},
	}}
	r.end()
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{
		"| lean | 100.0 | 1.00 | 0.62 | 90 100 300 | 1.00 | 10 |",
		"| stored | 160.0 | 1.60 | 1.00 | 150 170 | 3.00 | 3 | 0 | 4 | 0 | 10 |",
		"- MISSED: stored ÷ lean is 1.600, at most 1.50 wanted",
		"NOT QUIET: beside 1 of 6 crawls others used more than 0.1 of a core, 0.30 at most",
		"round 2 is NOT COUNTED: no",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "before the first crawl") {
		t.Error("a load of 0.2 is quiet")
	}
}

// Each aim is decided by the figures that it names, at its limit and past it.
func TestAims(t *testing.T) {
	row := func(name string, mb int64, cpu ...float64) measuredRow {
		m := measuredRow{Name: name}
		for _, c := range cpu {
			m.Rounds = append(m.Rounds, result{CPU: c, Peak: mb * 1e6, Memory: command.Memory{Anonymous: mb * 5e5}})
		}
		return m
	}
	r := &report{Hosts: aimHosts, Pages: aimPages / aimHosts, Rows: []measuredRow{
		row("lean", 10, 100, 100, 100), row("wget2", 10, 160, 160, 140), row("stored", 110, 150, 150, 150), row("searchable", 161, 310, 300, 250),
		row("warc", 120, 172.5, 172.5, 500), row("colly", 10, 740, 740, 740), row("daemons-1", 300, 188, 188, 188),
	}}
	var out bytes.Buffer
	r.printAims(&out)
	want := `
The aims:

- reached: stored ÷ lean is 1.500, at most 1.50 wanted
- MISSED: stored ÷ wget2 is 1.071 in the worst round, less than 1.00 wanted in every round
- reached: searchable ÷ lean is 3.000, at most 3.00 wanted
- reached: warc ÷ stored is 1.150, at most 1.15 wanted
- MISSED: stored ÷ colly is 0.203, at most 0.20 wanted
- MISSED: daemons-1 ÷ stored is 1.253, at most 1.25 wanted
- reached: peak RSS of stored at 30000 pages is 110 MB, at most 110 wanted (anonymous: 55)
- MISSED: peak RSS of searchable at 30000 pages is 161 MB, at most 160 wanted (anonymous: 80)
`
	if got := out.String(); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
	// Nothing is decided about memory with other numbers of pages, nor about rows without a result.
	r.Pages++
	r.Rows = r.Rows[1:3]
	r.Rows[0].Rounds[2].Error = "no"
	out.Reset()
	r.printAims(&out)
	if got, want := out.String(), "\nThe aims:\n\n- reached: stored ÷ wget2 is 0.938 in the worst round, less than 1.00 wanted in every round\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSlug(t *testing.T) {
	if got := slug("AMD EPYC 9R14 (2)"); got != "amd-epyc-9r14-2" {
		t.Error(got)
	}
}
