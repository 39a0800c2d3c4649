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
	all := "raw,discarded,stored,searchable,colly,daemons-2"
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
		return r.self(ctx, "raw", r.web.Addr, file)
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
		{Name: "raw", Rounds: []result{{CPU: 90, Pages: 10, Wall: 1}, {CPU: 100, Pages: 10, Wall: 1}, {CPU: 300, Pages: 10, Wall: 2}}},
		{Name: "stored", Rounds: []result{
			{CPU: 150, Pages: 10, Wall: 2, Memory: command.Memory{Anonymous: 3 << 20}}, {Error: "no"},
			{CPU: 170, Pages: 10, Wall: 4, Memory: command.Memory{Anonymous: 5 << 20}, Others: 0.3},
		}},
	}}
	r.end()
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{
		"| raw | 100.0 | 1.00 | 0.62 | 90 100 300 | 1.00 | 10 |",
		"| stored | 160.0 | 1.60 | 1.00 | 150 170 | 3.00 | 3 | 4 | 0 | 10 |",
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

func TestSlug(t *testing.T) {
	if got := slug("AMD EPYC 9R14 (2)"); got != "amd-epyc-9r14-2" {
		t.Error(got)
	}
}
