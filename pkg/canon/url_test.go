package canon

import "testing"

func TestURLParts(t *testing.T) {
	for _, tt := range []struct {
		url    URL
		origin Origin
		root   URL
		path   string
		query  string
	}{
		{"http://example.org/", Origin{"http", "example.org", 80}, "http://example.org/", "/", ""},
		{"https://example.org/a/b?c=d?e", Origin{"https", "example.org", 443}, "https://example.org/", "/a/b", "c=d?e"},
		{"http://h:8080//x", Origin{"http", "h", 8080}, "http://h:8080/", "//x", ""},
		{"https://[2001:db8::1]/?a:b", Origin{"https", "[2001:db8::1]", 443}, "https://[2001:db8::1]/", "/", "a:b"},
		{"http://[::1]:81/a@b:c", Origin{"http", "[::1]", 81}, "http://[::1]:81/", "/a@b:c", ""},
		{"", Origin{}, "", "", ""},
	} {
		u := tt.url
		if got := u.Origin(); got != tt.origin {
			t.Errorf("%q.Origin() = %+v, want %+v", u, got, tt.origin)
		}
		if u.Scheme() != tt.origin.Scheme || u.Host() != tt.origin.Host || u.Port() != tt.origin.Port {
			t.Errorf("%q: %q, %q, %d", u, u.Scheme(), u.Host(), u.Port())
		}
		if u.Root() != tt.root || u.Path() != tt.path || u.Query() != tt.query {
			t.Errorf("%q: root %q, path %q, query %q", u, u.Root(), u.Path(), u.Query())
		}
		pathQuery := tt.path
		if tt.query != "" {
			pathQuery += "?" + tt.query
		}
		if u.PathQuery() != pathQuery || u.String() != string(u) {
			t.Errorf("%q: path and query %q", u, u.PathQuery())
		}
	}
}

func TestURLAccessorsDoNotAllocate(t *testing.T) {
	u := URL("https://www.example.org:8443/some/rather/long/path.html?with=a&query=too")
	if n := testing.AllocsPerRun(100, func() {
		_, _, _, _ = u.Origin(), u.Scheme(), u.Host(), u.Port()
		_, _, _, _, _ = u.Root(), u.Path(), u.Query(), u.PathQuery(), u.String()
		_ = u.Host().IsIP()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A string that is not a URL, converted by mistake, must not cause a panic.
func TestURLNonsenseDoesNotPanic(t *testing.T) {
	for _, u := range []URL{"x", ":", "http://", "https://h", "http://:", "http://]:/", "/p?q", "ftp://h:99999999999999999999/x"} {
		_, _, _, _, _ = u.Origin(), u.Root(), u.Path(), u.Query(), u.PathQuery()
		_ = u.Host().Registered()
		NewBase(u).Join("../a?b")
	}
}
