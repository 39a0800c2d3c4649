package visit

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestSignposts(t *testing.T) {
	h := http.Header{"Link": {
		`<https://doi.org/10.5072/x>; rel="cite-as", </x.csv>; rel=item; type="text/csv", <meta>; type="application/ld+json"; rel="describedby"`,
		`<https://p.example/x.jsonld> ; rel = "author describedby", <x.ttl>; rel="describedby"; type="text/turtle"`,
		`<meta>; rel=describedby; type=application/ld+json;`, `nonsense; rel="describedby"`, `<`, `<page.html>; rel=describedby`,
		`<set>; rel="linkset"; type="application/linkset+json", <set.txt>; rel=linkset; type="application/linkset", <untold>; rel=linkset, <x.jsonld>; rel=linkset`,
	}}
	want := []canon.URL{"https://p.example/a/meta", "https://p.example/x.jsonld", "https://p.example/a/set"}
	if got := signposts(h, "https://p.example/a/b"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of documents past the limit none is followed.
func TestSignpostsLimit(t *testing.T) {
	var h http.Header = http.Header{}
	for i := range maxSignposts + 1 {
		if n := len(signposts(h, "https://p.example/")); n != i {
			t.Errorf("%d of %d", n, i)
		}
		h.Add("Link", fmt.Sprintf("</%d>; rel=linkset; type=application/linkset+json", i))
	}
	if n := len(signposts(h, "https://p.example/")); n != maxSignposts {
		t.Errorf("%d of %d", n, maxSignposts+1)
	}
}

func FuzzSignposts(f *testing.F) {
	f.Add(`<a>; rel="describedby"; type=application/ld+json, <b>;;,`)
	f.Fuzz(func(t *testing.T, line string) {
		if n := len(signposts(http.Header{"Link": {line}}, "https://p.example/")); n > maxSignposts {
			t.Errorf("%d links", n)
		}
	})
}
