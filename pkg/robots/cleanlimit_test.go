package robots_test

import (
	"fmt"
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
