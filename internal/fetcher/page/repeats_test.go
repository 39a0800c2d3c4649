package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/answer"
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
	if a, b := page(1), page(2); likenessOf(answer.HTML, a) != likenessOf(answer.HTML, b) || textOf(answer.HTML, a) == textOf(answer.HTML, b) {
		t.Error("pages of one template are one text")
	}
	for kind, same := range map[string][]string{
		answer.HTML:  {"<p>a  b</p>c", "<div class=x>a\nb</div><style>d</style>\n<b>c</b>"},
		answer.XHTML: {"<script/><p>a</p>", "<p><![CDATA[a]]></p>"},
		answer.Text:  {"a b", " a\n\tb\n"},
	} {
		if a, b := textOf(kind, []byte(same[0])), textOf(kind, []byte(same[1])); a != b || a == 0 {
			t.Errorf("%s: %q are not one text", kind, same)
		}
	}
	if textOf(answer.HTML, []byte("<p> </p>")) != 0 {
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
		"/a?s=" + id:                     "/a?s=" + id,
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

// Session ids are taken off once the page without one was the same, and so were pages with others,
// and never where they were not.
func TestSessionsAreLearnt(t *testing.T) {
	id := func(i int) string { return fmt.Sprintf("%032x", i+1) }
	at := func(i int) canon.URL { return canon.URL("http://h.example/p?sid=" + id(i) + "&x=1") }
	const without = canon.URL("http://h.example/p?x=1")
	same := func(int) string { return "words" }
	type step struct {
		page  int // the id in its address; -1: none
		known bool
	}
	for name, tt := range map[string]struct {
		text  func(i int) string
		steps []step
		class crawl.Class // of the page without an id, before all this
		clean bool
	}{
		"only with ids":    {same, []step{{0, false}, {1, false}, {2, false}, {3, false}, {4, false}}, 0, false},
		"without at last":  {same, []step{{0, false}, {1, false}, {2, false}, {-1, true}}, 0, true},
		"without at first": {same, []step{{0, false}, {-1, false}, {1, false}, {2, true}, {3, false}}, 0, true},
		"one id, again":    {same, []step{{0, false}, {-1, false}, {0, false}, {0, false}, {1, false}}, 0, false},
		"ids in the markup": {func(i int) string {
			return "<input type=hidden name=PHPSESSID value=" + id(i) + "><a href='/q;jsessionid=" + id(i) + "'>"
		}, []step{{0, false}, {1, false}, {2, false}, {-1, true}}, 0, true},
		"others":             {func(i int) string { return fmt.Sprint("section ", i) }, []step{{0, false}, {-1, false}, {1, false}, {2, false}}, 0, false},
		"ids in the text":    {func(i int) string { return "sid=" + id(i) }, []step{{0, false}, {1, false}, {2, false}, {-1, false}}, 0, false},
		"another without":    {func(i int) string { return fmt.Sprint(i < 0) }, []step{{0, false}, {1, false}, {2, false}, {-1, false}, {3, false}}, 0, false},
		"none without":       {same, []step{{0, false}, {1, false}, {2, false}, {-1, false}, {3, false}}, crawl.Failed, false},
		"it leads elsewhere": {same, []step{{0, false}, {1, false}, {2, false}, {-1, false}}, crawl.Redirected, false},
		"it is tried again":  {same, []step{{0, false}, {1, false}, {2, false}, {-1, true}}, crawl.Retry, true},
	} {
		var r repeats
		for i, step := range tt.steps {
			if u := at(99); r.clean(u) != u && i == 0 {
				t.Errorf("%s: it is taken off before", name)
			}
			digest, known := sessionDigest([]byte(tt.text(step.page))), false
			if step.page < 0 {
				if r.ended(without, tt.class); r.tried(without) {
					known = r.atShort(without, digest)
				}
			} else {
				var try bool
				if try, known = r.session(at(step.page), without, digest); try != (i == 0) {
					t.Errorf("%s: page %d: the address without an id is to be tried: %v", name, i, try)
				}
			}
			if known != step.known {
				t.Errorf("%s: known by page %d: %v", name, i, known)
			}
		}
		if u := at(99); (r.clean(u) == without) != tt.clean {
			t.Errorf("%s: %s becomes %s", name, u, r.clean(u))
		}
		if other := canon.URL("http://other.example/p?sid=" + id(1)); r.clean(other) != other {
			t.Errorf("%s: it is taken off at another host", name)
		}
		// That a host asks for them settles it, whatever was learnt before.
		if r.needed("h.example"); r.clean(at(99)) != at(99) || r.noisy.Load() != 0 {
			t.Errorf("%s: it is taken off although the host asks for it", name)
		}
	}
	var r repeats
	tries := 0
	for i := range 10 {
		if try, _ := r.session(at(i), canon.URL(fmt.Sprint("http://h.example/", i)), sessionDigest(nil)); try {
			tries++
		}
	}
	if tries != maxShorts {
		t.Errorf("%d addresses are tried, want %d", tries, maxShorts)
	}
}

// Session ids do not count in URLs and hidden fields, and count anywhere else.
func TestSessionDigest(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	for _, same := range [][2]string{
		{"<a href=/a?sid=" + id + "&amp;b=c>", "<a href=/a?b=c>"}, {"<a href=/a?CFID=1234&CFTOKEN=5678&b=c>", "<a href=/a?b=c>"},
		{"<a href=/a?b=c&amp;PHPSESSID=" + id + ">", "<a href=/a?b=c>"}, {"<a href='/a;jsessionid=" + id + "?b=c'>", "<a href='/a?b=c'>"},
		{"a<input value='" + id + "' name=\"sid\" type='hidden'/>", "a"},
	} {
		if sessionDigest([]byte(same[0])) != sessionDigest([]byte(same[1])) {
			t.Errorf("%s is not %s", same[0], same[1])
		}
	}
	for _, other := range []string{"sid=%s", "<p id=%s>", "<input name=sid value=%s>", "<input type=hidden name=q value=%s>", "/a?q=%s", "session=%s"} {
		if sessionDigest(fmt.Appendf(nil, other, id)) == sessionDigest(fmt.Appendf(nil, other, "fedcba9876543210")) {
			t.Errorf("%s does not count", other)
		}
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
