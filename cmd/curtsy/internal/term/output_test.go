package term

import (
	"strings"
	"testing"
	"unicode"
)

func TestClean(t *testing.T) {
	if got, want := Clean(" a\tb\r\n\x1b[31mc\u202e\x07 "), "a b  [31mc"; got != want {
		t.Errorf("clean = %q, want %q", got, want)
	}
}

func TestCleanMarked(t *testing.T) {
	for _, c := range []struct {
		s     string
		marks [][2]int
		want  string
	}{
		{"a b c", [][2]int{{2, 3}}, "a <b> c"},
		{"a b c", [][2]int{{0, 1}, {4, 5}}, "<a> b <c>"},
		{"a b c", [][2]int{{0, 3}, {2, 5}}, "<a b c>"},
		{"  a ", [][2]int{{0, 4}}, "<a>"},
		{"a\n\tb", [][2]int{{0, 1}, {3, 4}}, "<a>  <b>"},
		{"\x1b[1mä\u200b", [][2]int{{0, 1}, {4, 9}}, "[1m<ä>"},
		{"ab", [][2]int{{-5, 1}, {1, 0}, {7, 9}, {2, 2}}, "<a>b"},
		{"\xff", [][2]int{{0, 1}}, "<\ufffd>"},
		{"", [][2]int{{0, 1}}, ""},
	} {
		if got := CleanMarked(c.s, c.marks, "<", ">"); got != c.want {
			t.Errorf("%q %v: %q, want %q", c.s, c.marks, got, c.want)
		}
	}
}

// Marks do not change the text that is shown, and come in pairs.
func FuzzCleanMarked(f *testing.F) {
	f.Add("a \x1b b\n", 0, 3, 2, 9)
	f.Fuzz(func(t *testing.T, s string, a, b, c, d int) {
		marks := [][2]int{{a, b}, {c, d}}
		if got := CleanMarked(s, marks, "", ""); got != Clean(s) {
			t.Fatalf("%q became %q", Clean(s), got)
		}
		const on, off = "\x01", "\x02"
		got := CleanMarked(s, marks, on, off)
		if strings.NewReplacer(on, "", off, "").Replace(got) != Clean(s) {
			t.Fatalf("%q became %q", Clean(s), got)
		}
		inside := false
		for _, r := range got {
			switch {
			case r == '\x01' && !inside, r == '\x02' && inside:
				inside = !inside
			case unicode.IsControl(r):
				t.Fatalf("%q", got)
			}
		}
		if inside {
			t.Fatalf("%q does not end what it began", got)
		}
	})
}
