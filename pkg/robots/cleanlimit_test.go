package robots_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Formats §1.5: 1,000 Clean-param lines count, and 100 with a wildcard. Further ones are reported.
func TestFormats_1_5_CleanParam_Lines(t *testing.T) {
	for _, tt := range []struct {
		path string // of line i
		max  int
	}{{"/p%04d", 1000}, {"/p%04d*", 100}} {
		for _, n := range []int{tt.max, tt.max + 1, 2 * tt.max} {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "Clean-param: s "+tt.path+"/\n", i)
			}
			f := robots.Parse([]byte(b.String()))
			if len(f.CleanParams) != tt.max || f.Odd != n-tt.max || n > tt.max && (f.Diagnostics[0].Line != tt.max+1 || !strings.Contains(f.Diagnostics[0].Reason, fmt.Sprint(tt.max))) {
				t.Errorf("%d lines with %s: %d count, %d are odd: %+v", n, tt.path, len(f.CleanParams), f.Odd, f.Diagnostics[:min(1, len(f.Diagnostics))])
			}
			last := fmt.Sprintf("/p%04d/x?s=1", tt.max-1)
			if got := f.CleanURL(last); strings.Contains(got, "?") {
				t.Errorf("%s: %s, want it clean", last, got)
			}
			next := fmt.Sprintf("/p%04d/x?s=1", tt.max)
			if got := f.CleanURL(next); got != next {
				t.Errorf("%s: %s: a line past the limit counts", next, got)
			}
		}
	}
}

// Formats §1.5: 10,000 names of parameters count. Each is indexed: a file of 120,000 names took 24
// MiB, and takes 3.
func TestFormats_1_5_CleanParam_Names(t *testing.T) {
	var b strings.Builder
	n := 0
	line := func(names int) {
		b.WriteString("Clean-param: ")
		for range names {
			fmt.Fprintf(&b, "%s&", strconv.FormatInt(int64(n), 36))
			n++
		}
		b.WriteString("\n")
	}
	for range 100 {
		line(100)
	}
	full := robots.Parse([]byte(b.String()))
	line(1)
	past := robots.Parse([]byte(b.String()))
	if len(full.CleanParams) != 100 || full.Odd != 0 || len(past.CleanParams) != 100 || past.Odd != 1 {
		t.Errorf("%d and %d lines, %d and %d odd", len(full.CleanParams), len(past.CleanParams), full.Odd, past.Odd)
	}
	if got := past.CleanURL("/?7pr=1&7ps=1"); got != "/?7ps=1" {
		t.Errorf("%s, want the 10,000th name gone, and the next one kept", got)
	}
	for b.Len() < 500_000 {
		line(110)
	}
	text := []byte(b.String())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := robots.Parse(text)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 6<<20 {
		t.Errorf("%d names take %d KiB", n, used>>10)
	}
	runtime.KeepAlive(f)
	runtime.KeepAlive(text)
}

// Formats §1.5: a URL whose Clean-param lines would take too long stays completely unchanged.
func TestFormats_1_5_CleanParam_Steps(t *testing.T) {
	f := robots.Parse([]byte("Clean-param: a /x\nClean-param: b&c /*y\nClean-param: d /*z\n"))
	const path = "/xxxxxxxxxxxxxxxxy"
	for _, tt := range []struct {
		steps int
		want  string
		done  bool
	}{
		{1000, path, true},
		{2*(len(path)+3) + 20, path, true},
		{2*(len(path)+3) - 1, path + "?a&b&c", false}, // b and c compare the path once each
		{0, path + "?a&b&c", false},
	} {
		if got, done := f.CleanURLWithin(path+"?a&b&c", tt.steps); got != tt.want || done != tt.done {
			t.Errorf("%d steps: %q, %v; want %q, %v", tt.steps, got, done, tt.want, tt.done)
		}
	}
	// The most expensive case: each parameter has the largest number of wildcard lines, and the
	// path matches none.
	var b strings.Builder
	var query []string
	for i := range 200 {
		query = append(query, fmt.Sprintf("%x", i))
	}
	for i := range 100 {
		fmt.Fprintf(&b, "Clean-param: %s /%s%d\n", strings.Join(query[i%2*100:][:100], "&"), strings.Repeat("*a", 50), i)
	}
	f = robots.Parse([]byte(b.String()))
	if len(f.CleanParams) != 100 {
		t.Fatalf("%d lines", len(f.CleanParams))
	}
	u := "/" + strings.Repeat("a", 1500) + "?" + strings.Join(query, "&")
	if got, done := f.CleanURLWithin(u, robots.CleanSteps); got != u || done {
		t.Errorf("cleaned within the limit: %v", done)
	}
}
