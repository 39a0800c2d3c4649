package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
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
	h := http.Header{}
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

// What a header says of the dataset that its page is about, as a set of links.
func TestSignposted(t *testing.T) {
	const set = `<https://schema.org/Dataset>; rel=type, </x.csv>; rel="item other"; type="text/csv"; title="one, \"two\"; three"`
	for _, tt := range []struct{ name, header, want string }{
		{"all", set + `, <https://doi.org/10.5072/x>; rel="cite-as"; rel=item, <https://l.example/by>;rel=license,<m>; rel=describedby`,
			`{"linkset":[{"anchor":"https://p.example/a/b","cite-as":[{"href":"https://doi.org/10.5072/x"}],"item":[{"href":"/x.csv","type":"text/csv","title":"one, \"two\"; three"}],"license":[{"href":"https://l.example/by"}],"type":[{"href":"https://schema.org/Dataset"}]}]}`},
		{"another type", `<https://schema.org/AboutPage>; rel=type, </x.csv>; rel=item`, ""},
		{"no type", `</x.csv>; rel=item`, ""},
		{"nothing to have", `<https://schema.org/Dataset>; rel=type, <l>; rel=license`, ""},
		{"of another page", `<https://schema.org/Dataset>; rel=type; anchor="/other", </x.csv>; rel=item`, ""},
		{"of a part", `<https://schema.org/Dataset>; rel=type; anchor="#part", </x.csv>; rel=item`, ""},
		{"of this page", `<https://schema.org/Dataset>; rel=type; anchor="b", </x.csv>; rel=item`,
			`{"linkset":[{"anchor":"https://p.example/a/b","item":[{"href":"/x.csv"}],"type":[{"href":"https://schema.org/Dataset"}]}]}`},
	} {
		if got := string(signposted(http.Header{"Link": {tt.header}}, "https://p.example/a/b")); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	// A header as long as it may be, and one byte longer.
	long := http.Header{"Link": {set, ""}}
	room := crawl.MaxSignposts - len(signposted(long, "https://p.example/")) - len(`,{"href":""}`)
	for n, read := range map[int]bool{room: true, room + 1: false} {
		long["Link"][1] = "<" + strings.Repeat("x", n) + ">; rel=item"
		if got := signposted(long, "https://p.example/"); (got != nil) != read || read && len(got) != crawl.MaxSignposts {
			t.Errorf("%d bytes more: %d", n, len(got))
		}
	}
}

func FuzzSignposts(f *testing.F) {
	f.Add(`<a>; rel="describedby"; type=application/ld+json, <b>;;,`)
	f.Fuzz(func(t *testing.T, line string) {
		h := http.Header{"Link": {"<https://schema.org/Dataset>; rel=type", line}}
		if n := len(signposts(h, "https://p.example/")); n > maxSignposts {
			t.Errorf("%d links", n)
		}
		if set := signposted(h, "https://p.example/"); set != nil && (!json.Valid(set) || len(set) > crawl.MaxSignposts) {
			t.Errorf("%q", set)
		}
	})
}
