package search

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/webtext"
)

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		s     string
		marks [][2]int
		want  []span
	}{
		{"", nil, nil},
		{"a b", nil, []span{{"a b", false}}},
		{"a b c", [][2]int{{0, 1}, {4, 5}}, []span{{"a", true}, {" b ", false}, {"c", true}}},
		{"quiet", [][2]int{{0, 5}}, []span{{"quiet", true}}},
		{"über", [][2]int{{0, 1}}, []span{{"über", false}}}, // cuts a character in two
		{"über", [][2]int{{1, 3}}, []span{{"über", false}}}, // begins within one
		{"über", [][2]int{{0, 2}}, []span{{"ü", true}, {"ber", false}}},
		{"abc", [][2]int{{-1, 2}, {2, 2}, {3, 1}, {1, 4}, {0, 1 << 40}}, []span{{"abc", false}}},
		{"abcd", [][2]int{{1, 3}, {2, 4}, {0, 1}}, []span{{"a", false}, {"bc", true}, {"d", false}}},
		{"a\x00b\u202ec", [][2]int{{0, 2}}, []span{{"a", true}, {"bc", false}}},
	} {
		if got := spans(c.s, c.marks); !reflect.DeepEqual(got, c.want) {
			t.Errorf("spans(%q, %v) = %v, want %v", c.s, c.marks, got, c.want)
		}
	}
	long := strings.Repeat("x ", 5000)
	n := 0
	for _, s := range spans(long, [][2]int{{2, 3}, {4, 5}}) {
		n += utf8.RuneCountInString(s.Text)
	}
	if n != maxSnippet {
		t.Errorf("%d characters are shown of a long snippet", n)
	}
}

func TestCrumbs(t *testing.T) {
	for raw, want := range map[string][]string{
		"https://a.example/":                           {"a.example"},
		"https://a.example:8080/b/c.html":              {"a.example:8080", "b", "c.html"},
		"https://a.example/b%20c/%C3%BC?q=%20&x":       {"a.example", "b c", "ü?q= &x"},
		"https://a.example/%E2%80%AEx/%00":             {"a.example", "%E2%80%AEx", "%00"},
		"https://a.example/1/2/3/4/5/6":                {"a.example", "1", "…", "5", "6"},
		"https://a.example/?q":                         {"a.example?q"},
		"javascript:alert(1)":                          {"javascript:alert(1)"},
		"//a.example/":                                 {"//a.example/"},
		"https://a.example/" + strings.Repeat("x", 50): {"a.example", strings.Repeat("x", maxCrumb-1) + "…"},
	} {
		if got := crumbs(raw); !slices.Equal(got, want) {
			t.Errorf("crumbs(%q) = %q, want %q", raw, got, want)
		}
	}
}

// Whatever a site sends, nothing on the page has an effect on the reader's terminal or browser.
func FuzzText(f *testing.F) {
	f.Add("The \u202equiet\x1b harbor", 4, 9, "https://a.example/%E2%80%AE?x")
	f.Fuzz(func(t *testing.T, s string, from, to int, raw string) {
		all := webtext.Clean(raw)
		for _, c := range crumbs(raw) {
			all += c
		}
		n := 0
		for _, p := range spans(s, [][2]int{{from, to}, {to, from + to}}) {
			all += p.Text
			n += utf8.RuneCountInString(p.Text)
		}
		if n > maxSnippet {
			t.Errorf("%d characters", n)
		}
		for _, r := range all {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' {
				t.Errorf("%q is shown", r)
			}
		}
		if !utf8.ValidString(all) {
			t.Errorf("%q is no UTF-8", all)
		}
	})
}
