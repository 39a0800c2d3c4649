package rulefile

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const example = "write x: 1"

// TestMistakes: an error lists 20 mistakes in the order of their lines, and how many there are
// beside these.
func TestMistakes(t *testing.T) {
	var r Reader
	r.Name = "f.yaml"
	if r.Err() != nil || r.Count() != 0 {
		t.Error("a file without mistakes has an error")
	}
	for i := 25; i > 0; i-- {
		r.Add(i, 1, "wrong %d", i)
	}
	lines := strings.Split(r.Err().Error(), "\n")
	if len(lines) != maxMistakes+1 || lines[0] != "f.yaml:1:1: wrong 1" || lines[maxMistakes] != "… and 5 more" {
		t.Errorf("%q", lines)
	}
}

// TestWithin: the column of a mistake within a value counts its quotes.
func TestWithin(t *testing.T) {
	for text, want := range map[string]string{"a: bcd": "1:6", "a: 'bcd'": "1:7", `a: "bcd"`: "1:7", "a: |\n  bcd": "1:4"} {
		var r Reader
		n := r.Document(text, 100, example, "")
		if n == nil {
			t.Fatal(r.Err())
		}
		r.Within(n.Content[1], 2, "x")
		if got := r.Err().Error(); got != ":"+want+": x" {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestDocument(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: " + strings.Repeat("b", 97), ""},
		{"a: " + strings.Repeat("b", 98), "f:1:1: the file has 101 bytes; at most 100 are allowed"},
		{"", "f:1:1: the file is empty; " + example},
		{"a: b\n---\nc: d", "f:2:1: there is a second document in the file; write one"},
		{"a: 'b", "f:1:1: this is not valid YAML: found unexpected end of stream; a quote or a bracket is not closed, perhaps some lines above"},
	} {
		var r Reader
		r.Name = "f"
		n := r.Document(c.text, 100, example, "write one")
		if err := r.Err(); (n == nil) != (c.want != "") || err != nil && err.Error() != c.want || err == nil && c.want != "" {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// TestValues: each wrong value has a mistake that shows what works.
func TestValues(t *testing.T) {
	read := map[string]func(r *Reader, n *yaml.Node){
		"text":    func(r *Reader, n *yaml.Node) { r.Text(n, "x") },
		"list":    func(r *Reader, n *yaml.Node) { r.List(n, "x", func(string, *yaml.Node) {}) },
		"boolean": func(r *Reader, n *yaml.Node) { r.Boolean(n, "x") },
		"number":  func(r *Reader, n *yaml.Node) { r.Number(n, "x", 1) },
		"each":    func(r *Reader, n *yaml.Node) { r.Each(n, "x", func(string, *yaml.Node, *yaml.Node) {}) },
	}
	for _, c := range []struct{ kind, text, want string }{
		{"text", strings.Repeat("a", MaxText), ""},
		{"text", strings.Repeat("a", MaxText+1), "x has 1025 bytes; at most 1024 are allowed"},
		{"text", "[a]", "x: one value is expected here"},
		{"text", "!t a", "have a meaning in YAML"},
		{"list", "[" + strings.Repeat("a,", MaxList) + "]", ""},
		{"list", "[" + strings.Repeat("a,", MaxList+1) + "]", "x has 257 elements; at most 256 are allowed"},
		{"boolean", "true", ""},
		{"boolean", "yes", `x "yes" is neither true nor false`},
		{"number", "1", ""},
		{"number", "0", `x "0" is not a whole number from 1; use for example 100`},
		{"each", "{a: 1, b: 2}", ""},
		{"each", "{a: 1, a: 2}", "a is given twice, first in line 1; merge them"},
		{"each", "a", `x: lines such as "name: value" are expected below it`},
	} {
		var r Reader
		n := r.Document("v: "+c.text, 1<<20, example, "")
		if n == nil {
			t.Fatal(r.Err())
		}
		read[c.kind](&r, n.Content[1])
		if err := r.Err(); (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) && c.want != "" {
			t.Errorf("%s %.20s: %v, want %s", c.kind, c.text, err, c.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	for typed, want := range map[string]string{"titel": "did you mean title?", "zzzzzz": "use title or text"} {
		if got := Suggest(typed, []string{"title", "text"}); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
}
