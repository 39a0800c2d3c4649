package rup

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

func TestRUP_6_2_Filters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		exclude, includeOnly string
		url                  string
		want                 bool
	}{
		{"", "", "http://www.site.example/a", true},
		{`\.gif$`, "", "http://www.site.example/a.gif", false}, // report all except these
		{`\.gif$`, "", "http://www.site.example/a.gif.html", true},
		{`\.gif$ ^/tmp/`, "", "http://www.site.example/tmp/a", false},
		// the path, without its query
		{`\.gif$`, "", "http://www.site.example/a.gif?size=1", false},
		{"^/tmp/", "", "http://www.site.example/a/tmp/", true},
		{"tmp", "", "http://www.site.example/a/xtmpx", false}, // not anchored
		{"", "^/~di/", "http://www.site.example/~di/a", true}, // report only these
		{"", "^/~di/", "http://www.site.example/a", false},
		{"", "^/$", "http://www.site.example/", true},
		{"", "site", "http://www.site.example/a", false}, // the host is not part of the path
		{"", "^http://www[.]site[.]example/a", "http://www.site.example/a", true},
		{"", "://www", "http://www.site.example/a", true},
		{"", "/a://www", "http://www.site.example/a", false},
		{"/A", "", "http://www.site.example/a", true},
	} {
		f, err := NewFilter(strings.Fields(c.exclude), strings.Fields(c.includeOnly))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Wants(c.url); got != c.want {
			t.Errorf("exclude %q, include %q: %s wanted %v", c.exclude, c.includeOnly, c.url, got)
		}
	}
	if !new(Filter).Wants("http://www.site.example/") {
		t.Error("no filter filters")
	}
}

func TestRUP_6_2_FilterLimits(t *testing.T) {
	t.Parallel()
	many := strings.Fields(strings.Repeat("a ", MaxPatterns))
	for _, c := range []struct {
		exclude, includeOnly []string
		ok                   bool
	}{
		{nil, nil, true}, {many, nil, true}, {nil, many, true}, {many, many[:1], false}, {append(many, "b"), nil, false},
		{[]string{strings.Repeat("a", MaxPattern)}, nil, true}, {[]string{strings.Repeat("a", MaxPattern+1)}, nil, false},
		{[]string{"("}, nil, false}, {[]string{""}, nil, false}, {[]string{"a b"}, nil, false}, {[]string{`(\w+)\1`}, nil, false}, {[]string{"(?=a)"}, nil, false},
	} {
		if _, err := NewFilter(c.exclude, c.includeOnly); (err == nil) != c.ok {
			t.Errorf("%d and %d patterns, %.40q: %v", len(c.exclude), len(c.includeOnly), c.exclude, err)
		}
	}
}

// Patterns that would take much memory or time are refused before they are compiled, individually
// and together.
func TestRUP_6_5_RegexBombs(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"((((x{30}){30}){30}){30})", "(x{1000}){1000}", "x{1001}", strings.Repeat("x{1000}", 100), strings.Repeat(`\pL{1000}`, 90),
		strings.Repeat("(a|", 300) + strings.Repeat(")", 300) + "{1000}",
	} {
		if _, err := NewFilter(nil, []string{pattern}); err == nil {
			t.Errorf("%.40q is taken", pattern)
		}
	}
	var together []string
	for range MaxPatterns {
		together = append(together, "x{100}")
	}
	if _, err := NewFilter(together, nil); err == nil {
		t.Error("many that are each within limits are taken")
	}
	f, err := NewFilter([]string{"(a*)*b", "(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	long := func(n int) func() {
		url := "http://www.site.example/" + strings.Repeat("a", n) + "!"
		return func() { f.Wants(url) }
	}
	testaid.Linear(t, "a URL that the patterns try in many ways", long(1000), long(8000))
}
