package site

import (
	"net/url"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	n, err := newNames("index.html", DefaultIgnore())
	if err != nil {
		t.Fatal(err)
	}
	for rel, want := range map[string]string{
		"index.html": "", "docs/index.html": "docs/", "docs/index.htm": "docs/index.htm", "a b/ü,(1)?#%.html": "a%20b/%C3%BC%2C(1)%3F%23%25.html",
		"\xff": "%FF", "robots.txt/x": "-", "robots.txt": "-", "rupinfo.txt": "-", "docs/robots.txt": "docs/robots.txt",
		".htaccess": "-", ".well-known/x": "-", "a/.git/x": "-", "a~": "-", "a/#x#": "-", "x.tmp": "-", "x.tmp/y": "-", "tmp": "tmp",
		strings.Repeat("x", maxEscaped): strings.Repeat("x", maxEscaped), strings.Repeat("x", maxEscaped+1): "-", "a&b;c=d@e:f": "a&b;c=d@e:f",
	} {
		got := "-"
		if n.announced(rel) {
			got = n.url(rel)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", rel, got, want)
		}
		if back := unkey(key(rel)); back != rel {
			t.Errorf("%q comes back as %q", rel, back)
		}
		if want != "-" {
			u, err := url.Parse("http://h.example/" + want)
			if err != nil {
				t.Errorf("%q: %v", want, err)
			} else if got := strings.TrimPrefix(u.Path, "/"); got != strings.TrimSuffix(rel, "index.html") {
				t.Errorf("%q serves %q", want, got)
			}
		}
	}
	for _, index := range []string{"a/b", "\x00"} {
		if _, err := newNames(index, nil); err == nil {
			t.Errorf("index %q taken", index)
		}
	}
	for _, p := range []string{"[", "a/b"} {
		if _, err := newNames("", []string{p}); err == nil {
			t.Errorf("pattern %q taken", p)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a b/ü,.html")
	f.Fuzz(func(t *testing.T, rel string) {
		u, err := url.Parse("http://h.example/x/" + escape(rel))
		if err != nil || u.Path != "/x/"+rel || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(escape(rel), ", \r\n") {
			t.Errorf("%q: %q, %v", rel, escape(rel), err)
		}
	})
}
