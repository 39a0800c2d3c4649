package answer

import (
	"net/http"
	"strings"
	"testing"
)

func TestMediaType(t *testing.T) {
	for in, want := range map[string]string{
		"text/html": "text/html", "Text/HTML; charset=UTF-8": "text/html", " text/plain ;x": "text/plain", "": "", "html": "",
		"text/html, text/plain": "text/html", "text/": "", "*/*": "", "text/html charset=utf-8": "", "/html": "", "text html/x": "", ";charset=x": "",
	} {
		if got := MediaType(in); got != want {
			t.Errorf("MediaType(%q) = %q, want %q", in, got, want)
		}
	}
}

// Of several types the last one counts. What is not a type does not count.
func TestContentType(t *testing.T) {
	for want, lines := range map[string][]string{
		"":                        {"html", "*/*", "text/html charset=utf-8", "unknown/unknown"},
		"text/html":               {"text/plain", "text/html"},
		"text/html; charset=utf8": {"text/plain, text/html; charset=utf8, */*", "nothing"},
	} {
		if got := ContentType(http.Header{"Content-Type": lines}); got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
	if got := TypeDetail(http.Header{"Content-Type": {"html"}}, "image/png"); got != `image/png by its content; its Content-Type is "html"` {
		t.Error(got)
	}
	for want, first := range map[string]string{
		HTML: "<!DOCTYPE html><p>", Text: "words", XHTML: `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">`, "text/xml": "<?xml?><a/>",
	} {
		if got := Sniff([]byte(first)); got != want {
			t.Errorf("%s looks like %s, want %s", first, got, want)
		}
	}
}

func FuzzMediaType(f *testing.F) {
	for _, s := range []string{"text/html; charset=utf-8", "a/b,c/d", "/", ";", "text/html;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := MediaType(s)
		if got != strings.ToLower(got) || strings.ContainsAny(got, "; ,\t") || got != "" && !strings.Contains(got, "/") {
			t.Errorf("MediaType(%q) = %q", s, got)
		}
		if again := MediaType(got); again != got {
			t.Errorf("MediaType(%q) = %q, and of that %q", s, got, again)
		}
	})
}
