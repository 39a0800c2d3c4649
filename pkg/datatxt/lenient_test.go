package datatxt

import (
	"strings"
	"testing"
)

// Our reading where docs/formats.md has no rule.

// Characters that the YAML reader refuses, drops or treats as line ends are preserved, in keys,
// values and comments.
func TestLenient_AwkwardCharacters(t *testing.T) {
	for _, c := range []string{"\x00", "\x01", "\x1b", "\x7f", "\u0080", "\u0085", "\u009f", "\u2028", "\u2029", "\uFEFF", "\uFFFE", "\uFFFF", "\uF8FF", "\uF8FF\uE001", "\uFFFD", "\uE000"} {
		text := "a" + c + "b" + c
		for _, body := range []string{
			"- path: x # " + c + "\n  title: " + text + "\n  k" + c + ": v\n",
			c + "\n" + "- path: x\n  title: '" + text + "'\n  k" + c + ": v\n",
			"- {path: x, title: \"" + text + "\", k" + c + ": v}\n",
			"- path: x\n  title: |\n    " + text + "\n  k" + c + ": v\n",
		} {
			if strings.HasPrefix(body, c) {
				body = "#" + body
			}
			d := one(t, body)
			if d.Title != text || len(d.Extra) != 1 || d.Extra[0].Name != "k"+c {
				t.Errorf("%q: title %q, want %q; %+v", body, d.Title, text, d.Extra)
			}
		}
	}
	// A line that begins with a byte order mark does not begin another entry.
	if f := parse(t, "- path: a\n  title: b\n  \uFEFFc: d\n"); len(f.Datasets) != 1 || f.Datasets[0].Extra[0].Name != "\uFEFFc" {
		t.Errorf("%+v", f.Datasets)
	}
}

// A quoted escape is read as the character that it names, including the mark that shield uses.
func TestLenient_EscapedMarks(t *testing.T) {
	for _, text := range []string{`\uF8FF`, `\uF8FFx`, `\uF8FF\uF8FFx`, `\uF8FF\uE200`, `a\uF8FF`, `\N\L\P`} {
		want := strings.NewReplacer(`\uF8FF`, "\uF8FF", `\uE200`, "\uE200", `\N`, "\u0085", `\L`, "\u2028", `\P`, "\u2029").Replace(text)
		if d := one(t, "- path: a\n  title: \""+text+"\""); d.Title != want {
			t.Errorf("%s: %q, want %q", text, d.Title, want)
		}
	}
}

func TestLenient_KeysInAnyCase(t *testing.T) {
	d := one(t, "- Path: a.csv\n  TITLE: x\n  Rows: 1\n  columns: [{Name: c, TYPE: int}]")
	if d.Title != "x" || number(d.Rows) != "1" || len(d.Columns) != 1 || d.Columns[0] != (Column{"c", "int", ""}) {
		t.Errorf("%+v", d)
	}
}

func TestLenient_RepeatedKeys(t *testing.T) {
	f := parse(t, "- path: a\n  path: b\n  title: x\n  Title: y\n  k: 1\n  k: 2\n")
	d := f.Datasets[0]
	if urls(f) != "https://d.example/a" || d.Title != "x" || len(d.Extra) != 2 ||
		reasons(f) != "2: path is given twice; the first one is used; 4: Title is given twice; the first one is used" {
		t.Errorf("%+v; %s", d, reasons(f))
	}
}

// Known keys with values of the wrong kind are stored with the other keys.
func TestLenient_WrongKinds(t *testing.T) {
	f := parse(t, "- path: a\n  title: [x, y]\n  rows: {a: b}\n  columns: some\n  ? [complex]\n  : key\n")
	d := f.Datasets[0]
	if d.Title != "" || d.Rows != nil || d.Columns != nil || len(d.Extra) != 3 || d.Extra[0].Value.String() != "[x, y]" {
		t.Errorf("%+v", d)
	}
	if want := "5: a key is not text; 2: title is not text; 3: rows is not text; 4: columns is neither a list nor a mapping"; reasons(f) != want {
		t.Errorf("diagnostics: %s", reasons(f))
	}
}

// Columns as a list of names, and as a mapping to more than types.
func TestLenient_Columns(t *testing.T) {
	d := one(t, "- path: a\n  columns: [x, y, {name: z, type: int}]")
	if len(d.Columns) != 3 || d.Columns[0].Name != "x" || d.Columns[2].Type != "int" {
		t.Errorf("%+v", d.Columns)
	}
	d = one(t, "- path: a\n  columns: {x: {type: int, description: an x}}")
	if len(d.Columns) != 1 || d.Columns[0] != (Column{"x", "int", "an x"}) {
		t.Errorf("%+v", d.Columns)
	}
}

// Directives are skipped, known or not, with or without the "---" they need.
func TestLenient_Directives(t *testing.T) {
	for _, head := range []string{"%YAML 9.9\n---\n", "%FOO bar\n---\n", "%YAML 1.2\n", "%TAG !e! tag:x\n---\n"} {
		if d := one(t, head+"- path: a\n  title: !e!x t"); d.Title != "t" {
			t.Errorf("%q: %+v", head, d)
		}
	}
}

func TestLenient_ManyTagHandles(t *testing.T) {
	d := one(t, "- path: a\n  title: !a!x t\n  b: !b!y u\n  c: !a!z v\n  d: wow!x!y!")
	if d.Title != "t" || len(d.Extra) != 3 {
		t.Errorf("%+v", d)
	}
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("- !h" + number(new(int64(i))) + "!x a\n")
		}
		return b.String()
	}
	// entries without a path, but readable
	if f := parse(t, many(maxHandles)); f.Skipped != maxHandles {
		t.Errorf("%s", reasons(f))
	}
	refused(t, many(maxHandles+1), ErrSyntax)
}

// JSON is YAML in flow style.
func TestLenient_JSON(t *testing.T) {
	d := one(t, "[\n\t{\"path\": \"a/b.csv\", \"rows\": 5, \"title\": \"x\\ty\", \"none\": null}\n]")
	if d.URLs[0] != "https://d.example/a/b.csv" || number(d.Rows) != "5" || d.Title != "x\ty" || d.Extra != nil {
		t.Errorf("%+v", d)
	}
}

func TestLenient_Value(t *testing.T) {
	d := one(t, "- path: a\n  k: [1, {a: b, c: []}, {}]")
	if got := d.Extra[0].Value.String(); got != "[1, {a: b, c: []}, {}]" {
		t.Errorf("%s", got)
	}
}
