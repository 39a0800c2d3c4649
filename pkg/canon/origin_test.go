package canon

import (
	"net/netip"
	"testing"
)

func TestOriginString(t *testing.T) {
	for want, o := range map[string]Origin{
		"http://h":          {"http", "h", 80},
		"https://h":         {"https", "h", 443},
		"https://h:80":      {"https", "h", 80},
		"http://[::1]:8080": {"http", "[::1]", 8080},
		"http://x":          {"http", "x", 0},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v = %s, want %s", o, got, want)
		}
	}
}

func TestOriginURL(t *testing.T) {
	o := Origin{"https", "example.org", 8443}
	for pathQuery, want := range map[string]URL{
		"/":              "https://example.org:8443/",
		"/robots.txt":    "https://example.org:8443/robots.txt",
		"//x/../y?a=%41": "https://example.org:8443//y?a=A", // a path, never a host
	} {
		if got, err := o.URL(pathQuery); got != want || err != nil {
			t.Errorf("URL(%q) = %q, %v, want %q", pathQuery, got, err, want)
		}
	}
	for _, pathQuery := range []string{"", "robots.txt", "@evil.example/", "?q", `\x`} {
		if got, err := o.URL(pathQuery); err != ErrSyntax {
			t.Errorf("URL(%q) = %q, %v, want ErrSyntax", pathQuery, got, err)
		}
	}
}

func TestFromParts(t *testing.T) {
	if got, err := FromParts("http", "example.org", 0, "/a"); got != "http://example.org/a" || err != nil {
		t.Errorf("FromParts = %q, %v", got, err)
	}
	for _, host := range []Host{"", "a/b", "me@a", "A", "a:81", "::1", "a?b"} {
		if got, err := FromParts("http", host, 0, "/a"); err != ErrHost {
			t.Errorf("FromParts with host %q = %q, %v, want ErrHost", host, got, err)
		}
	}
	if got, err := FromParts("ftp", "h", 21, "/a"); err != ErrScheme {
		t.Errorf("FromParts(ftp) = %q, %v", got, err)
	}
}

func TestParseHost(t *testing.T) {
	for raw, want := range map[string]Host{
		"Example.ORG.": "example.org", "Bücher.example": "xn--bcher-kva.example", "0x7f.1": "127.0.0.1", "[::0]": "[::]",
	} {
		if got, err := ParseHost(raw); got != want || err != nil {
			t.Errorf("ParseHost(%q) = %q, %v, want %q", raw, got, err, want)
		}
	}
	for _, raw := range []string{"", ".", "a:80", "a/b", "me@a", "http://a/", "a b", "::1", "[::1]:80", "*", "a?b", "a#b", " a"} {
		if got, err := ParseHost(raw); err != ErrHost || got != "" {
			t.Errorf("ParseHost(%q) = %q, %v, want ErrHost", raw, got, err)
		}
	}
}

func TestHostRegistered(t *testing.T) {
	for host, want := range map[Host]string{
		"example.org":           "example.org",
		"www.docs.example.org":  "example.org",
		"www.example.co.uk":     "example.co.uk",
		"co.uk":                 "co.uk", // a public suffix
		"org":                   "org",
		"localhost":             "localhost",
		"me.github.io":          "me.github.io", // the private section of the list
		"a.me.github.io":        "me.github.io",
		"github.io":             "github.io",
		"www.city.kawasaki.jp":  "city.kawasaki.jp", // an exception in the list
		"a.b.kawasaki.jp":       "a.b.kawasaki.jp",  // the wildcard of that exception
		"a.b.unlisted":          "b.unlisted",
		"xn--bcher-kva.example": "xn--bcher-kva.example",
		"a.b.xn--55qx5d.cn":     "b.xn--55qx5d.cn", // 公司.cn is a suffix
		"127.0.0.1":             "127.0.0.1",
		"[2001:db8::1]":         "[2001:db8::1]",
		"":                      "",
	} {
		if got := host.Registered(); got != want {
			t.Errorf("%q.Registered() = %q, want %q", host, got, want)
		}
	}
}

func TestHostAddr(t *testing.T) {
	for host, want := range map[Host]string{"127.0.0.1": "127.0.0.1", "[::1]": "::1", "[::102:304]": "::102:304"} {
		if got, ok := host.Addr(); !ok || !host.IsIP() || got != netip.MustParseAddr(want) {
			t.Errorf("%s.Addr() = %v, %v", host, got, ok)
		}
	}
	for _, host := range []Host{"", "example.org", "1.2.3.4.example", "a1", "0xg", "-1"} {
		if got, ok := host.Addr(); ok || host.IsIP() {
			t.Errorf("%s.Addr() = %v", host, got)
		}
	}
}
