package pagetext

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestChunks(t *testing.T) {
	long := strings.Repeat("word ", 100) // 500 characters
	code := "```go\n" + strings.Repeat("x := f(1234567)\n", 40) + "```"
	for _, c := range []struct {
		name, md string
		want     []string // headings joined by " > ", then how the text begins
	}{
		{"empty", "", nil},
		{"blank", "\n \n", nil},
		{"one", "# A\n\ntext", []string{"A: # A\n\ntext"}},
		{"chapters", "# A\n\ntext\n\n## B\n\n" + long[:190] + "\n\n## C\n\nmore", []string{"A: # A\n\ntext", "A > B: ## B\n\nword", "A > C: ## C\n\nmore"}},
		{"before a heading", "text\n\n# A\n\nmore", []string{": text", "A: # A\n\nmore"}},
		{"a lower one goes on", "## B\n\ntext\n\n### C\n\nmore\n\n## D\n\nend", []string{"B: ## B\n\ntext\n\n### C\n\nmore", "D: ## D"}},
		{"a level left out", "# A\n\n" + long[:180] + "\n\n### C\n\n" + long[:180] + "\n\n## D\n\nend", []string{"A: # A", "A > C: ### C", "A > D: ## D"}},
		{"a heading stays with its text", "# A\n\n" + long, []string{"A: # A\n\nword", "A: word", "A: word"}},
		{"no heading in code", "```\n# A\n```\n\ntext", []string{": ```\n# A\n```\n\ntext"}},
		{"long code", "# A\n\n" + code, []string{"A: # A\n\n```go\nx", "A: ```go\nx", "A: ```go\nx", "A: ```go\nx"}},
		{"open fence", "```\ntext\n\n# A", []string{": ```\ntext\n\n# A"}},
	} {
		var got []string
		for k := range Chunks([]byte(c.md), MinChunk) {
			if n := utf8.RuneCount(k.Text); n > MinChunk {
				t.Errorf("%s: a piece of %d characters", c.name, n)
			}
			if n := bytes.Count(k.Text, []byte("```")); n%2 != 0 && c.name != "open fence" {
				t.Errorf("%s: %d fences in %q", c.name, n, k.Text)
			}
			got = append(got, strings.Join(k.Headings, " > ")+": "+string(k.Text))
		}
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n----\n"), strings.Join(c.want, "\n----\n"))
		}
	}
}

// All words of a page are in its chunks, in order, whatever their size.
func TestChunksAreAll(t *testing.T) {
	var md strings.Builder
	for i := range 300 {
		fmt.Fprintf(&md, "%s Heading %d\n\nThe text of %d, äöü %s.\n\n```\ncode %d\n```\n\n", strings.Repeat("#", i%4+1), i, i, strings.Repeat("more ", i), i)
	}
	words := func(s string) []string {
		return slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == "```" })
	}
	for _, size := range []int{0, MinChunk, 777, DefaultChunk, MaxChunk, 1 << 30} {
		var all strings.Builder
		for k := range Chunks([]byte(md.String()), size) {
			if utf8.RuneCount(k.Text) > max(size, MinChunk) {
				t.Errorf("size %d: %d characters", size, utf8.RuneCount(k.Text))
			}
			all.Write(k.Text)
			all.WriteByte('\n')
		}
		if got, want := words(all.String()), words(md.String()); !slices.Equal(got, want) {
			t.Errorf("size %d: %d words, want %d", size, len(got), len(want))
		}
	}
	n := 0
	for range Chunks([]byte(md.String()), MinChunk) {
		if n++; n == 3 {
			break
		}
	}
}

func FuzzChunks(f *testing.F) {
	f.Add([]byte("# A\n\ntext\n\n```go\nx\n```\n"), 200)
	f.Add([]byte("````\n```\n"), 1)
	f.Fuzz(func(t *testing.T, md []byte, size int) {
		n, most := 0, min(max(size, MinChunk), len(md)+MinChunk)
		for k := range Chunks(md, size) {
			n++
			if len(k.Text) == 0 || utf8.RuneCount(k.Text) > most && most < len(md) || n > len(md)+1 {
				t.Fatalf("piece %d of %d bytes, at most %d", n, len(k.Text), most)
			}
		}
	})
}
