package datatxt

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const bot = "ExampleBot"

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

var root = mustURL("https://d.example/data.txt")

// parse parses a file that must not be refused.
func parse(t *testing.T, body string) *File {
	t.Helper()
	f, err := Parse([]byte(body), root, bot)
	if err != nil {
		t.Fatalf("Parse(%.60q): %v", body, err)
	}
	return f
}

// one parses a file that must have exactly one dataset.
func one(t *testing.T, body string) Dataset {
	t.Helper()
	f := parse(t, body)
	if len(f.Datasets) != 1 {
		t.Fatalf("%q: %d datasets, want 1; %v", body, len(f.Datasets), f.Diagnostics)
	}
	return f.Datasets[0]
}

// urls lists the first URL of each dataset, for comparison in one line.
func urls(f *File) string {
	var list []string
	for _, d := range f.Datasets {
		list = append(list, strings.Join(d.URLs, "+"))
	}
	return strings.Join(list, " ")
}

// reasons lists the diagnostics as "line: reason".
func reasons(f *File) string {
	var list []string
	for _, d := range f.Diagnostics {
		list = append(list, fmt.Sprintf("%d: %s", d.Line, d.Reason))
	}
	return strings.Join(list, "; ")
}

func number(p *int64) string {
	if p == nil {
		return "absent"
	}
	return fmt.Sprint(*p)
}
