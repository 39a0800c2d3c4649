package canon

import (
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	b := NewBase("https://docs.example.org/manual/en/index.html?v=2")
	for _, tt := range []struct {
		ref  string
		want URL
	}{
		// The page itself.
		{"", "https://docs.example.org/manual/en/index.html?v=2"},
		{" \n", "https://docs.example.org/manual/en/index.html?v=2"},
		{"#top", "https://docs.example.org/manual/en/index.html?v=2"},
		{"?", "https://docs.example.org/manual/en/index.html"},
		{"?#top", "https://docs.example.org/manual/en/index.html"},
		{"?v=3#top", "https://docs.example.org/manual/en/index.html?v=3"},
		// Its directory and the directories above.
		{"install.html", "https://docs.example.org/manual/en/install.html"},
		{"a/b?c#d", "https://docs.example.org/manual/en/a/b?c"},
		{".", "https://docs.example.org/manual/en/"},
		{"./", "https://docs.example.org/manual/en/"},
		{"./?q", "https://docs.example.org/manual/en/?q"},
		{"././a", "https://docs.example.org/manual/en/a"},
		{"..", "https://docs.example.org/manual/"},
		{"../de/", "https://docs.example.org/manual/de/"},
		{"../../../../a", "https://docs.example.org/a"},
		{"a/../../b/./c", "https://docs.example.org/manual/b/c"},
		{".htaccess", "https://docs.example.org/manual/en/.htaccess"},
		{"..//a", "https://docs.example.org/manual//a"},
		{"%2e%2e/a", "https://docs.example.org/manual/a"},
		{"./a:b", "https://docs.example.org/manual/en/a:b"},
		{"a/b:c", "https://docs.example.org/manual/en/a/b:c"},
		{" a\n/b ", "https://docs.example.org/manual/en/a/b"},
		// The origin.
		{"/", "https://docs.example.org/"},
		{"/x?y=%7e", "https://docs.example.org/x?y=~"},
		{"/x/../y", "https://docs.example.org/y"},
		{`\x\y`, "https://docs.example.org/x/y"},
		{"/.well-known/x", "https://docs.example.org/.well-known/x"},
		// Another host, or only another scheme.
		{"//cdn.example.net", "https://cdn.example.net/"},
		{"//cdn.example.net?q", "https://cdn.example.net/?q"},
		{"///cdn.example.net/x", "https://cdn.example.net/x"},
		{`/\cdn.example.net/x`, "https://cdn.example.net/x"},
		{`\\cdn.example.net`, "https://cdn.example.net/"},
		{"//HOST:443/x", "https://host/x"},
		{"https:foo", "https://docs.example.org/manual/en/foo"}, // the base's own scheme: relative
		{"https:/foo", "https://docs.example.org/foo"},
		{"https:?q", "https://docs.example.org/manual/en/index.html?q"},
		{"https:", "https://docs.example.org/manual/en/index.html?v=2"},
		{"HTTPS:../foo", "https://docs.example.org/manual/foo"},
		{"https:///h/p", "https://h/p"},
		{"http:foo", "http://foo/"}, // another scheme: absolute
		{"http://docs.example.org/x", "http://docs.example.org/x"},
		// The base's origin as a prefix of a different URL.
		{"https://docs.example.org", "https://docs.example.org/"},
		{"https://docs.example.org?q", "https://docs.example.org/?q"},
		{"https://docs.example.org/a/./b", "https://docs.example.org/a/b"},
		{"https://docs.example.org:8443/x", "https://docs.example.org:8443/x"},
		{"https://docs.example.org.evil.example/x", "https://docs.example.org.evil.example/x"},
		{"https://docs.example.org@evil.example/x", "https://evil.example/x"},
	} {
		if got, err := b.Join(tt.ref); got != tt.want || err != nil {
			t.Errorf("Join(%q) = %q, %v, want %q", tt.ref, got, err, tt.want)
		}
	}
	for ref, want := range map[string]error{
		"mailto:a@b": ErrScheme, "a:b": ErrScheme, "java\nscript:x": ErrScheme, "//": ErrHost, "//:80/": ErrHost,
		"//h:x/": ErrSyntax, strings.Repeat("x", MaxLen): ErrTooLong,
	} {
		if got, err := b.Join(ref); got != "" || err != want {
			t.Errorf("Join(%.40q) = %q, %v, want %v", ref, got, err, want)
		}
	}
}

func TestRebase(t *testing.T) {
	page := NewBase("https://example.org/a/b.html")
	b, err := page.Rebase("../assets/?x")
	if err != nil || b.URL() != "https://example.org/assets/?x" {
		t.Fatalf("Rebase = %s, %v", b.URL(), err)
	}
	if got, err := b.Join("y"); got != "https://example.org/assets/y" || err != nil {
		t.Errorf("Join on the new base = %q, %v", got, err)
	}
	if b, err := page.Rebase("data:,x"); b != page || err != ErrScheme {
		t.Errorf("Rebase(data:) = %v, %v, want the page and ErrScheme", b.URL(), err)
	}
}

func TestZeroBase(t *testing.T) {
	b := NewBase("")
	for _, ref := range []string{"", "a", "/a", "//h/a", "?q", "#f", "../a"} {
		if got, err := b.Join(ref); got != "" || err != ErrScheme {
			t.Errorf("Join(%q) = %q, %v, want ErrScheme", ref, got, err)
		}
	}
	if got, err := b.Join("http://h"); got != "http://h/" || err != nil {
		t.Errorf("Join(http://h) = %q, %v", got, err)
	}
}

// A result in the page's buffer would change with the buffer, and would keep it in memory.
func TestJoinBytesCopies(t *testing.T) {
	b := NewBase("http://example.org/")
	for _, ref := range []string{"http://other.example/a?b", "HTTP://other.example/a", "/a", "a%20b", "//other.example/", "http://example.org/x"} {
		buf := []byte(ref)
		got, err := b.JoinBytes(buf)
		clear(buf)
		if want, _ := b.Join(ref); got != want || err != nil {
			t.Errorf("JoinBytes(%q) = %q, %v, want %q", ref, got, err, want)
		}
	}
	if got, err := b.JoinBytes(nil); got != b.URL() || err != nil {
		t.Errorf("JoinBytes(nil) = %q, %v", got, err)
	}
}

func TestJoinAllocations(t *testing.T) {
	b := NewBase("https://docs.example.org/manual/en/index.html")
	for ref, want := range map[string]float64{
		"":                               0,
		"#top":                           0,
		"./":                             0,
		"?":                              0,
		"mailto:a@b":                     0,
		"javascript:void(0)":             0,
		"../x/y.html?z=1#f":              1,
		"/x%20y":                         1,
		"//cdn.example.net/x":            1,
		"//cdn.example.net:8080":         1,
		"http://other.example/x?y=1#z":   1,
		"https://docs.example.org/x?y=1": 1,
	} {
		if n := testing.AllocsPerRun(100, func() { b.Join(ref) }); n != want {
			t.Errorf("Join(%q): %v allocations, want %v", ref, n, want)
		}
	}
}
