package visit

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestManyURLsWithOneText(t *testing.T) {
	var r repeats
	at := func(i int) canon.URL { return canon.URL(fmt.Sprintf("http://h.example/%d", i)) }
	for i := range 3 * maxSame {
		tooMany, first := r.text(at(i), 7)
		if tooMany != (i >= maxSame) || first != (i == maxSame) {
			t.Errorf("URL %d: too many %v, first %v", i, tooMany, first)
		}
		if tooMany, _ := r.text(at(0), 8); tooMany { // one URL, however often
			t.Error("one URL is too many")
		}
		if tooMany, _ := r.text(at(i), uint64(100+i)); tooMany {
			t.Error("texts of their own are too many")
		}
	}
	if tooMany, _ := r.text("http://other.example/", 7); tooMany {
		t.Error("it holds for another host")
	}
	// What is remembered is bounded, of a host and of all.
	for i := range 10 * repeatTexts {
		r.text(at(i), uint64(1000+i))
	}
	if n := len(r.hosts["h.example"].Value.(*repeated).texts); n > repeatTexts {
		t.Errorf("%d texts of a host are remembered", n)
	}
	for i := range repeatHosts + 10 {
		r.text(canon.URL(fmt.Sprintf("http://h%d.example/", i)), 7)
	}
	if len(r.hosts) != repeatHosts || r.order.Len() != repeatHosts {
		t.Errorf("%d hosts are remembered", len(r.hosts))
	}
}

// Pages of one template are not one text, however alike. Markup and white space do not count.
func TestTextOf(t *testing.T) {
	page := func(i int) []byte {
		return fmt.Appendf(nil, "<title>T</title><script>%d</script><p>%s</p>Part no. %d", i, strings.Repeat("the words of the template ", 50), i)
	}
	if a, b := page(1), page(2); likenessOf(typeHTML, a) != likenessOf(typeHTML, b) || textOf(typeHTML, a) == textOf(typeHTML, b) {
		t.Error("pages of one template are one text")
	}
	for kind, same := range map[string][]string{
		typeHTML:  {"<p>a  b</p>c", "<div class=x>a\nb</div><style>d</style>\n<b>c</b>"},
		typeXHTML: {"<script/><p>a</p>", "<p><![CDATA[a]]></p>"},
		typeText:  {"a b", " a\n\tb\n"},
	} {
		if a, b := textOf(kind, []byte(same[0])), textOf(kind, []byte(same[1])); a != b || a == 0 {
			t.Errorf("%s: %q are not one text", kind, same)
		}
	}
	if textOf(typeHTML, []byte("<p> </p>")) != 0 {
		t.Error("a page without text has one")
	}
}

func TestWithoutSession(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	for in, want := range map[string]string{
		"/a;jsessionid=" + id + "?x=1":   "/a?x=1",
		"/a;v=1;JSESSIONID=" + id + "/b": "/a;v=1/b",
		"/a?PHPSESSID=" + id:             "/a",
		"/a?x=1&sid=" + id + "&y=2":      "/a?x=1&y=2",
		"/a?CFID=12345&CFTOKEN=67890":    "/a",
		"/a?ASPSESSIONIDQQ=" + id:        "/a",
		"/a?s=" + id:                     "/a",
		"/a?sid=1":                       "/a?sid=1",
		"/a?session=morning":             "/a?session=morning",
		"/a?s=words":                     "/a?s=words",
		"/a?side=" + id:                  "/a?side=" + id,
		"/a;b=c?d=e":                     "/a;b=c?d=e",
		"/a?":                            "/a?",
		"/plain":                         "/plain",
	} {
		if got := withoutSession(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Session ids are taken off once pages were the same without, and never where they were not.
func TestSessionsAreLearnt(t *testing.T) {
	id := func(i int) string { return fmt.Sprintf("%032x", i+1) }
	page := func(host string, i int) canon.URL {
		return canon.URL("http://" + host + "/p?sid=" + id(i) + "&x=1")
	}
	for name, tt := range map[string]struct {
		text  func(i int) string
		clean bool
	}{
		"the same":               {func(i int) string { return "words <a href='/q?sid=" + id(100+i) + "'>q</a>" }, true},
		"the same, with its own": {func(i int) string { return "<input value=" + id(i) + "><a href='/q;jsessionid=" + id(i) + "'>" }, true},
		"others":                 {func(i int) string { return fmt.Sprint("section ", i) }, false},
	} {
		var r repeats
		u := page("h.example", 0)
		for i := range enoughSame + 1 {
			u = page("h.example", i)
			if r.clean(u) != u {
				t.Errorf("%s: it is taken off after %d pages", name, i)
			}
			short, ok := sessionless(u)
			if !ok || short != "http://h.example/p?x=1" {
				t.Fatalf("%s without its session id is %s", u, short)
			}
			known := r.session(u, short, sessionDigest(u, []byte(tt.text(i))))
			if known != (tt.clean && i == enoughSame) {
				t.Errorf("%s: known after %d pages: %v", name, i+1, known)
			}
		}
		if got := r.clean(u); (got != u) != tt.clean {
			t.Errorf("%s: %s becomes %s", name, u, got)
		}
		if other := page("other.example", 1); r.clean(other) != other {
			t.Errorf("%s: it is taken off at another host", name)
		}
	}
	// A page that differs once settles it, whatever comes after.
	var r repeats
	for i, text := range []string{"a", "b", "b", "b", "b", "b"} {
		u := page("h.example", i)
		short, _ := sessionless(u)
		r.session(u, short, sha256.Sum256([]byte(text)))
	}
	if u := page("h.example", 9); r.clean(u) != u {
		t.Error("it is taken off although pages differed")
	}
}

func FuzzWithoutSession(f *testing.F) {
	for _, s := range []string{"/a;jsessionid=12345?b=c", "/a?sid=0123456789abcdef&x", "/;;?&&==", "/a;b/c;d?e;f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := withoutSession(s)
		if twice := withoutSession(once); twice != once || len(once) > len(s) {
			t.Errorf("%q becomes %q, and that %q", s, once, twice)
		}
	})
}
