package canon

import (
	"strings"
	"testing"
)

type parseTest struct {
	raw  string
	want URL
	err  error
}

func testParse(t *testing.T, tests []parseTest) {
	t.Helper()
	for _, tt := range tests {
		if got, err := Parse(tt.raw); got != tt.want || err != tt.err {
			t.Errorf("Parse(%q) = %q, %v, want %q, %v", tt.raw, got, err, tt.want, tt.err)
		}
	}
}

// The rules that are stricter than the URL standard; see the package comment.
func TestParseOurRules(t *testing.T) {
	testParse(t, []parseTest{
		// Removed: parts that are not sent to a server, or have no meaning.
		{"http://user:secret@h/", "http://h/", nil},
		{"http://h/#f", "http://h/", nil},
		{"http://h/?#f", "http://h/", nil},
		{"http://h/a?", "http://h/a", nil},
		{"http://h./", "http://h/", nil},
		{"http://1.2.3.4./", "http://1.2.3.4/", nil},
		// Kept: the order of a query, repeated slashes, the case of a path.
		{"http://h/?b=2&a=1&&b=", "http://h/?b=2&a=1&&b=", nil},
		{"http://h//a///B", "http://h//a///B", nil},
		{"http://h/a??b", "http://h/a??b", nil},
		// Escapes.
		{"http://h/%7Euser/%41%2D%2e%5F", "http://h/~user/A-._", nil},
		{"http://h/?q=%7euser&r=%2f%3d%26", "http://h/?q=~user&r=%2F%3D%26", nil},
		{"http://h/%c3%A9é", "http://h/%C3%A9%C3%A9", nil},
		{"http://h/a%2fb%5c", "http://h/a%2Fb%5C", nil},
		{"http://h/100%", "http://h/100%25", nil},
		{"http://h/?50%&%zz&%4", "http://h/?50%25&%25zz&%254", nil},
		{"http://h/%%34%31", "http://h/%2541", nil}, // not A, and not two spellings
		{"http://h/%25%34%31", "http://h/%2541", nil},
		{"http://h/a|b^c", "http://h/a%7Cb%5Ec", nil},
		{"http://h/?a|b^c", "http://h/?a|b^c", nil},
		{"http://h/caf\xe9?\xff", "http://h/caf%E9?%FF", nil},
		{"http://h/%2e%2E/%2e/a/.%2e/b", "http://h/b", nil},
		// Hosts that DNS cannot carry.
		{"http://a..b/", "", ErrHost},
		{"http://.a/", "", ErrHost},
		{"http://a../", "", ErrHost},
		{"http://./", "", ErrHost},
		{"http://a!b/", "", ErrHost},
		{"http://a*b/", "", ErrHost},
		{"http://a_b-.-c/", "http://a_b-.-c/", nil}, // such names exist
		{"http://" + strings.Repeat("a", 63) + "/", URL("http://" + strings.Repeat("a", 63) + "/"), nil},
		{"http://" + strings.Repeat("a", 64) + "/", "", ErrHost},
		{"http://" + strings.Repeat("a.", 126) + "a/", URL("http://" + strings.Repeat("a.", 126) + "a/"), nil},
		{"http://" + strings.Repeat("a.", 127) + "a/", "", ErrHost},
		{"http://" + strings.Repeat("a.", 127) + "A/", "", ErrHost},
		{"http://\xff/", "", ErrHost},
		{"http://a.xn--/", "", ErrHost}, // becomes an empty label
		{"http://h:0/", "", ErrSyntax},
	})
}

func TestParseRefusesOtherSchemes(t *testing.T) {
	for _, raw := range []string{
		"", " ", "/p", "//h/p", "h/p", "h", "?q", "#f", ":", "://h/", "1http://h/", "http", "http//h",
		"mailto:a@b", "javascript:void(0)", "JavaScript:alert('é\n')", "data:text/html,<p>", "ftp://h/", "file:///p", "ws://h/", "httpx://h/", "tel:+49",
		"data:" + strings.Repeat("x", 100*maxRaw), // long, but of another scheme
	} {
		if u, err := Parse(raw); err != ErrScheme {
			t.Errorf("Parse(%.40q) = %q, %v, want ErrScheme", raw, u, err)
		}
	}
}

func TestParseLengths(t *testing.T) {
	fill := func(prefix string, n int) string { return prefix + strings.Repeat("x", n-len(prefix)) }
	// Each prefix is handled by another part of the code.
	for _, prefix := range []string{"http://h/", "http://H/", "http://h/?", "http://h/%41", "https://1.2.3.4/"} {
		shrinks := strings.Count(prefix, "%41") * 2
		if u, err := Parse(fill(prefix, MaxLen+shrinks)); err != nil || len(u) != MaxLen {
			t.Errorf("%s: %d bytes, %v at the limit", prefix, len(u), err)
		}
		if u, err := Parse(fill(prefix, MaxLen+shrinks+1)); err != ErrTooLong {
			t.Errorf("%s: %q, %v past the limit", prefix, u, err)
		}
	}
	// One byte that becomes three.
	if _, err := Parse(fill("http://h/", MaxLen-1) + "é"); err != ErrTooLong {
		t.Errorf("escapes past the limit: %v", err)
	}
	// The raw spelling may be longer than MaxLen, but not without limit.
	if u, err := Parse("http://h/" + strings.Repeat("a/../", 1000)); u != "http://h/" || err != nil {
		t.Errorf("long raw spelling: %q, %v", u, err)
	}
	for _, raw := range []string{"http://h/#", "http://h/" + strings.Repeat("a/../", 1000), "http://"} {
		if u, err := Parse(fill(raw, 2*maxRaw)); err != ErrTooLong {
			t.Errorf("Parse(%.20q…) = %q, %v, want ErrTooLong", raw, u, err)
		}
	}
}

// Stored URLs are parsed again when files are read; that should not allocate.
func TestParseCanonicalDoesNotAllocate(t *testing.T) {
	for _, raw := range []string{"https://docs.example.org/a/b.html?x=%20&y=1", "http://h:8080/", "mailto:x@y"} {
		if n := testing.AllocsPerRun(100, func() { Parse(raw) }); n != 0 {
			t.Errorf("Parse(%q): %v allocations", raw, n)
		}
	}
}
