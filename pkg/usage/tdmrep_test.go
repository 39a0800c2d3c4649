package usage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/usage"
)

// tdmOf returns the rule of a tdmrep.json for a URL: its value, and its line.
func tdmOf(t *testing.T, body, url string) (usage.Value, int) {
	t.Helper()
	f, err := usage.ParseTDMRep([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var s usage.Set
	s.TDMRep(f, url)
	if src := s.Sources(); len(src) > 0 {
		return s.Preferences()[usage.TDM], src[len(src)-1].Line
	}
	return usage.Unknown, 0
}

// Formats §8.17: the first matching rule decides, in the order of the file.
func TestUsage_8_17_FirstMatch(t *testing.T) {
	const body = "\uFEFF[\n" + `  {"location": "/images/*.png$", "tdm-reservation": 0},
  {"location": "/images/", "tdm-reservation": 1, "tdm-policy": "https://p.example/p.json"},
  "no rule", {"location": 7, "tdm-reservation": 1}, {"tdm-reservation": 1},
  {"location": "/odd/", "tdm-reservation": 2},
  {"location": "/%7ejoe/*/x", "tdm-reservation": "1"}, {"location": "bare", "tdm-reservation": 1},
  {"location": "/odd/x", "tdm-reservation": 1}
]` + "\n"
	for url, want := range map[string]struct {
		value usage.Value
		line  int
	}{
		"https://d.example/images/a.png":   {a, 2},
		"https://d.example/images/a.png?x": {d, 3},
		"/images/a":                        {d, 3},
		"/images":                          {u, 0},
		"/odd/x":                           {u, 0}, // its rule has neither 0 nor 1
		"/~joe/a/xyz":                      {d, 6},
		"/~joe/x":                          {u, 0},
		"/bare/":                           {d, 6},
		"/":                                {u, 0},
		"":                                 {u, 0},
	} {
		if v, line := tdmOf(t, body, url); v != want.value || line != want.line {
			t.Errorf("%q: %v by line %d, want %v", url, v, line, want)
		}
	}
}

// Formats §8.17: a body that is not an array counts as no file.
func TestUsage_8_17_NotThere(t *testing.T) {
	for _, body := range []string{"", "<!doctype html><p>Not found", `{"location":"/","tdm-reservation":1}`, "1", "null", `[{"location":"/"`,
		`[{"location":"/","tdm-reservation":1},`, `[{"location":"/" "tdm-reservation":1}]`, strings.Repeat("[", 100_000)} {
		if f, err := usage.ParseTDMRep([]byte(body)); err == nil || f != nil {
			t.Errorf("%.40q: %v, no error", body, f)
		}
	}
	if f, err := usage.ParseTDMRep([]byte("[]")); err != nil || f == nil {
		t.Error("an empty array is a file", err)
	}
}

// Formats §8.17: limits.
func TestUsage_8_17_Limits(t *testing.T) {
	rule := `{"location":"/x","tdm-reservation":1}`
	pad := func(n int) string { return "[" + rule + strings.Repeat(" ", n-len(rule)-2) + "]" }
	if v, _ := tdmOf(t, pad(usage.MaxTDMRep), "/x"); v != d {
		t.Errorf("1 MiB: %v", v)
	}
	if _, err := usage.ParseTDMRep([]byte(pad(usage.MaxTDMRep + 1))); err == nil {
		t.Error("over 1 MiB, and read")
	}
	many := func(n int) string {
		return "[" + strings.Repeat(`{"location":"/y","tdm-reservation":1},`, n) + rule + "]"
	}
	if v, _ := tdmOf(t, many(9_999), "/x"); v != d {
		t.Errorf("rule 10,000: %v", v)
	}
	if v, _ := tdmOf(t, many(10_000), "/x"); v != u {
		t.Errorf("rule 10,001: %v", v)
	}
	long := "/" + strings.Repeat("a", 8<<10-1)
	for n, want := range []usage.Value{d, u} {
		body := fmt.Sprintf(`[{"location":"%s","tdm-reservation":1}]`, long+strings.Repeat("a", n))
		if v, _ := tdmOf(t, body, long+"a"); v != want {
			t.Errorf("a location of 8 KiB and %d bytes: %v", n, v)
		}
	}
}
