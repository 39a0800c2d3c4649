package canon

import (
	"net/url"
	"strings"
	"testing"
)

// bases are the pages of the fuzzed links.
var bases = []URL{
	"http://example.org/",
	"https://docs.example.org/a/b/c.html?q=1",
	"http://127.0.0.1:8080/a/b/",
	"https://[2001:db8::1]:8443/x//y",
	"http://xn--bcher-kva.example/",
	"http://h/?only=query",
}

// links are written as in real pages, well or badly.
var links = []string{
	"", " ", "#", "#f", "?", "?q", "?q#f", "?#", "q?a=1&b=2;c", "a", "a/b/", "./", "../", ".", "..", "./a", "../a",
	"../../../../a", "a/./b/../c", "a/..", "a/.", "/", "/.", "/..", "/../a", "/a/../b", "/a/./b", "/.well-known/x", ".htaccess",
	"...", "/...", "..a/b", "/a//b", "..//c", "//", "///", "//host", "//host/", "///host/p", "//HOST:80/p", "//host:443/p",
	"//host?q", "//host#f", `\`, `\\host\p`, `/\host`, `\a\b`, `a\b`, `?a\b`, `http:\\host\p`,
	"http:foo", "https:foo", "http:", "https:", "http:/", "http://", "https:///", "http:?q", "http:#f", "http:/p", "http://?q", "http:///p",
	"HTTP://EXAMPLE.ORG/", "hTTps://Example.org", "http://example.org", "http://example.org?q", "http://example.org#f",
	"http://example.org:80", "http://example.org:443/", "https://example.org:443/", "http://example.org:", "http://example.org:/p",
	"http://example.org:8080/p?q", "http://example.org:080/", "http://example.org:0/", "http://example.org:65535/", "http://example.org:65536/",
	"http://example.org:8a/", "http://example.org:99999999999999999999/", "http://u:p@example.org/", "http://u@h@example.org/", "http://@/", "http://@h/", "http://u@/",
	"http://example.org./", "http://example.org../", "http://.example.org/", "http://a..b/", "http://./", "http://a_b/", "http://-a-/", "http://a!b/", "http://a b/",
	"http://0x7f.1/", "http://127.1", "http://2130706433/", "http://0177.0.0.1/", "http://1.2.3.4.5/", "http://256.1.1.1/", "http://1.2.3.4./", "http://0x/", "http://a.0x", "http://a.1/", "http://a.09/", "http://4294967296/", "http://1.2.3.4:80/",
	"http://[::1]/", "http://[::ffff:1.2.3.4]:80/", "http://[1:0:0:2:0:0:0:3]/", "http://[1::2::3]/", "http://[::1", "http://[]/", "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[::1]]/", "http://[1:2:3:4:5:6:7::]/",
	"http://bücher.example/", "http://BÜCHER.example/", "http://xn--bcher-kva.example/", "http://xn--a/", "http://XN--BCHER-KVA.example/", "http://faß.de/", "http://a\u00ad/", "http://\u00ad/", "http://例え.jp。/", "http://０Ｘ7f.１/", "http://ex%61mple.org/", "http://%zz/", "http://%00/", "http://a%2fb/",
	"mailto:a@example.org", "javascript:void(0)", "java\tscript:x", "data:text/html,<a>", "ftp://h/", "file:///etc", "tel:+1", "a:b", "a/b:c", "./a:b", "1a:b", "about:blank", "ws://h/", ":", ":a", "//a:b",
	"%", "%%", "%41", "%7e", "%7E", "%2e", "%2e%2E/a", ".%2e/a", "%2E/", "%2f", "%2F", "%c3%a9", "%C3%A9", "%%34%31", "%%341", "%4", "a%", "?%", "?%41%zz", "?%c3", "100%/x", "%25%34%31", "%5c", "%00",
	"é", "?é", "日本語/", "\xff", "?\xff", "\xe9t\xe9", "a b", "?a b", " a ", "\ta\n", "a\tb", "ht\ntp://h/", "a\x00b", "\x01a\x1f", "?a\x7f", "a\u2028", "\ufeff",
	"a|b", "a^b", "a`b", "a{b}", `a"b`, "a<b>", "a[0]", "?a[]=1", "?a|b^c`{d}", "?'", "'", "?\"<>", "a;b=c", "a&amp;b", "a,b", "a@b", "a$b", "a*b", "(a)", "a+b", "~a", "!",
	"/" + strings.Repeat("a", MaxLen), "/" + strings.Repeat("a/../", 3000), strings.Repeat("a", maxRaw+1), "data:" + strings.Repeat("a", maxRaw), "http://h/" + strings.Repeat("a", maxRaw), "#" + strings.Repeat("a", maxRaw),
	"http://" + strings.Repeat("a", 64) + "/", "http://" + strings.Repeat("a.", 126) + "a/", "http://" + strings.Repeat("a.", 127) + "a/",
}

