package canon

import (
	"strings"
	"testing"
)

// A signature is made over the letters of an address, so they are requested as they came. What is
// allowed is decided by the canonical spelling.
func TestJoinAsWritten(t *testing.T) {
	b := NewBase("https://d.example/a/get?id=%2F")
	for _, tt := range []struct {
		ref    string
		want   URL
		target string
	}{
		{"https://s.example/f?sig=a%2Fb%2b1", "https://s.example/f?sig=a%2Fb%2B1", "/f?sig=a%2Fb%2b1"},
		{"//s.example/%7euser/%41?x=%7E", "https://s.example/~user/A?x=~", "/%7euser/%41?x=%7E"},
		{"f%2fg?a=%3d%3D#frag", "https://d.example/a/f%2Fg?a=%3D%3D", "/a/f%2fg?a=%3d%3D"},
		{"?sig=%2b", "https://d.example/a/get?sig=%2B", "/a/get?sig=%2b"},
		{"", "https://d.example/a/get?id=%2F", "/a/get?id=%2F"},
		// A single "%", and letters that no request may have.
		{"/100%?%zz", "https://d.example/100%25?%25zz", "/100%?%zz"},
		{"/ü %2b\"?ü'", "https://d.example/%C3%BC%20%2B%22?%C3%BC%27", "/%C3%BC%20%2b%22?%C3%BC%27"},
		{"/a\r\nX: y%2b", "https://d.example/aX:%20y%2B", "/aX:%20y%2b"},
		// A server must not find dot segments that robots.txt rules were not asked about.
		{"/x/%2e%2E/%2e/y%2b", "https://d.example/y%2B", "/y%2b"},
		{"/x/.%2e/y%2b", "https://d.example/y%2B", "/y%2b"},
		{"/x\\..\\y%2b", "https://d.example/y%2B", "/y%2b"},
	} {
		u, target, err := b.JoinAsWritten(tt.ref)
		if err != nil || u != tt.want || target != tt.target {
			t.Errorf("%q: %s, %s, %v, want %s, %s", tt.ref, u, target, err, tt.want, tt.target)
		}
	}
	if u, target, err := b.JoinAsWritten("mailto:x%2b"); err != ErrScheme || u != "" || target != "" {
		t.Errorf("another scheme: %q, %q, %v", u, target, err)
	}
	// The canonical spelling is short enough, and the other is not.
	long := "/" + strings.Repeat("%41", MaxLen/3)
	if u, target, err := b.JoinAsWritten(long); err != nil || target != u.PathQuery() || strings.Contains(target, "%") {
		t.Errorf("a long one: %d bytes, %.20s, %v", len(u), target, err)
	}
}

// What is requested is the same URL, and can be sent as it is.
func FuzzJoinAsWritten(f *testing.F) {
	for _, s := range []string{"/f?sig=a%2Fb%2b1", "//h/%2e%2e/x", "/%", "/%2e%2", "?%\x00", "/a/%2E./b?%é", "http://h%41/x%20"} {
		f.Add(s)
	}
	b := NewBase("http://d.example/a/b?c")
	f.Fuzz(func(t *testing.T, ref string) {
		u, target, err := b.JoinAsWritten(ref)
		if joined, failed := b.Join(ref); joined != u || failed != err {
			t.Fatalf("%q: %q, %v, but Join says %q, %v", ref, u, err, joined, failed)
		}
		if err != nil {
			return
		}
		for i := range len(target) {
			if target[i] <= ' ' || target[i] >= 0x7f {
				t.Fatalf("%q is requested as %q", ref, target)
			}
		}
		same, err := Parse(strings.TrimSuffix(string(u.Root()), "/") + target)
		if err != nil || same != u {
			t.Fatalf("%q: %q is requested as %q, which is %q, %v", ref, u, target, same, err)
		}
	})
}
