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

type countWrites struct{ writes, bytes int }

func (c *countWrites) Write(b []byte) (int, error) {
	c.writes++
	c.bytes += len(b)
	return len(b), nil
}

// A long list is written in pieces of many rows, and not cell by cell.
func TestTableWritesManyRowsAtOnce(t *testing.T) {
	var w countWrites
	table := NewTable(&w, "A", "B")
	for range 1000 {
		if err := table.Row("one", "two"); err != nil {
			t.Fatal(err)
		}
	}
	if w.bytes < 8*900 {
		t.Errorf("%d bytes were written after 1,000 rows", w.bytes)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if w.writes > 10 || w.bytes < 8*1000 {
		t.Errorf("%d bytes in %d writes", w.bytes, w.writes)
	}
}
