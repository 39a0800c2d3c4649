package robots

import (
	"strings"
	"testing"
)

// FuzzCleanURL: a clean URL is clean, has the same path, and only parameters that were there, in
// their order.
func FuzzCleanURL(f *testing.F) {
	f.Add("Clean-param: a&b /x*y\nClean-param: c", "/x1y?a=1&d&c=2&d=3#e")
	f.Add("Clean-param: a[] /", "/?a%5b%5d=1&%61%5B%5D&b")
	f.Fuzz(func(t *testing.T, body, pathQuery string) {
		file := Parse([]byte(body))
		clean := file.CleanURL(pathQuery)
		if again := file.CleanURL(clean); again != clean {
			t.Errorf("%q is cleaned to %q, and that to %q", pathQuery, clean, again)
		}
		bare, _, _ := strings.Cut(pathQuery, "#")
		path, query, _ := strings.Cut(bare, "?")
		got, left, _ := strings.Cut(clean, "?")
		if got != path {
			t.Errorf("the path of %q became %q", pathQuery, got)
		}
		was := strings.Split(query, "&")
		for _, pair := range strings.Split(left, "&") {
			for len(was) > 0 && was[0] != pair {
				was = was[1:]
			}
			if len(was) == 0 && left != "" {
				t.Errorf("%q has %q, which %q had not", clean, pair, pathQuery)
			}
			was = was[min(len(was), 1):]
		}
	})
}