// FuzzFastEqualsSlow: the fast path and the complete algorithm give the same result.
func FuzzFastEqualsSlow(f *testing.F) {
	seedLinks(f)
	f.Fuzz(func(t *testing.T, base uint8, ref string) {
		b := NewBase(bases[int(base)%len(bases)])
		want, wantErr := resolve(b, ref)
		if got, ok, err := b.joinFast(ref); ok && (got != want || err != wantErr) {
			t.Errorf("joinFast(%q) on %s = %q, %v, want %q, %v", ref, b.URL(), got, err, want, wantErr)
		}
		want, wantErr = resolve(nil, ref)
		if got, ok, err := parseFast(ref); ok && (got != want || err != wantErr) {
			t.Errorf("parseFast(%q) = %q, %v, want %q, %v", ref, got, err, want, wantErr)
		}
	})
}

// FuzzJoin: the properties of every canonical URL, whatever it was made of.
func FuzzJoin(f *testing.F) {
	seedLinks(f)
	f.Fuzz(func(t *testing.T, base uint8, ref string) {
		b := NewBase(bases[int(base)%len(bases)])
		u, err := b.Join(ref)
		if (u == "") != (err != nil) {
			t.Fatalf("Join(%q) = %q, %v: neither or both", ref, u, err)
		}
		if same, sameErr := b.JoinBytes([]byte(ref)); same != u || sameErr != err {
			t.Errorf("JoinBytes(%q) = %q, %v, Join %q, %v", ref, same, sameErr, u, err)
		}
		if err != nil {
			return
		}
		checkCanonical(t, u)
		if again, err := b.Join(string(u)); again != u || err != nil {
			t.Errorf("Join(%q) = %q, %v, want it unchanged", u, again, err)
		}
	})
}

// FuzzParse is FuzzJoin for absolute URLs.
func FuzzParse(f *testing.F) {
	for _, link := range links {
		f.Add(link)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw)
		if (u == "") != (err != nil) {
			t.Fatalf("Parse(%q) = %q, %v: neither or both", raw, u, err)
		}
		if err == nil {
			checkCanonical(t, u)
		}
	})
}

func seedLinks(f *testing.F) {
	for i, link := range links {
		f.Add(uint8(i), link)
		f.Add(uint8(1), link)
	}
}

// checkCanonical checks that both algorithms leave u unchanged, that u consists of its parts, and
// that net/http sends it unchanged.
func checkCanonical(t *testing.T, u URL) {
	t.Helper()
	if again, err := Parse(string(u)); again != u || err != nil {
		t.Errorf("Parse(%q) = %q, %v, want it unchanged", u, again, err)
	}
	if again, err := resolve(nil, string(u)); again != u || err != nil {
		t.Errorf("resolve(%q) = %q, %v, want it unchanged", u, again, err)
	}
	if len(u) > MaxLen {
		t.Errorf("%d bytes long", len(u))
	}
	for i := range len(u) {
		if u[i] <= ' ' || u[i] >= 0x7f || u[i] == '#' {
			t.Errorf("%q has byte %#x", u, u[i])
		}
	}
	if again, err := u.Origin().URL(u.PathQuery()); again != u || err != nil {
		t.Errorf("%q from its parts = %q, %v", u, again, err)
	}
	if root, err := Parse(u.Origin().String()); root != u.Root() || err != nil {
		t.Errorf("%q.Root() = %q, its origin %q, %v", u, u.Root(), root, err)
	}
	pathQuery := u.Path()
	if q := u.Query(); q != "" {
		pathQuery += "?" + q
	}
	if pathQuery != u.PathQuery() {
		t.Errorf("%q: path %q and query %q", u, u.Path(), u.Query())
	}
	if _, ok := u.Host().Addr(); ok != u.Host().IsIP() {
		t.Errorf("%q: IsIP %v, Addr %v", u.Host(), u.Host().IsIP(), ok)
	}
	if !strings.HasSuffix(string(u.Host()), u.Host().Registered()) {
		t.Errorf("%q.Registered() = %q", u.Host(), u.Host().Registered())
	}
	sent, err := url.Parse(string(u))
	if err != nil {
		t.Errorf("net/url: %v", err)
	} else if sent.RequestURI() != u.PathQuery() || sent.Hostname() != strings.Trim(string(u.Host()), "[]") {
		t.Errorf("%q goes out as %s %s", u, sent.Host, sent.RequestURI())
	}
}
