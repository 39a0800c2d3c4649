package testaid

import (
	"strings"
	"testing"
)

func TestOutputDiff(t *testing.T) {
	for _, tt := range []struct{ want, got, diff string }{
		{"", "", ""},
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb", "a\nb\n", ""},
		{"done: [..] pages in [..]s\n", "done: 12 pages in 3.4s\n", ""},
		{"a [..]\n", "a \n", ""},
		{"a [x] (b)*\n", "a [x] (b)*\n", ""},
		{"a\n...\nz\n", "a\nz\n", ""},
		{"a\n...\nz\n", "a\nb\nc\nz\n", ""},
		{"...\nz\n...\n", "a\nz\nb\n", ""},
		{"a\nb\n", "a\nc\n", "line 2 is not there"},
		{"a\nb\nc\n", "a\nb\n", "line 3 is not there"},
		{"a\n", "a\nb\n", "more was printed"},
		{"a [..] b\n", "a x\nb\n", "line 1 is not there"},
		{"a\n...\nz\n", "b\nz\n", "line 1 is not there"},
		{"a b\n", "a c\n", "line 1 is not there"},
		{"", "a\n", "more was printed than the 0 lines"},
	} {
		got := OutputDiff(tt.want, tt.got)
		if (got == "") != (tt.diff == "") || !strings.Contains(got, tt.diff) {
			t.Errorf("OutputDiff(%q, %q) = %q, want %q", tt.want, tt.got, got, tt.diff)
		}
	}
}
