package robots

import (
	"slices"
	"testing"
)

// Lines about use for each robot, with the files of TestUsage_8_9 and 8_10.
func TestUsageFor(t *testing.T) {
	f := Parse([]byte(`License: https://l.example/
Content-Usage: search=n
User-agent: *
Content-Usage: /x train-ai=n # not for x
User-agent: examplebot
Content-Signal: ai-train=no
Disallow: /`))
	for token, want := range map[string][]int{"examplebot": {1, 2, 6}, "stranger": {1, 4}} {
		var got []int
		for _, l := range f.UsageFor(token) {
			got = append(got, l.Line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: lines %v, want %v", token, got, want)
		}
	}
	if l := f.UsageFor("stranger")[1]; l != (UsageLine{ContentUsage, "/x", "train-ai=n", 4, "Content-Usage: /x train-ai=n"}) {
		t.Errorf("%+v", l)
	}
	for _, f := range []*File{{}, Parse(nil), ForState(Unreachable, nil)} {
		if got := f.UsageFor("examplebot"); len(got) != 0 {
			t.Errorf("of nothing: %v", got)
		}
	}
}

func TestRulesFor(t *testing.T) {
	f := Parse([]byte(`User-agent: *
Disallow: /all # not us
User-agent: examplebot
Allow: /a
Disallow: /b
User-agent: other
Disallow: /c
User-agent: ExampleBot
Disallow: /d`))
	for token, want := range map[string][]RuleLine{
		"examplebot": {{4, true, "Allow: /a"}, {5, false, "Disallow: /b"}, {9, false, "Disallow: /d"}},
		"other":      {{7, false, "Disallow: /c"}},
		"stranger":   {{2, false, "Disallow: /all"}},
	} {
		if got := f.RulesFor(token); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", token, got, want)
		}
	}
	for _, f := range []*File{{}, Parse(nil), ForState(Unreachable, nil)} {
		if got := f.RulesFor("examplebot"); len(got) != 0 {
			t.Errorf("of nothing: %v", got)
		}
	}
}
