package robots

import (
	"strings"
	"testing"
)

// Formats §1.4: the normal form, for a rule (wild) and for a URL path.
func TestFormats_1_4_NormalForm(t *testing.T) {
	for _, tt := range []struct{ in, path, rule string }{
		{"/abc-._~", "/abc-._~", "/abc-._~"},
		{"/a b", "/a%20b", "/a%20b"},
		{"/ü", "/%C3%BC", "/%C3%BC"},
		{"/\xff\x00\x1f\x7f", "/%FF%00%1F%7F", "/%FF%00%1F%7F"},
		{"/\"<>[\\]^{|}`", "/%22%3C%3E%5B%5C%5D%5E%7B%7C%7D%60", "/%22%3C%3E%5B%5C%5D%5E%7B%7C%7D%60"},
		{"/:/?@!&'()+,;=", "/:/?@!&'()+,;=", "/:/?@!&'()+,;="},
		{"/%41%7e%2D%2e%5F%30", "/A~-._0", "/A~-._0"},
		{"/%2f%3a%c3%bc%20", "/%2F%3A%C3%BC%20", "/%2F%3A%C3%BC%20"},
		{"/%2F%3A", "/%2F%3A", "/%2F%3A"},
		{"/*", "/%2A", "/*"},
		{"/%2a%24", "/%2A%24", "/%2A%24"},
		{"/a$b", "/a%24b", "/a%24b"},
		// A "%" that begins no escape counts as %25, and does not join what follows.
		{"/%", "/%25", "/%25"},
		{"/%4", "/%254", "/%254"},
		{"/%zz", "/%25zz", "/%25zz"},
		{"/%4z%41", "/%254zA", "/%254zA"},
		{"/%2541", "/%2541", "/%2541"},
		{"/%%41", "/%25A", "/%25A"},
		{"/%%34%31", "/%2541", "/%2541"},
		{"/%%341", "/%2541", "/%2541"},
		{"/%4%31", "/%2541", "/%2541"},
		{"/%%7a%31", "/%25z1", "/%25z1"},
		{"/100%*", "/100%25%2A", "/100%25*"},
		{"", "", ""},
	} {
		if got := normalize(tt.in, false); got != tt.path {
			t.Errorf("path %q: %q, want %q", tt.in, got, tt.path)
		}
		if got := normalize(tt.in, true); got != tt.rule {
			t.Errorf("rule %q: %q, want %q", tt.in, got, tt.rule)
		}
		for _, s := range []string{tt.path, tt.rule} {
			if again := normalize(s, true); again != s {
				t.Errorf("%q is not normal: %q", s, again)
			}
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"/a%2fb", "/%%34%31", "/ü*$", "%", "%%%", "/%4%34%31x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		path, rule := normalize(s, false), normalize(s, true)
		if again := normalize(path, false); again != path {
			t.Errorf("path %q: %q, then %q", s, path, again)
		}
		if again := normalize(rule, true); again != rule {
			t.Errorf("rule %q: %q, then %q", s, rule, again)
		}
		if strings.ReplaceAll(rule, "*", "%2A") != path {
			t.Errorf("%q: path %q and rule %q differ in more than *", s, path, rule)
		}
		for i := range len(path) {
			if c := path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>[\\]^{|}`*$", c) >= 0 {
				t.Errorf("%q: octet %q in %q", s, c, path)
			}
		}
	})
}
