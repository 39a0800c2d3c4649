// The tests in this file compare canon with an independent implementation of the URL standard,
// github.com/nlnwa/whatwg-url, with canon's own rules applied on top. Only tests need that library.

package canon_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"github.com/curtsy/curtsy/pkg/canon"
)

// join is Join as the library does it. A panic of the library counts as a refusal.
func join(base canon.URL, ref string) (u canon.URL, ok bool) {
	defer func() {
		if recover() != nil {
			u, ok = "", false
		}
	}()
	p, err := whatwg.ParseRef(string(base), ref)
	if err != nil || p.Scheme() != "http" && p.Scheme() != "https" {
		return "", false
	}
	host := strings.TrimSuffix(p.Hostname(), ".")
	if !hostFits(host) || p.Port() == "0" {
		return "", false
	}
	s := p.Scheme() + "://" + host
	if p.Port() != "" {
		s += ":" + p.Port()
	}
	s += normal(p.Pathname(), "|^")
	if p.Query() != "" {
		s += "?" + normal(p.Query(), "")
	}
	if len(s) > canon.MaxLen {
		return "", false
	}
	return canon.URL(s), true
}

var fits = regexp.MustCompile(`^([a-z0-9_-]{1,63}(\.|$))+$`)

// hostFits is our rule that DNS must be able to carry a name.
func hostFits(host string) bool {
	if strings.HasPrefix(host, "[") {
		return true
	}
	return len(host) <= 253 && fits.MatchString(host) && !strings.HasSuffix(host, ".")
}

var escape = regexp.MustCompile(`%([0-9A-Fa-f]{2})?`)

