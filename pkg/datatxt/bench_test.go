package datatxt

import (
	"fmt"
	"strings"
	"testing"
)

func yamlList(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- path: sets/%d/data.csv\n  title: Data set number %d\n  rows: %d\n  license: CC0\n", i, i, i)
	}
	return b.String()
}

func recordList(n int) string {
	var b strings.Builder
	b.WriteString("User-agent: *\nLicense: CC0\n")
	for i := range n {
		fmt.Fprintf(&b, "Allow: /sets/%d/data.csv\nTitle: Data set number %d\nRows: %d\n", i, i, i)
	}
	b.WriteString("Disallow: /\n")
	return b.String()
}

func benchmarkParse(b *testing.B, body string) {
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse([]byte(body), root, bot); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseYAML(b *testing.B)    { benchmarkParse(b, yamlList(1000)) }
func BenchmarkParseRecords(b *testing.B) { benchmarkParse(b, recordList(1000)) }

func BenchmarkAllowed(b *testing.B) {
	f, err := Parse([]byte(recordList(9000)), root, bot)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Allowed("/sets/4711/data.csv")
	}
}

// hostile returns bodies that should provoke more than linear time.
func hostile(size int) map[string]string {
	fill := func(head, unit string) string {
		return head + strings.Repeat(unit, (size-len(head))/len(unit))
	}
	nested := "User-agent: *\n" // every rule a prefix of the next
	for i := 1; len(nested)+i+20 < size*9/10; i++ {
		nested += "Disallow: /" + strings.Repeat("a", i) + "\n"
	}
	return map[string]string{
		"open brackets":     fill("", "["),
		"open braces":       fill("", "{a: "),
		"dashes":            fill("", "- "),
		"question marks":    fill("- ", "? "),
		"list of paths":     fill("- path: [", "a,"),
		"empty entries":     fill("", "-\n"),
		"comments":          fill("- path: a\n", "#\n"),
		"comment per entry": fill("", "- a #b\n#c\n\n"),
		"columns":           fill("- path: a\n  columns: [", "a,"),
		"keys":              fill("path: a\n", "k: v\n"),
		"shielded":          fill("- path: a\n  title: ", "\u2028"),
		"tag handles":       fill("- path: a\n", "- !h!x a\n"),
		"bad bytes":         fill("- path: a\n  title: ", "\xff\n   "),
		"markers":           fill("", "---\n"),
		"agents":            fill("", "User-agent: a\n"),
		"records":           fill("", "User-agent: *\nA: b\n\n"),
		"datasets":          fill("User-agent: *\n", "Path: a\n"),
		"defaults":          fill("User-agent: *\n"+strings.Repeat("A: b\n", size/20), "Path: a\n"),
		"rules":             fill("User-agent: *\n"+strings.Repeat("Path: /aaaaaaaa\n", size/100), "Disallow: /aaaaaaab\n"),
		"prefixes":          nested + strings.Repeat("Path: /"+strings.Repeat("a", 9)+"\n", size/400),
	}
}

// No body takes disproportionate time: these take about 0.1 s. With quadratic time they would take
// many minutes, and the time limit of go test would stop the test.
func TestHostileBodies(t *testing.T) {
	for name, body := range hostile(MaxSize / 4) {
		t.Run(name, func(*testing.T) {
			f, _ := Parse([]byte(body), root, bot)
			if f != nil {
				f.Nested(0)
				if len(f.Datasets) > 0 {
					f.Finder()(f.Datasets[0])
				}
			}
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, body := range hostile(MaxSize) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Parse([]byte(body), root, bot)
			}
		})
	}
}
