package robots

import (
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// The names of Clean-param lines count in the cache as the memory that they take.
func TestNamesCountInTheCache(t *testing.T) {
	o := canon.Origin{Scheme: "http", Host: "a.example", Port: 80}
	for text, want := range map[string]int{"User-agent: *\nDisallow: /\n": 26, "Clean-param: a&b /\nClean-param: c\n": 34 + 300} {
		r := newRuleset(robots.Parse([]byte(text)), "curtsy", o)
		if got := r.size(len(text)); got != want {
			t.Errorf("%q counts as %d, want %d", text, got, want)
		}
	}
}
