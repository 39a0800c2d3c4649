package webtext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for s, want := range map[string]string{
		"a\tb\nc":                          "a b c",
		"\x1b[31mred\u009b":                "[31mred",
		"evil\u202egpj.exe":                "evilgpj.exe",
		"\u2066a\u2069\u200f":              "a",
		"می\u200cخواهم":                    "می\u200cخواهم",
		"\U0001f468\u200d\U0001f469":       "\U0001f468\u200d\U0001f469",
		"z" + strings.Repeat("\u0301", 90): "z" + strings.Repeat("\u0301", MaxPiled),
		"a\xffb":                           "a\ufffdb",
		"\ufeffa\u00ad":                    "a",
		"\u06dd\u0662 \u0601\u0661":        "\u06dd\u0662 \u0601\u0661", // signs around numbers
	} {
		if got := Clean(s); got != want {
			t.Errorf("Clean(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for n, want := range map[int]string{4: "über", 3: "üb…", 1: "…", 0: "", -1: ""} {
		if got := Short("über", n); got != want {
			t.Errorf("Short(über, %d) = %q, want %q", n, got, want)
		}
	}
}

func TestURL(t *testing.T) {
	for raw, want := range map[string]bool{
		"https://a.example/x?y": true, "http://a.example": true, "javascript:alert(1)": false, "//a.example/": false,
		"https:/a": false, "data:text/html,x": false, "ftp://a.example/": false, "": false, "http://%zz/": false,
	} {
		if _, ok := URL(raw); ok != want {
			t.Errorf("URL(%q) is %v", raw, ok)
		}
	}
}

// Whatever a site sends, nothing of it controls anything.
func FuzzClean(f *testing.F) {
	f.Add("The \u202equiet\x1b harbor", 5)
	f.Fuzz(func(t *testing.T, s string, n int) {
		got := Clean(s)
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' {
				t.Errorf("%q is shown", r)
			}
		}
		if Clean(got) != got || !utf8.ValidString(got) {
			t.Errorf("%q is not clean", got)
		}
		if short := Short(got, n); utf8.RuneCountInString(short) > max(n, 0) {
			t.Errorf("%q has more than %d characters", short, n)
		}
	})
}

func TestNumbers(t *testing.T) {
	for want, all := range map[string][]int{
		"": nil, "1": {1}, "1 and 2": {1, 2}, "1, 2 and 5": {1, 2, 5}, "1, 2, 3, 4, 5, 6, 7, 8 and 2 more": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	} {
		if got := Numbers(all); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}
