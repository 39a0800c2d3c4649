package scope

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		kind, seeds string
		want        string
	}{
		{"domain", "https://docs.example.org/", "docs.example.org and all other hosts of example.org"},
		{"", "https://docs.example.org/ https://docs.example.org/a https://www.example.org/", "docs.example.org, www.example.org and all other hosts of example.org"},
		{"domain", "https://example.org/", "example.org and all its hosts"},
		{"domain", "https://example.org/ https://a.b.co.uk/", "a.b.co.uk and all other hosts of b.co.uk; example.org and all its hosts"},
		{"domain", "http://127.0.0.1:8000/", "127.0.0.1"},
		{"domain", "http://localhost/", "localhost"},
		{"host", "https://docs.example.org/ http://docs.example.org/", "docs.example.org and no other host"},
		{"host", "https://a.example/ https://b.example/ https://c.example/", "a.example, b.example and c.example and no other host"},
		{"host", "https://a.example/ https://b.example/ https://c.example/ https://d.example/ https://e.example/", "a.example, b.example, c.example and 2 more hosts and no other host"},
		{"page", "https://a.example/x", "https://a.example/x only"},
		{"prefix", "https://a.example/guide/index.html", "all URLs below https://a.example/guide/"},
		{"any", "https://a.example/", "all hosts that links lead to, starting at a.example"},
		{"domain", "", "nothing yet, because there is no seed"},
	} {
		var seeds []canon.URL
		for _, s := range strings.Fields(tt.seeds) {
			u, err := canon.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			seeds = append(seeds, u)
		}
		if got := Words(Spec{Kind: tt.kind, Seeds: seeds}); got != tt.want {
			t.Errorf("%s of %q: %q, want %q", tt.kind, tt.seeds, got, tt.want)
		}
	}
	got := Words(Spec{Kind: "host", Seeds: []canon.URL{"https://a.example/"}, Include: []string{"/docs/"}, Exclude: []string{"a", "b", "c", "d"}})
	if want := "a.example and no other host, but besides the seeds only URLs that match /docs/, but no URL that matches a, b, c and 1 more rules"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Only a few of many seeds are listed.
func TestWordsAreBounded(t *testing.T) {
	for _, kind := range []string{"page", "prefix", "host", "domain", "any"} {
		var seeds []canon.URL
		for i := range 10_000 {
			seeds = append(seeds, canon.URL(fmt.Sprintf("https://h%d.example%d.org/", i%100, i)))
		}
		if got := Words(Spec{Kind: kind, Seeds: seeds}); len(got) > 500 {
			t.Errorf("%s: %d bytes: %.200s", kind, len(got), got)
		}
	}
}
