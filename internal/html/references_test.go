package html

import (
	"bytes"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
)

// wantValue is what html.Tokenizer of golang.org/x/net makes of an attribute's value.
func wantValue(raw string) []byte {
	z := nethtml.NewTokenizer(strings.NewReader(`<a href="` + raw + `">`))
	z.Next()
	z.TagName()
	_, want, _ := z.TagAttr()
	return want
}

func TestValue(t *testing.T) {
	for raw, want := range map[string]string{
		"":                   "",
		"a b":                "a b",
		"?a=1&copy=2&amp;b":  "?a=1&copy=2&b",
		"&copy":              "©",
		"&copyx;":            "&copyx;",
		"&notit;":            "&notit;",
		"&#38;x&#x26":        "&x&",
		"&fjlig;&nGt;&semi;": "fj≫⃒;",
		"&#128;&#0;&#xD800;": "€\uFFFD\uFFFD",
		"a\r\nb\rc\x00":      "a\nb\nc\uFFFD",
		"&;&&#;&#x;":         "&;&&#;&#x;",
	} {
		if got := Value([]byte(raw)); string(got) != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
		if got := wantValue(raw); string(got) != want {
			t.Errorf("%q: the tokenizer makes %q of it, not %q", raw, got, want)
		}
	}
}

// The value of an attribute is what the tokenizer of golang.org/x/net makes of it.
func FuzzAppendValue(f *testing.F) {
	for _, s := range []string{"?a=1&copy=2&amp;b", "&copy", "&copyx;", "&notit;", "&#38;x", "&#x26", "&;&", "&amp=", "&lt", "&fjlig;&semi;&nGt;", "a\r\n\r\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, val []byte) {
		if bytes.IndexByte(val, '"') >= 0 {
			return
		}
		if got, want := AppendValue([]byte("x"), val), wantValue(string(val)); string(got) != "x"+string(want) {
			t.Fatalf("%q: %q, want %q", val, got[1:], want)
		}
	})
}

// Reference and LongReference together resolve what the tokenizer resolves.
func FuzzReference(f *testing.F) {
	for _, s := range []string{"&amp;", "&lt;x", "&#65;", "&#9999999;", "&#x41;y", "&notit;", "& ", "&copy 2020", "&"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 || text[0] != '&' {
			return
		}
		if r, n := Reference(text); n > 0 {
			if got, want := string(r)+nethtml.UnescapeString(string(text[n:])), nethtml.UnescapeString(string(text)); got != want {
				t.Fatalf("%q: %q, want %q", text, got, want)
			}
		}
		if s, n := LongReference(text); n == 0 || s != nethtml.UnescapeString(string(text[:n])) {
			t.Fatalf("%q: %q, %d", text, s, n)
		}
	})
}
