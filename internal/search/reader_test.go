package search

import "testing"

func TestPathWords(t *testing.T) {
	for u, want := range map[string][2]string{
		"https://h.example/docs/sql-createindex.html":   {"sql-createindex", "/docs/"},
		"https://h.example/docs/":                       {"docs", "/"},
		"https://h.example/":                            {"", ""},
		"https://h.example/a%20b/c.tar.gz?q=1":          {"c.tar", "/a b/"},
		"https://h.example/v1.2/release.notes.is.a.doc": {"release.notes.is.a", "/v1.2/"},
	} {
		if file, dir := pathWords(u); file != want[0] || dir != want[1] {
			t.Errorf("%s: %q, %q; want %q", u, file, dir, want)
		}
	}
}