// normal applies our rule for escapes to a part that the library has escaped already. more has the
// bytes that we escape and the library does not.
func normal(s, more string) string {
	s = escape.ReplaceAllStringFunc(s, func(e string) string {
		if e == "%" {
			return "%25"
		}
		if plain, err := url.PathUnescape(e); err == nil && strings.Trim(plain, unreserved) == "" {
			return plain
		}
		return strings.ToUpper(e)
	})
	for _, c := range more {
		s = strings.ReplaceAll(s, string(c), strings.ToUpper(url.PathEscape(string(c))))
	}
	return s
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// Errors of the library, according to the standard's text. canon is right in these cases.
var slips = []*regexp.Regexp{
	// It reads labels with a sign (-3, +0, 0x-1) as IPv4 numbers.
	regexp.MustCompile(`(?i)(0x?)?[+-][0-9a-f]*(\.|$)`),
	// It reads a label that begins with a number too large for 64 bits as a number.
	regexp.MustCompile(`(?i)(0x[0-9a-f]{16}|[0-9]{19})[^.]*$`),
	// Not its error: an IPv4-mapped address is an IPv4 address to us.
	regexp.MustCompile(`^\[[0-9A-Fa-f:.]*:[fF]{4}:`),
	// It removes all brackets around an IPv6 address, not one pair.
	regexp.MustCompile(`^\[\[|\]\]`),
	// It refuses characters such as _ and U+226E in names that need IDNA.
	regexp.MustCompile(`xn--|[^ -~]`),
}

// excused reports whether the two may differ on a link that one of them accepted as u.
func excused(u canon.URL, ref string) bool {
	for _, slip := range slips {
		if slip.MatchString(strings.TrimSuffix(u.Host().String(), ".")) || slip.MatchString(rawHost(ref)) {
			return true
		}
	}
	return false
}

// rawHost extracts something similar to the host from a link.
func rawHost(ref string) string {
	ref = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' }))
	if i := strings.IndexByte(ref, ':'); i >= 0 && !strings.ContainsAny(ref[:i], `/\?#`) {
		ref = ref[i+1:]
	}
	ref = strings.TrimLeft(ref, `/\`)
	if i := strings.IndexAny(ref, `/\?#`); i >= 0 {
		ref = ref[:i]
	}
	ref = ref[1+strings.LastIndexByte(ref, '@'):]
	if !strings.HasPrefix(ref, "[") {
		ref, _, _ = strings.Cut(ref, ":")
	}
	if s, err := url.PathUnescape(ref); err == nil {
		ref = s
	}
	return strings.TrimSuffix(ref, ".")
}

var bases = []canon.URL{"", "http://example.org/", "https://docs.example.org/a/b/c.html?q=1", "http://127.0.0.1:8080/a/b/", "https://[2001:db8::1]:8443/x//y"}

func FuzzReference(f *testing.F) {
	for _, link := range []string{
		"", "a", "../b?c#d", "./a/./b/../c", "..", "//h/p", "http:foo", "https:foo", "http:", "HTTP://Example.ORG:80", "http://h:8080/", "http://h:65536/", "http://h:x/",
		"http://[1::2]:80/", "http://[::ffff:1.2.3.4]/", "http://[1:2:3:4:5:6:7::]/", "http://[::1", "http://0x7f.1", "http://127.1/", "http://1.2.3.4.5/", "http://256/", "http://a.1/",
		"http://bücher.example/", "http://BÜCHER.example./", "http://xn--bcher-kva.example/", "http://xn--a/", "http://faß.de/", "http://例え。jp/", "http://ex%61mple.org/", "http://a%2fb/",
		"?q%41'", "%2e%2e/a", "%%34%31", "%c3%a9%zz", "/a|b^c", "?a|b^c", `\\h\p`, `/\h`, `a\b?c\d`, "mailto:a", "java\tscript:x", "http://u:p@h:80/", "http://u@", "http://a_b.c/", "a\tb", " a ", "é?é", "a b{c}`d`",
	} {
		for i := range bases {
			f.Add(uint8(i), link)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, ref string) {
		if !utf8.ValidString(ref) || len(ref) > 4*canon.MaxLen {
			t.Skip("outside the standard, or our limits")
		}
		base := bases[int(n)%len(bases)]
		got, err := canon.NewBase(base).Join(ref)
		want, ok := join(base, ref)
		if (got != want || ok != (err == nil)) && !excused(got+want, ref) {
			t.Errorf("Join(%q, %q) = %q, %v, the library %q, %v", base, ref, got, err, want, ok)
		}
	})
}

// Examples of these errors: canon follows the standard. If this test fails with a newer library, an
// error was corrected and can be removed from the list.
func TestSlips(t *testing.T) {
	for ref, want := range map[string]struct{ canon, library canon.URL }{
		"http://-3/": {"http://-3/", "http://255.255.255.253/"},
		// the standard: a name; DNS cannot carry it
		"http://+1/":                        {"", "http://0.0.0.1/"},
		"http://[::1]]/":                    {"", "http://[::1]/"},
		"http://123456789012345678901a/":    {"http://123456789012345678901a/", ""},
		"http://ü_b.example/":               {"http://xn--_b-wka.example/", ""},
		"http://a.0xffffffffffffffffffffg/": {"http://a.0xffffffffffffffffffffg/", ""},
	} {
		ours, _ := canon.Parse(ref)
		theirs, _ := join("", ref)
		if ours != want.canon || theirs != want.library {
			t.Errorf("%s: canon %q, library %q, want %q and %q", ref, ours, theirs, want.canon, want.library)
		}
	}
}

// BenchmarkJoin measures the library on the links of canon's own benchmark.
func BenchmarkJoin(b *testing.B) {
	links := []string{
		"../ref/functions.html#open", "install.html", "config/options.html", "./", "#search", "/manual/de/guide/", "/search?q=open&lang=en",
		"https://docs.example.org/manual/en/changes/2024/05.html", "https://lists.example.net/archive/thread/4711.html?page=2", "//cdn.example.net/site.css",
		"mailto:docs@example.org", "../ref/caf%C3%A9.html",
	}
	const page = "https://docs.example.org/manual/en/guide/index.html"
	b.Run("whatwg", func(b *testing.B) {
		base, err := whatwg.Parse(page)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if u, err := base.Parse(links[i%len(links)]); err == nil {
				_ = u.Href(true)
			}
		}
	})
	b.Run("canon", func(b *testing.B) {
		base := canon.NewBase(page)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			base.Join(links[i%len(links)])
		}
	})
}
